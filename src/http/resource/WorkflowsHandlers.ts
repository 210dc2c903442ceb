/** Workflows: their draft is saved, published as an immutable snapshot, deployed, archived. */
import { Effect, Option } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Egress } from "../../actors/ports/Egress.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Tx } from "../../actors/ports/Records.js"
import {
  archivedWorkflow,
  type Author,
  changedWorkflow,
  contentText,
  deployment,
  nameProblem,
  newWorkflow,
  publishedWorkflow,
  snapshot
} from "../../domain/Authoring.js"
import { changesBetween } from "../../domain/Audit.js"
import { NotFound, PlanLimitReached, ValidationFailed } from "../../domain/Failure.js"
import { canonicalJson } from "../../domain/Json.js"
import { UpdateWorkflow, type Workflow, type WorkflowVersion } from "../../domain/Workflow.js"
import type { Diagram } from "../../domain/WorkflowAnalysis.js"
import { Current } from "../auth/Authenticated.js"
import { missing, type Principal, reaches } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { pickChanges } from "../../actors/management/ReadOnly.js"
import { findCustomer } from "./CustomersHandlers.js"
import { makeFreeze } from "./Freeze.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"
import { make as makeChecks } from "./WorkflowChecks.js"
import {
  authorOf,
  findWorkflow,
  gone,
  mayWriteCode,
  nowText,
  number,
  summary,
  versionsKept,
  versionView,
  whole,
  wholeOf
} from "./WorkflowRecords.js"

