/** Use cases of workflows: save the draft, draw it, archive the workflow. Contract: workflow record; surface C bodies. */
import { Context, Effect, Layer } from "effect"
import {
  archivedWorkflow,
  changedWorkflow,
  type CompiledSource,
  contentText,
  newWorkflow
} from "../../domain/WorkflowChanges.js"
import { type Failure, type Forbidden, PlanLimitReached } from "../../domain/Failure.js"
import type { CustomerId } from "../../domain/Ids.js"
import { canonicalJson } from "../../domain/Json.js"
import { type CreateWorkflow, UpdateWorkflow, type Workflow, type WorkflowStatus } from "../../domain/Workflow.js"
import type { Diagram } from "../../domain/WorkflowAnalysis.js"
import { type WorkflowSummary, workflowSummary, type WorkflowView, workflowView } from "../../domain/WorkflowView.js"
import { Digests } from "../ports/Digests.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { Tx } from "../ports/Records.js"
import { type CallContext, checkVersion } from "./CallContext.js"
import { narrowedKeyRefusal, type Principal, scopedIds } from "./Caller.js"
import { Changes } from "./Changes.js"
import { findCustomer } from "./CustomerRecords.js"
import { customerListFilter } from "./NamedCustomers.js"
import { type PageRequest, type PageOf, Pages } from "./Pages.js"
import { pickChanges } from "./ReadOnly.js"
import { timestamp } from "./Timestamp.js"
import { authorOf } from "./WorkflowAuthor.js"
import { makeWorkflowCompiler } from "./WorkflowCompiler.js"
import { checkCustomerLimit } from "./CustomerLimits.js"
import { findWorkflow } from "./WorkflowRecords.js"
import { maxVersionsShown } from "./WorkflowVersions.js"

export interface WorkflowListParams extends PageRequest {
  readonly status?: WorkflowStatus | undefined
  readonly customer_id?: string | undefined
  readonly q?: string | undefined
}

/** A drawing of the draft, with the hash of the diagram. */
export interface DraftDiagram {
  readonly contentHash: string
  readonly svg: string
}

/** Each use case fails with `NotFound` if the key's workspace has no such workflow or the caller does not reach it. */
export class Workflows extends Context.Tag("svc/Workflows")<
  Workflows,
  {
    /** Newest first: workflows of the customers that the caller reaches, and shared ones. */
    readonly list: (context: CallContext, params: WorkflowListParams) => Effect.Effect<PageOf<WorkflowSummary>, Failure>
    readonly create: (context: CallContext, input: CreateWorkflow) => Effect.Effect<WorkflowView, Failure>
    readonly get: (
      context: CallContext,
      id: string,
      shown: { readonly diagram: boolean }
    ) => Effect.Effect<WorkflowView, Failure>
    /** Code and contracts change the draft only; the other members take effect at once. */
    readonly update: (context: CallContext, id: string, sent: UpdateWorkflow) => Effect.Effect<WorkflowView, Failure>
    readonly remove: (context: CallContext, id: string) => Effect.Effect<void, Failure>
    /** An archived workflow does not run until it is published again. */
    readonly archive: (context: CallContext, id: string) => Effect.Effect<WorkflowView, Failure>
    readonly draw: (context: CallContext, id: string) => Effect.Effect<DraftDiagram, Failure>
  }
>() {}

// --- Views ---

/** The view; a key that is narrowed to environments sees only their deployments. */
const viewOf = Effect.fnUntraced(function* (tx: Tx, caller: Principal, workflow: Workflow, diagram = false) {
  const environments = scopedIds(caller, "environment")
  const versions = yield* tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: maxVersionsShown })
  const deployments = yield* tx.deployments.list({
    where: { workflowId: workflow.id, ...(environments === undefined ? {} : { environment: environments }) },
    limit: maxVersionsShown
  })
  return workflowView(workflow, { versions, deployments, diagram })
})

/** The condition of a list on the workflows' customers. */
const customersOf = (
  tx: Tx,
  caller: Principal,
  asked: string | undefined
): Effect.Effect<{ readonly customerId?: ReadonlyArray<CustomerId | null> }, Failure> =>
  asked === undefined && caller.customers !== "all"
    ? Effect.succeed({ customerId: [null, ...caller.customers] })
    : customerListFilter(tx, caller, asked)

const resourceOf = ({ customerId, id, name }: Workflow) => ({ id, name, customerId })

// --- Saving ---

/** Members that take effect at once, in every environment. */
const immediate = ["enabled", "tier", "timeoutMs", "retry", "callbackUrl"] as const

const environmentRefusal = (caller: Principal, before: Workflow, after: Workflow): Forbidden | undefined => {
  const changed = immediate.find((member) => canonicalJson(before[member]) !== canonicalJson(after[member]))
  return changed === undefined
    ? undefined
    : narrowedKeyRefusal(caller, "environment", `${changed} takes effect in all of them and is not changed with it`)
}

const checkPlan = Effect.fnUntraced(function* (
  tx: Tx,
  { plan: { flowsPerTenant: limit } }: Principal
): Effect.fn.Return<void, Failure> {
  if (limit === null) return
  // The lock serialises creations in one organisation, so that the count is exact.
  yield* tx.lockKey("flows_per_tenant")
  const used = yield* tx.workflows.count({ deletedAt: null, status: ["draft", "published"] })
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "flows_per_tenant", limit, used })
})

/** Drawings in the cache, by the hash of their diagram. */
const maxCachedDrawings = 500

