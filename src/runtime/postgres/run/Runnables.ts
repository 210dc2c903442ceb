/**
 * The port `Runnables`: workflows to run. Deployments are cached for less than a second; a version's content never
 * changes.
 */
import { Effect, Layer, Option } from "effect"
import { type Runnable, Runnables } from "../../../actors/ports/run/Runnables.js"
import { readBindings } from "../../../domain/connector/Binding.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { NotFound, WorkflowUnavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId, WorkflowId } from "../../../domain/Ids.js"
import { type Json, StoredJson } from "../../../domain/Json.js"
import { RecentMap } from "../../../domain/RecentMap.js"
import { latestEnvironment } from "../../../domain/organisation/Environment.js"
import { archivedRefusal, incompleteRefusal, type Workflow } from "../../../domain/workflow/Workflow.js"
import { makeSharedLoads } from "../../../actors/SharedLoads.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { execute, rowsOf } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"
import { castRows } from "../database/Sql.js"

const maxCachedVersions = 1_000
/** A draft's snapshot is kept this much longer than its runs, so that it is not extended at every run. */
const snapshotMarginDays = 2

const jsonOf = (value: Json): string | null => (value === null ? null : JSON.stringify(value))

interface WorkflowHead extends Omit<Runnable, "version" | keyof Content> {
  readonly status: "draft" | "published" | "archived"
  readonly publishedVersion: number | null
  /** Its owner's: for all customers, or for the one whose own workflow it is. */
  readonly deployments: Deployments
  /** Whether some customer may have other deployments. */
  readonly isDivided: boolean
}

/** The version that runs in each environment. */
interface Deployments {
  readonly [environment: string]: number
}

/** What one customer has instead of what all have. */
interface CustomerDeployments {
  readonly deployments: Deployments
  /** The customer's own environments, which replace the organisation's of the same slugs. */
  readonly environments: ReadonlyArray<string>
}

type Content = Pick<
  Runnable,
  "script" | "contentHash" | "inputContract" | "outputContract" | "bindings" | "waits" | "customAuth"
>

/** Content as the columns hold it. */
interface ContentRow extends Omit<Content, "bindings"> {
  readonly bindings: Json
}
const contentOf = <Row extends ContentRow>(row: Row) => ({ ...row, bindings: readBindings(row.bindings) })

const headColumns = `w.org AS "organisationId", w.space AS "spaceId", w.id AS "workflowId", w.customer_id AS "customerId", w.name,
  w.enabled, w.tier, w.timeout_ms AS "timeoutMillis", w.retry, w.callback_url AS "callbackUrl", w.status,
  w.published_version AS "publishedVersion",
  COALESCE((SELECT jsonb_object_agg(d.environment, d.number) FROM deployments d
    WHERE d.workflow_id = w.id AND d.customer_id IS NOT DISTINCT FROM w.customer_id), '{}') AS deployments,
  w.customer_id IS NULL AND (EXISTS (SELECT FROM environments e WHERE e.org = w.org AND e.customer_id IS NOT NULL)
    OR EXISTS (SELECT FROM deployments d WHERE d.workflow_id = w.id AND d.customer_id IS NOT NULL)) AS "isDivided"`
const contentColumns = `script, content_hash AS "contentHash", input_contract AS "inputContract", output_contract AS "outputContract", bindings, waits, NULLIF(spec->'customAuth', 'null') AS "customAuth"`

const decodeSteps = rowDecoder("workflow_versions", { spec: StoredJson })

/** An environment may have the name of an inherited property, such as `constructor`. */
const numberIn = (deployments: Deployments, environment: string): number | undefined =>
  Object.hasOwn(deployments, environment) ? deployments[environment] : undefined