export const WorkflowsLive = group(ResourceApi, "workflows", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const { checkContracts, compile, computed } = yield* makeChecks
    const egress = yield* Egress
    const freeze = yield* makeFreeze
    const diagrams = new Map<string, string>()

    const checkCallback = (url: string | null | undefined) =>
      url === null || url === undefined
        ? Effect.void
        : egress.check(url).pipe(
            Effect.mapError(
              ({ reason }) =>
                new ValidationFailed({
                  code: "VALIDATION_FAILED",
                  message: `callbackUrl cannot be called: ${reason}`,
                  details: [{ path: "callbackUrl", code: "URL_NOT_ALLOWED", message: reason }]
                })
            )
          )

    const withinPlan = (tx: Tx, exchange: Exchange) =>
      Effect.gen(function* () {
        const limit = exchange.caller.plan.flowsPerTenant
        if (limit === null) return
        // Exact: whoever makes one waits for whoever does so now.
        yield* tx.hold("flows_per_tenant")
        const used = yield* tx.workflows.count({ deletedAt: null, status: ["draft", "published"] })
        if (used >= limit) return yield* new PlanLimitReached({ dimension: "flows_per_tenant", limit, used })
      })

    /** What a publication deploys to at once: environments that deploy by themselves. */
    const deployAutomatically = (tx: Tx, workflow: Workflow, version: number, author: Author, caller: Principal) =>
      Effect.gen(function* () {
        const environments = yield* tx.environments.list({ where: { autoDeploy: true, customerId: null }, limit: 200 })
        for (const environment of environments) {
          const needs =
            environment.slug === "live" || environment.protected
              ? missing(caller, "workflows:deploy_prod")
              : missing(caller, "workflows:deploy_test")
          if (needs !== undefined) return yield* needs
          yield* tx.deployments.remove({ workflowId: workflow.id, environment: environment.slug })
          yield* tx.deployments.insert(deployment(workflow, environment.slug, version, author))
        }
        return environments.map((environment) => environment.slug)
      })

    const publish = (
      tx: Tx,
      exchange: Exchange,
      id: string,
      request: { readonly notes?: string | undefined; readonly version?: number | undefined }
    ) =>
      Effect.gen(function* () {
        const { caller } = exchange
        const author = authorOf(caller, yield* nowText)
        const workflow = yield* findWorkflow(tx, caller, id, true)
        const bindings = yield* freeze(caller.organisationId, workflow.bindings)
        const [latest] = yield* tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: 1 })
        let version = latest
        if (request.version !== undefined) {
          const chosen = yield* tx.workflowVersions.find({ workflowId: workflow.id, number: request.version })
          if (Option.isNone(chosen)) return yield* new NotFound({ what: "version" })
          version = chosen.value
        } else if (
          latest?.contentHash !== workflow.contentHash ||
          canonicalJson(latest.bindings) !== canonicalJson(bindings)
        ) {
          version = snapshot({ ...workflow, bindings }, (latest?.number ?? 0) + 1, request.notes ?? null, author)
          yield* tx.workflowVersions.insert(version)
        }
        if (version === undefined) return yield* gone()
        const after = publishedWorkflow(workflow, version.number, author.now)
        yield* tx.workflows.update(after)
        const deployedTo = yield* deployAutomatically(tx, workflow, version.number, author, caller)
        return {
          value: {
            workflowId: workflow.id,
            version: version.number,
            publishedAt: version.publishedAt,
            created: version.publishedAt === author.now,
            deployedTo
          },
          resource: { id: workflow.id, name: workflow.name, customerId: workflow.customerId },
          before: { publishedVersion: workflow.publishedVersion, status: workflow.status },
          after: { publishedVersion: version.number, status: "published" }
        }
      })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { customer_id, q, status } = urlParams
          const page = yield* view(exchange, (tx) =>
            listing.list(tx.workflows, urlParams, {
              where: {
                deletedAt: null,
                spaceId: exchange.caller.spaceId,
                ...(status === undefined ? {} : { status }),
                ...(customer_id === undefined ? {} : { customerId: customer_id as Workflow["customerId"] })
              },
              ...(q === undefined ? {} : { search: { text: q, in: ["name", "slug", "description"] } })
            })
          )
          return {
            ...page,
            data: page.data
              .filter(({ customerId }) => customerId === null || reaches(exchange.caller, customerId))
              .map(summary)
          }
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { caller } = exchange
          const problem = mayWriteCode(caller) ?? nameProblem(payload.name)
          if (problem !== undefined) return yield* problem
          yield* checkContracts(caller, payload)
          yield* checkCallback(payload.callbackUrl)
          const compiled = yield* compile(caller, payload.code)
          const now = yield* nowText
          const made = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              yield* withinPlan(tx, exchange)
              const owner =
                payload.customerId === undefined || payload.customerId === null
                  ? null
                  : (yield* findCustomer(tx, caller, payload.customerId)).id
              const draft = newWorkflow(identifiers.workflow(), authorOf(caller, now), payload, owner, compiled, "")
              const workflow = { ...draft, contentHash: digests.sha256Hex(contentText(draft)) }
              yield* tx.workflows.insert(workflow)
              return {
                value: whole(workflow, [], [], false),
                resource: { id: workflow.id, name: workflow.name, customerId: owner },
                after: summary(workflow)
              }
            })
          )
          return { data: made }
        })
      )
      .handle("get", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          return {
            data: yield* view(exchange, (tx) =>
              Effect.flatMap(findWorkflow(tx, exchange.caller, path.wid), (workflow) =>
                wholeOf(tx, workflow, urlParams.include?.split(",").includes("diagram") ?? false)
              )
            )
          }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const problem =
            (payload.code === undefined ? undefined : mayWriteCode(exchange.caller)) ??
            (payload.name === undefined ? undefined : nameProblem(payload.name))
          if (problem !== undefined) return yield* problem
          yield* checkContracts(exchange.caller, payload)
          yield* checkCallback(payload.callbackUrl)
          const compiled = payload.code === undefined ? null : yield* compile(exchange.caller, payload.code)
          const now = yield* nowText
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findWorkflow(tx, exchange.caller, path.wid, true)
                yield* checkVersion(exchange, payload.version, before.version)
                const changes = yield* pickChanges(UpdateWorkflow, payload, yield* wholeOf(tx, before, true))
                const draft = changedWorkflow(before, changes, compiled, before.contentHash, now)
                const after = changedWorkflow(before, changes, compiled, digests.sha256Hex(contentText(draft)), now)
                yield* tx.workflows.update(after)
                return {
                  value: yield* wholeOf(tx, after),
                  resource: { id: after.id, name: after.name, customerId: after.customerId },
                  before: { ...summary(before), contentHash: before.contentHash },
                  after: { ...summary(after), contentHash: after.contentHash }
                }
              })
            )
          }
        })
      )
      .handle("delete", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const before = yield* findWorkflow(tx, exchange.caller, path.wid, true)
              yield* checkVersion(exchange, undefined, before.version)
              yield* tx.workflows.update({ ...before, deletedAt: now, updatedAt: now, version: before.version + 1 })
              return {
                value: null,
                resource: { id: before.id, name: before.name, customerId: before.customerId },
                before: summary(before),
                after: null
              }
            })
          )
        })
      )
      .handle("publish", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          return { data: yield* change(exchange, (tx) => publish(tx, exchange, path.wid, payload)) }
        })
      )
      .handle("archive", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findWorkflow(tx, exchange.caller, path.wid, true)
                const after = archivedWorkflow(before, now)
                if (after instanceof Error) return yield* after
                yield* tx.workflows.update(after)
                return {
                  value: yield* wholeOf(tx, after),
                  resource: { id: after.id, name: after.name, customerId: after.customerId },
                  before: { status: before.status },
                  after: { status: after.status }
                }
              })
            )
          }
        })
      )
      .handle("versions", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const versions = yield* view(exchange, (tx) =>
            Effect.flatMap(findWorkflow(tx, exchange.caller, path.wid), (workflow) =>
              tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: versionsKept })
            )
          )
          return { data: versions.map(versionView), page: { size: versionsKept, nextCursor: null, hasMore: false } }
        })
      )
      .handle("diff", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const from = yield* number(path.a)
          const to = yield* number(path.b)
          const find = (tx: Tx, workflow: Workflow, wanted: number) =>
            Effect.flatMap(
              tx.workflowVersions.find({ workflowId: workflow.id, number: wanted }),
              Option.match({
                onNone: () => new NotFound({ what: "version" }),
                onSome: Effect.succeed
              })
            )
          const [a, b] = yield* view(exchange, (tx) =>
            Effect.flatMap(findWorkflow(tx, exchange.caller, path.wid), (workflow) =>
              Effect.all([find(tx, workflow, from), find(tx, workflow, to)])
            )
          )
          const contractsOf = (version: WorkflowVersion) => ({
            inputContract: version.inputContract,
            outputContract: version.outputContract
          })
          const sources = { from: a.source ?? "", to: b.source ?? "" }
          return {
            data: {
              from,
              to,
              code: yield* computed("diffLines", exchange.caller, sources),
              contracts: changesBetween(contractsOf(a), contractsOf(b))
            }
          }
        })
      )
      .handle("diagram", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const workflow = yield* view(exchange, (tx) => findWorkflow(tx, exchange.caller, path.wid))
          const known = diagrams.get(workflow.contentHash)
          exchange.replyHeaders["etag"] = `"${workflow.contentHash}"`
          if (known !== undefined) return known
          const diagram = workflow.diagram as unknown as Diagram // as the analysis made it
          const drawn = yield* computed("drawDiagram", exchange.caller, diagram)
          if (diagrams.size >= 500) diagrams.clear()
          diagrams.set(workflow.contentHash, drawn)
          return drawn
        })
      )
  })
)