export const layer = Layer.effect(
  Workflows,
  Effect.gen(function* () {
    const { change, read } = yield* Changes
    const pages = yield* Pages
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const { checkInput, compile, computeStored } = yield* makeWorkflowCompiler
    const drawings = new Map<string, string>()

    const withHash = (draft: Workflow): Workflow => ({ ...draft, contentHash: digests.sha256Hex(contentText(draft)) })

    const insertWorkflow = Effect.fnUntraced(function* (
      tx: Tx,
      caller: Principal,
      input: CreateWorkflow,
      compiled: CompiledSource
    ) {
      yield* checkPlan(tx, caller)
      const { customerId: named = null } = input
      const owner = named === null ? null : (yield* findCustomer(tx, caller, named)).id
      if (owner !== null) yield* checkCustomerLimit(tx, owner, "flows_per_tenant")
      const author = authorOf(caller, yield* timestamp)
      const workflow = withHash(newWorkflow(identifiers.workflow(), author, input, owner, compiled, ""))
      yield* tx.workflows.insert(workflow)
      return workflow
    })

    const drawn = Effect.fnUntraced(function* (
      caller: Principal,
      { contentHash, diagram }: Workflow
    ): Effect.fn.Return<string, Failure> {
      const kept = drawings.get(contentHash)
      if (kept !== undefined) return kept
      // The analysis made it.
      const svg = yield* computeStored("drawDiagram", caller, diagram as unknown as Diagram)
      if (drawings.size >= maxCachedDrawings) drawings.clear()
      drawings.set(contentHash, svg)
      return svg
    })

    return Workflows.of({
      list: (context, params) =>
        read(context, (tx) =>
          Effect.gen(function* () {
            const { caller } = context
            const ids = scopedIds(caller, "workflow")
            const page = yield* pages.list(tx.workflows, params, {
              where: {
                deletedAt: null,
                spaceId: caller.spaceId,
                ...(yield* customersOf(tx, caller, params.customer_id)),
                ...(params.status === undefined ? {} : { status: params.status }),
                ...(ids === undefined ? {} : { id: ids as ReadonlyArray<Workflow["id"]> }) // unchecked text from the request
              },
              ...(params.q === undefined ? {} : { search: { text: params.q, in: ["name", "slug", "description"] } })
            })
            return { ...page, data: page.data.map(workflowSummary) }
          })
        ),

      create: (context, input) =>
        Effect.flatMap(
          Effect.zipRight(checkInput(context.caller, input), compile(context.caller, input.code)),
          (compiled) =>
            change(context, (tx) =>
              Effect.gen(function* () {
                const workflow = yield* insertWorkflow(tx, context.caller, input, compiled)
                const value = workflowView(workflow, { versions: [], deployments: [], diagram: false })
                return { value, resource: resourceOf(workflow), after: workflowSummary(workflow) }
              })
            )
        ),

      get: (context, id, { diagram }) =>
        read(context, (tx) =>
          Effect.flatMap(findWorkflow(tx, context.caller, id), (workflow) =>
            viewOf(tx, context.caller, workflow, diagram)
          )
        ),

      update: (context, id, sent) =>
        Effect.flatMap(
          Effect.zipRight(
            checkInput(context.caller, sent),
            sent.code === undefined ? Effect.succeed(null) : compile(context.caller, sent.code)
          ),
          (compiled) =>
            change(context, (tx) =>
              Effect.gen(function* () {
                const { caller } = context
                const before = yield* findWorkflow(tx, caller, id, true)
                yield* checkVersion(context, sent.version, before.version)
                const changes = yield* pickChanges(UpdateWorkflow, sent, yield* viewOf(tx, caller, before, true))
                const { contentHash } = withHash(changedWorkflow(before, changes, compiled, "", before.updatedAt))
                const after = changedWorkflow(before, changes, compiled, contentHash, yield* timestamp)
                const refused = environmentRefusal(caller, before, after)
                if (refused !== undefined) return yield* refused
                yield* tx.workflows.update(after)
                return {
                  value: yield* viewOf(tx, caller, after),
                  resource: resourceOf(after),
                  before: { ...workflowSummary(before), contentHash: before.contentHash },
                  after: { ...workflowSummary(after), contentHash }
                }
              })
            )
        ),

      remove: (context, id) =>
        change(context, (tx) =>
          Effect.gen(function* () {
            const now = yield* timestamp
            const before = yield* findWorkflow(tx, context.caller, id, true)
            yield* checkVersion(context, undefined, before.version)
            yield* tx.workflows.update({ ...before, deletedAt: now, updatedAt: now, version: before.version + 1 })
            return { value: undefined, resource: resourceOf(before), before: workflowSummary(before), after: null }
          })
        ),

      archive: (context, id) =>
        change(context, (tx) =>
          Effect.gen(function* () {
            const before = yield* findWorkflow(tx, context.caller, id, true)
            const after = archivedWorkflow(before, yield* timestamp)
            if (after instanceof Error) return yield* after
            yield* tx.workflows.update(after)
            return {
              value: yield* viewOf(tx, context.caller, after),
              resource: resourceOf(after),
              before: { status: before.status },
              after: { status: after.status }
            }
          })
        ),

      draw: (context, id) =>
        Effect.gen(function* () {
          const workflow = yield* read(context, (tx) => findWorkflow(tx, context.caller, id))
          return { contentHash: workflow.contentHash, svg: yield* drawn(context.caller, workflow) }
        })
    })
  })
)
