/** Use cases of workflows: save the draft, draw it, archive the workflow. Contract: workflow record; surface C bodies. */
import { Effect, Schema } from "effect"
import { nextVersion } from "../../../domain/Record.js"
import { archivedWorkflow } from "../../../domain/workflow/WorkflowChanges.js"
import type { Failure } from "../../../domain/Failure.js"
import { RecentMap } from "../../../domain/RecentMap.js"
import type { CreateWorkflowBody, Workflow } from "../../../domain/workflow/Workflow.js"
import type { Diagram } from "../../../domain/workflow/WorkflowAnalysis.js"
import { workflowSummary } from "../../../domain/workflow/WorkflowView.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { checkVersion, type CallContext } from "../CallContext.js"
import { type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { sharedListFilter } from "../organisation/CustomerRecords.js"
import { listParams, listQuery, optionalText, Pages, sizeOf } from "../Pages.js"
import { currentTimestamp } from "../Timestamp.js"
import { triggersOf } from "../trigger/TriggerRecords.js"
import { deleteManagedTriggers, disableTriggersOf } from "../trigger/WorkflowTriggers.js"
import { WorkflowDraft } from "../../../domain/workflow/Draft.js"
import { makeCurrentDrafts } from "./CurrentDrafts.js"
import { listStates } from "./DraftStates.js"
import { makeFlowFiles } from "./FlowFiles.js"
import { makeWorkflowCompiler } from "./WorkflowCompiler.js"
import {
  findVersion,
  findWorkflow,
  publishedContent,
  publishedVersions,
  readWorkflowView,
  workflowResource
} from "./WorkflowRecords.js"
import { makeWorkflowDrafts, type SaveOptions } from "./WorkflowDrafts.js"

export const WorkflowList = listQuery({
  status: Schema.optional(Schema.Literal("draft", "published", "archived")),
  customer_id: optionalText
})
type WorkflowList = typeof WorkflowList.Type

export const DraftList = Schema.Struct({ page_size: listParams.page_size, cursor: listParams.cursor })
type DraftList = typeof DraftList.Type

/** Drawings in the cache, by the hash of their diagram. */
const maxCachedDrawings = 500

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const { computeStored } = yield* makeWorkflowCompiler
  const { createWorkflow, restoreDraft, updateWorkflow } = yield* makeWorkflowDrafts
  const { exportFile, readBody } = yield* makeFlowFiles
  const currentDraft = yield* makeCurrentDrafts
  const drawings = new RecentMap<string, string>(maxCachedDrawings)

  /** The drawing of a diagram, from the cache or computed. */
  const drawDiagram = Effect.fnUntraced(function* (
    caller: Principal,
    { contentHash, diagram }: Pick<Workflow, "contentHash" | "diagram">
  ) {
    const cached = drawings.get(contentHash)
    if (cached !== undefined) return cached
    // The analysis made it.
    const svg = yield* computeStored("drawDiagram", caller, diagram as unknown as Diagram)
    drawings.set(contentHash, svg)
    return svg
  })

  /** Newest first: workflows of the customers that the caller reaches, and shared ones. */
  const list = (context: CallContext, params: WorkflowList) =>
    read(context, function* (tx) {
      const { caller } = context
      const ids = scopedIds(caller, "workflow")
      const page = yield* pages.list(tx.workflows, params, {
        where: {
          deletedAt: null,
          spaceId: caller.spaceId,
          ...(yield* sharedListFilter(tx, caller, params.customer_id)),
          ...(ids === undefined ? {} : { id: ids as ReadonlyArray<Workflow["id"]> }) // unchecked text from the request
        },
        filters: { status: params.status },
        searchIn: ["name", "slug", "description"]
      })
      const versions = yield* publishedVersions(tx, page.data)
      return { ...page, data: page.data.map((workflow) => workflowSummary(workflow, versions)) }
    })

  /** The workflow, as it is stored if its draft cannot be compiled now. */
  const findCurrent = (context: CallContext, id: string) =>
    Effect.flatMap(
      read(context, (tx) => findWorkflow(tx, context.caller, id)),
      (found) => Effect.orElseSucceed(currentDraft(context.caller, found), () => found)
    )

  /** `include`: `diagram`, `published`: the content of the published version, and `triggers`: those that lead to it. */
  const get = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    { include }: { readonly include: ReadonlySet<string> }
  ) {
    const { caller } = context
    const workflow = yield* findCurrent(context, id)
    return yield* read(context, function* (tx) {
      const view = yield* readWorkflowView(tx, caller, workflow, include.has("diagram"))
      return {
        ...view,
        ...(include.has("published") ? { published: yield* publishedContent(tx, workflow) } : {}),
        ...(include.has("triggers") ? { triggers: yield* triggersOf(tx, caller, workflow.id) } : {})
      }
    })
  })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const now = yield* currentTimestamp
      const before = yield* findWorkflow(tx, context.caller, id, true)
      yield* checkVersion(context, undefined, before.version)
      yield* tx.workflows.update({ ...before, deletedAt: now, ...nextVersion(before, now) })
      yield* disableTriggersOf(identifiers, tx, before.id, "workflow_deleted", now)
      yield* deleteManagedTriggers(tx, before.id, now)
      return {
        value: undefined,
        resource: workflowResource(before),
        before: workflowSummary(before, []),
        after: null
      }
    })

  /** An archived workflow does not run until it is published again; triggers that lead to no other are disabled. */
  const archive = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* findWorkflow(tx, context.caller, id, true)
      const now = yield* currentTimestamp
      const after = yield* archivedWorkflow(before, now)
      yield* tx.workflows.update(after)
      yield* disableTriggersOf(identifiers, tx, before.id, "workflow_archived", now)
      return {
        value: yield* readWorkflowView(tx, context.caller, after),
        resource: workflowResource(after),
        before: { status: before.status },
        after: { status: after.status }
      }
    })

  /** `version`: absent, the draft. */
  const draw = Effect.fnUntraced(function* (context: CallContext, id: string, version: number | undefined) {
    const drawn = yield* read(context, (tx) =>
      Effect.flatMap(
        findWorkflow(tx, context.caller, id),
        (workflow): Effect.Effect<Pick<Workflow, "contentHash" | "diagram">, Failure> =>
          version === undefined ? Effect.succeed(workflow) : findVersion(tx, workflow, version)
      )
    )
    return { contentHash: drawn.contentHash, svg: yield* drawDiagram(context.caller, drawn) }
  })

  /** The earlier states of the draft, newest first. */
  const drafts = Effect.fnUntraced(function* (context: CallContext, id: string, params: DraftList) {
    const position = yield* pages.position(params.cursor)
    const rows = yield* read(context, (tx) =>
      Effect.flatMap(findWorkflow(tx, context.caller, id), (workflow) => listStates(tx, workflow))
    )
    const following = position === undefined ? rows : rows.filter(({ number }) => number < Number(position.id))
    const page = yield* pages.pageOf(following, sizeOf(params), ({ number, replacedAt }) => ({
      createdAt: replacedAt,
      id: String(number)
    }))
    return { ...page, data: page.data.map((row) => WorkflowDraft.show(row)) }
  })

  return {
    list,
    create: (context: CallContext, body: CreateWorkflowBody, options: SaveOptions) =>
      Effect.flatMap(readBody(context.caller, body), ({ input, isCompared }) =>
        createWorkflow(context, input, { ...options, isCompared })
      ),
    get,
    /** Code and contracts change the draft only; the other members take effect at once. */
    update: updateWorkflow,
    drafts,
    restoreDraft,
    remove,
    archive,
    draw,
    exportFile
  }
})

/** Each use case fails with `NotFound` if the key's workspace has no such workflow or the caller does not reach it. */
export class Workflows extends Effect.Service<Workflows>()("svc/Workflows", { effect: make }) {}