export const layer = Layer.effect(
  Runnables,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const heads = yield* makeReadCache<WorkflowHead>({ maxEntries: maxCachedVersions })
    const divided = yield* makeReadCache<CustomerDeployments>()
    const versions = new RecentMap<string, Content>(maxCachedVersions)

    const notFound = () => new NotFound({ what: "workflow" })

    const loadHead = Effect.fnUntraced(function* (organisation: OrganisationId, workflow: WorkflowId) {
      // Not decoded, since a start waits for it, and `Runnable` joins columns of three tables.
      const [head] = yield* rowsOf(
        castRows<WorkflowHead>(
          sql.unsafe(`SELECT ${headColumns} FROM workflows w WHERE w.id = $1 AND w.org = $2 AND w.deleted_at IS NULL`, [
            workflow,
            organisation
          ])
        )
      )
      return head
    })

    const head = (
      organisation: OrganisationId,
      workflow: WorkflowId
    ): Effect.Effect<WorkflowHead, NotFound | Unavailable> =>
      Effect.flatMap(
        heads.get(`${organisation}|${workflow}`, () => loadHead(organisation, workflow)),
        (found) => (found === undefined ? notFound() : Effect.succeed(found))
      )

    const contentLoads = makeSharedLoads<string, Content, NotFound | Unavailable>()
    const loadContent = Effect.fnUntraced(function* (
      key: string,
      workflow: WorkflowId,
      number: number
    ): Effect.fn.Return<Content, NotFound | Unavailable> {
      // Not decoded, since a start waits for it.
      const [row] = yield* rowsOf(
        castRows<ContentRow>(
          sql.unsafe(`SELECT ${contentColumns} FROM workflow_versions WHERE workflow_id = $1 AND number = $2`, [
            workflow,
            number
          ])
        )
      )
      if (row === undefined) return yield* notFound()
      const found = contentOf(row)
      versions.set(key, found)
      return found
    })
    const content = (workflow: WorkflowId, number: number): Effect.Effect<Content, NotFound | Unavailable> =>
      Effect.suspend(() => {
        const key = `${workflow}@${number}`
        const known = versions.get(key)
        return known === undefined ? contentLoads(key, loadContent(key, workflow, number)) : Effect.succeed(known)
      })

    const makeRunnable = (
      {
        deployments: _deployed,
        isDivided: _divided,
        publishedVersion: _published,
        status: _status,
        ...head
      }: WorkflowHead,
      found: Content,
      version: number | null
    ): Runnable => ({ ...head, ...found, version, tier: found.waits ? "long" : head.tier })

    /** Makes a `Runnable` once for each read of a workflow's head, not for each run. */
    const published = new WeakMap<WorkflowHead, Map<number, Runnable>>()
    const publishedOf = (head: WorkflowHead, number: number): Effect.Effect<Runnable, NotFound | Unavailable> => {
      const known = published.get(head) ?? new Map<number, Runnable>()
      const found = known.get(number)
      if (found !== undefined) return Effect.succeed(found)
      return Effect.map(content(head.workflowId, number), (content) => {
        const runnable = makeRunnable(head, content, number)
        published.set(head, known.set(number, runnable))
        return runnable
      })
    }

    const version = Effect.fnUntraced(function* (organisation: OrganisationId, workflow: WorkflowId, number: number) {
      return makeRunnable(yield* head(organisation, workflow), yield* content(workflow, number), number)
    })

    const loadDivided = Effect.fnUntraced(function* (org: OrganisationId, workflow: WorkflowId, customer: CustomerId) {
      // Not decoded, since a start waits for it.
      const [row] = yield* rowsOf(
        castRows<CustomerDeployments>(
          sql.unsafe(
            `SELECT COALESCE((SELECT jsonb_object_agg(d.environment, d.number) FROM deployments d
                WHERE d.workflow_id = $1 AND d.customer_id = $2), '{}') AS deployments,
              ARRAY(SELECT e.slug FROM environments e WHERE e.org = $3 AND e.customer_id = $2) AS environments`,
            [workflow, customer, org]
          )
        )
      )
      return row
    })

    /** The deployed version: that of the customer's environment, or the customer's in the organisation's, or that of all. */
    const numberFor = (
      { deployments, isDivided, organisationId, workflowId }: WorkflowHead,
      environment: string,
      customer: CustomerId | null
    ): Effect.Effect<number | undefined, Unavailable> => {
      const ofAll = numberIn(deployments, environment)
      if (!isDivided || customer === null) return Effect.succeed(ofAll)
      return Effect.map(
        divided.get(`${organisationId}|${workflowId}|${customer}`, () =>
          loadDivided(organisationId, workflowId, customer)
        ),
        (own) => {
          if (own === undefined) return ofAll
          const number = numberIn(own.deployments, environment)
          return own.environments.includes(environment) ? number : (number ?? ofAll)
        }
      )
    }

    const deployedIn = (
      found: WorkflowHead,
      environment: string,
      customer: CustomerId | null
    ): Effect.Effect<Runnable, NotFound | WorkflowUnavailable | Unavailable> => {
      if (found.publishedVersion === null) {
        return new WorkflowUnavailable({
          code: "WORKFLOW_NOT_PUBLISHED",
          message: `${found.name} has never been published: POST /api/v1/workflows/${found.workflowId}/publish`
        })
      }
      const archived = archivedRefusal(found)
      if (archived !== undefined) return archived
      if (environment === latestEnvironment) return publishedOf(found, found.publishedVersion)
      return Effect.flatMap(numberFor(found, environment, customer), (number): ReturnType<typeof deployedIn> =>
        number === undefined
          ? new WorkflowUnavailable({
              code: "WORKFLOW_NOT_DEPLOYED",
              message: `no version of ${found.name} is deployed to the environment "${environment}"`
            })
          : publishedOf(found, number)
      )
    }

    const inEnvironment: Runnables["Type"]["inEnvironment"] = (organisation, workflow, environment, customer) =>
      Effect.flatMap(head(organisation, workflow), (found) => deployedIn(found, environment, customer))

    const draft = Effect.fnUntraced(function* (organisation: OrganisationId, workflow: WorkflowId) {
      // Not decoded, since a start waits for it.
      const [found] = yield* rowsOf(
        castRows<WorkflowHead & ContentRow & Pick<Workflow, "problems">>(
          sql.unsafe(
            `SELECT ${headColumns}, ${contentColumns}, problems FROM workflows w WHERE w.id = $1 AND w.org = $2 AND w.deleted_at IS NULL`,
            [workflow, organisation]
          )
        )
      )
      if (found === undefined) return yield* notFound()
      const { problems, ...draft } = found
      const refused = archivedRefusal(draft) ?? incompleteRefusal({ name: draft.name, problems })
      return refused === undefined ? makeRunnable(draft, contentOf(draft), null) : yield* refused
    })

    const stepsOf: Runnables["Type"]["stepsOf"] = (organisation, { contentHash, version, workflowId }) =>
      Effect.map(
        rowsOf(
          version === null
            ? sql`SELECT spec FROM draft_snapshots WHERE workflow_id = ${workflowId} AND content_hash = ${contentHash}
                AND org = ${organisation}`
            : sql`SELECT v.spec FROM workflow_versions v JOIN workflows w ON w.id = v.workflow_id
                WHERE v.workflow_id = ${workflowId} AND v.number = ${version} AND w.org = ${organisation}`
        ),
        ([row]) => (row === undefined ? null : decodeSteps(row).spec)
      )

    const keepDraft: Runnables["Type"]["keepDraft"] = (draft, retention) =>
      // Updates an existing snapshot only if it expires before the run does: not at every run.
      execute(sql`INSERT INTO draft_snapshots AS s
            (org, workflow_id, content_hash, script, input_contract, output_contract, bindings, waits, kept_until, spec)
          VALUES (${draft.organisationId}, ${draft.workflowId}, ${draft.contentHash}, ${draft.script},
            ${jsonOf(draft.inputContract)}::jsonb, ${jsonOf(draft.outputContract)}::jsonb,
            ${JSON.stringify(draft.bindings)}::jsonb, ${draft.waits}, now() + ${retention + snapshotMarginDays} * interval '1 day',
            (SELECT spec FROM workflows WHERE id = ${draft.workflowId} AND content_hash = ${draft.contentHash}))
          ON CONFLICT (workflow_id, content_hash) DO UPDATE SET kept_until = excluded.kept_until
            WHERE s.kept_until < now() + ${retention} * interval '1 day'`)

    const draftThatRan = Effect.fnUntraced(function* (
      organisation: OrganisationId,
      workflow: WorkflowId,
      contentHash: string
    ) {
      // Not decoded, since a replay waits for it.
      const [row] = yield* rowsOf(
        castRows<ContentRow>(
          sql.unsafe(
            `SELECT ${contentColumns} FROM draft_snapshots WHERE workflow_id = $1 AND content_hash = $2 AND org = $3`,
            [workflow, contentHash, organisation]
          )
        )
      )
      if (row === undefined) return Option.none()
      return Option.some(makeRunnable(yield* head(organisation, workflow), contentOf(row), null))
    })

    const ids = yield* makeReadCache<{ readonly id: WorkflowId }>()
    const named: Runnables["Type"]["named"] = (organisation, space, name, customer) =>
      Effect.flatMap(
        ids.get(
          `${organisation}|${space}|${customer ?? ""}|${name}`,
          // Not decoded, since a start waits for it.
          () =>
            Effect.map(
              rowsOf(
                castRows<{ readonly id: WorkflowId }>(
                  sql.unsafe(
                    `SELECT id FROM workflows WHERE org = $1 AND space = $2 AND name = $3 AND deleted_at IS NULL
                    AND (customer_id IS NULL OR customer_id = $4) ORDER BY customer_id NULLS LAST LIMIT 1`,
                    [organisation, space, name, customer]
                  )
                )
              ),
              ([found]) => found
            )
        ),
        (found) => (found === undefined ? notFound() : Effect.succeed(found.id))
      )

    return Runnables.of({ named, inEnvironment, draft, keepDraft, draftThatRan, stepsOf, version })
  })
)
