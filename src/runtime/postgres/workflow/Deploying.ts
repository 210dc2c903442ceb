/**
 * The statements on deployments, in the caller's transaction. Each is one statement for any number of workflows, so that a
 * release of hundreds takes no longer than a few round trips.
 */
import { Effect, Schema } from "effect"
import type {
  Authorship,
  AutomaticEnvironment,
  Deploying,
  DeploymentPlace,
  PublishedWorkflow
} from "../../../actors/ports/Deploying.js"
import { WorkflowId } from "../../../domain/Ids.js"
import { FlowTrigger } from "../../../domain/flow/Spec.js"
import type { Pins } from "../../../domain/workflow/Release.js"
import { Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import type { Sql } from "../database/Sql.js"
import { readError } from "../record/RecordErrors.js"
import { noteWrite } from "../record/Repository.js"
import { countOf, rowDecoder } from "../record/Table.js"

const decodeWorkflow = rowDecoder(
  "workflows",
  Workflow.stored.pick("id", "name", "customerId", "status", "publishedVersion")
)
const decodeVersion = rowDecoder("workflow_versions", WorkflowVersion.stored.pick("workflowId", "number", "bindings"))
const decodeFlow = rowDecoder("workflows", {
  ...Workflow.stored.pick("id", "name", "customerId").fields,
  trigger: Schema.NullOr(FlowTrigger)
})
const decodePin = rowDecoder("deployments", { workflowId: WorkflowId, number: Schema.Number })
const decodeEnvironment = rowDecoder("environments", {
  slug: Schema.String,
  isOwn: Schema.Boolean,
  isProtected: Schema.Boolean
})
const decodeIs = rowDecoder("of conditions", { is: Schema.Boolean })
const holds = ([row]: ReadonlyArray<object>): boolean => row !== undefined && decodeIs(row).is

const columnsOf = (pins: Pins) => [Object.keys(pins), Object.values(pins)] as const

/**
 * A CTE of the environments in which a publication of the workflow takes effect: $1 is its owner, $2 who publishes. A
 * customer's environment replaces the organisation's of that slug for the customer's own workflows, and needs a review where
 * the organisation's does.
 */
const automaticSql = `automatic AS (
    SELECT e.slug, e.customer_id, e.protected OR COALESCE(o.protected, false) AS protected
    FROM environments e
    LEFT JOIN environments o ON e.customer_id IS NOT NULL AND o.customer_id IS NULL AND o.org = e.org AND o.slug = e.slug
    WHERE e.auto_deploy AND NOT e.requires_review AND NOT COALESCE(o.requires_review, false)
      AND (e.waived_by IS NULL OR NOT svc_is_same_author_at($2, e.waived_by, '-infinity'))
      AND (o.waived_by IS NULL OR NOT svc_is_same_author_at($2, o.waived_by, '-infinity'))
      AND ($1::text IS NULL OR e.customer_id = $1 OR e.customer_id IS NULL
        AND NOT EXISTS (SELECT FROM environments s WHERE s.org = e.org AND s.customer_id = $1 AND s.slug = e.slug)))`

const automaticEnvironments = (sql: Sql, { customerId }: PublishedWorkflow, by: string) =>
  sql
    .unsafe(
      `WITH ${automaticSql}
       SELECT slug, bool_or(customer_id IS NULL OR customer_id IS NOT DISTINCT FROM $1) AS "isOwn", bool_or(protected) AS "isProtected"
       FROM automatic GROUP BY slug ORDER BY bool_or(customer_id IS NULL) DESC, slug`,
      [customerId, by]
    )
    .pipe(
      Effect.map((rows): ReadonlyArray<AutomaticEnvironment> => rows.map(decodeEnvironment)),
      Effect.catchAll(readError)
    )

const deployAutomatically = (
  sql: Sql,
  { customerId, id }: PublishedWorkflow,
  number: number,
  by: string,
  now: string
) =>
  sql
    .unsafe(
      `WITH ${automaticSql}
       INSERT INTO deployments (org, workflow_id, environment, customer_id, number, deployed_at, deployed_by)
       SELECT current_setting('svc.org'), $3, slug, COALESCE($1, customer_id), $4::int, $5::timestamptz, $2 FROM automatic
       ON CONFLICT (workflow_id, environment, customer_id)
       DO UPDATE SET number = excluded.number, deployed_at = excluded.deployed_at, deployed_by = excluded.deployed_by`,
      [customerId, by, id, number, now]
    )
    .pipe(Effect.zipRight(noteWrite), Effect.catchAll(readError))

const lockReleasable: (sql: Sql) => Deploying["lockReleasable"] =
  (sql) =>
  ({ customerId, spaceId }, ids, limit) =>
    sql`SELECT id, name, customer_id AS "customerId", status, published_version AS "publishedVersion" FROM workflows
      WHERE space = ${spaceId} AND deleted_at IS NULL AND (customer_id IS NULL OR customer_id = ${customerId})
        AND CASE WHEN ${ids === undefined} THEN status = 'published' ELSE id = ANY(${ids ?? []}) END
      ORDER BY id LIMIT ${limit} FOR SHARE`.pipe(
      Effect.map((rows) => rows.map(decodeWorkflow)),
      Effect.catchAll(readError)
    )

const pinnedVersions = (sql: Sql, pins: Pins) => {
  const [ids, numbers] = columnsOf(pins)
  return sql`SELECT v.workflow_id AS "workflowId", v.number, v.bindings
    FROM unnest(${ids}::text[], ${numbers}::int[]) AS p (id, number)
    JOIN workflow_versions v ON v.workflow_id = p.id AND v.number = p.number`.pipe(
    Effect.map((rows) => rows.map(decodeVersion)),
    Effect.catchAll(readError)
  )
}

const deployedPins = (sql: Sql, { customerId, environment, spaceId }: DeploymentPlace) =>
  sql`SELECT d.workflow_id AS "workflowId", d.number FROM deployments d JOIN workflows w ON w.id = d.workflow_id
    WHERE d.environment = ${environment} AND d.customer_id IS NOT DISTINCT FROM ${customerId}
      AND w.space = ${spaceId} AND w.status = 'published' AND w.deleted_at IS NULL ORDER BY d.workflow_id`.pipe(
    Effect.map((rows): Pins => Object.fromEntries(rows.map(decodePin).map((one) => [one.workflowId, one.number]))),
    Effect.catchAll(readError)
  )

const deployPins: (sql: Sql) => Deploying["deployPins"] =
  (sql) =>
  ({ customerId, environment, spaceId }, pins, { by, now }, exactly) => {
    const [ids, numbers] = columnsOf(pins)
    return sql`WITH removed AS (
        DELETE FROM deployments d USING workflows w
        WHERE ${exactly} AND w.id = d.workflow_id AND w.space = ${spaceId} AND w.status = 'published'
          AND w.deleted_at IS NULL AND d.environment = ${environment}
          AND d.customer_id IS NOT DISTINCT FROM ${customerId} AND d.workflow_id <> ALL(${ids}::text[])
      ), deployed AS (
        INSERT INTO deployments AS d (org, workflow_id, environment, customer_id, number, deployed_at, deployed_by)
        SELECT current_setting('svc.org'), p.id, ${environment}, ${customerId}, p.number, ${now}::timestamptz, ${by}
        FROM unnest(${ids}::text[], ${numbers}::int[]) AS p (id, number)
        ON CONFLICT (workflow_id, environment, customer_id)
        DO UPDATE SET number = excluded.number, deployed_at = excluded.deployed_at, deployed_by = excluded.deployed_by
          WHERE d.number <> excluded.number
        RETURNING d.workflow_id, d.number)
      INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
      SELECT svc_new_id('evt'), current_setting('svc.org'), 'workflow.deployed', w.id, COALESCE(${customerId}, w.customer_id),
        jsonb_build_object('workflowId', w.id, 'name', w.name, 'customerId', COALESCE(${customerId}, w.customer_id),
          'version', p.number, 'environments', jsonb_build_array(${environment}::text)), ${now}::timestamptz
      FROM deployed p JOIN workflows w ON w.id = p.workflow_id`.pipe(
      Effect.zipRight(noteWrite),
      Effect.catchAll(readError)
    )
  }

const flowsIn = (sql: Sql, environment: string, workflows: ReadonlyArray<string>) =>
  sql`SELECT w.id, w.name, w.customer_id AS "customerId", v.spec->'trigger' AS trigger
    FROM workflows w
    LEFT JOIN deployments d ON d.workflow_id = w.id AND d.environment = ${environment}
      AND d.customer_id IS NOT DISTINCT FROM w.customer_id
    LEFT JOIN workflow_versions v ON v.workflow_id = w.id AND v.number = d.number
    WHERE w.id = ANY(${workflows}) AND w.form = 'steps' AND w.deleted_at IS NULL
      AND (v.spec->'trigger' ? 'type'
        OR EXISTS (SELECT FROM triggers t WHERE t.managed_by = w.id AND t.deleted_at IS NULL))
    ORDER BY w.id`.pipe(
    Effect.map((rows) => rows.map(decodeFlow)),
    Effect.catchAll(readError)
  )

const removeDeployments: (sql: Sql) => Deploying["removeDeployments"] =
  (sql) =>
  ({ customerId, environment }) =>
    sql`DELETE FROM deployments WHERE environment = ${environment} AND customer_id IS NOT DISTINCT FROM ${customerId}`.pipe(
      Effect.zipRight(noteWrite),
      Effect.catchAll(readError)
    )

const isSameAuthor = (sql: Sql, caller: string, { at, by }: Authorship) =>
  caller === by
    ? Effect.succeed(true)
    : sql`SELECT svc_is_same_author_at(${caller}, ${by}, ${at ?? "-infinity"}::timestamptz) AS is`.pipe(
        Effect.map(holds),
        Effect.catchAll(readError)
      )

const lastReleaseNumber: (sql: Sql) => Deploying["lastReleaseNumber"] =
  (sql) =>
  ({ customerId, spaceId }) =>
    sql`SELECT COALESCE(max(number), 0) AS n FROM releases
      WHERE space = ${spaceId} AND customer_id IS NOT DISTINCT FROM ${customerId}`.pipe(
      Effect.map(countOf),
      Effect.catchAll(readError)
    )

const hasPendingReleases: (sql: Sql) => Deploying["hasPendingReleases"] =
  (sql) =>
  ({ customerId, environment }, since, by) =>
    sql`SELECT EXISTS (SELECT FROM (SELECT created_by, min(created_at) AS created_at FROM releases
        WHERE (${customerId}::text IS NULL OR customer_id = ${customerId}) AND created_at > ${since}
          AND status <> 'superseded' AND ${environment}::text <> ALL(environments) GROUP BY created_by) r
      WHERE svc_is_same_author_at(${by}, r.created_by, r.created_at)) AS is`.pipe(
      Effect.map(holds),
      Effect.catchAll(readError)
    )

/** The statements on a connection. */
export const makeDeploying = (sql: Sql): Deploying => ({
  lockReleasable: lockReleasable(sql),
  pinnedVersions: (pins) => pinnedVersions(sql, pins),
  deployedPins: (place) => deployedPins(sql, place),
  deployPins: deployPins(sql),
  automaticEnvironments: (workflow, by) => automaticEnvironments(sql, workflow, by),
  deployAutomatically: (workflow, number, { by, now }) => deployAutomatically(sql, workflow, number, by, now),
  flowsIn: (environment, workflows) => flowsIn(sql, environment, workflows),
  removeDeployments: removeDeployments(sql),
  lastReleaseNumber: lastReleaseNumber(sql),
  hasPendingReleases: hasPendingReleases(sql),
  isSameAuthor: (caller, acted) => isSameAuthor(sql, caller, acted)
})
