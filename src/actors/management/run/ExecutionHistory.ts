/** Use cases that read executions: their list, traces, logs, blobs and recorded fixtures. Contract: execution record. */
import { Effect, Option, Schema } from "effect"
import type { CallContext } from "../CallContext.js"
import { fixturesOf } from "../../../domain/connector/Mocking.js"
import { isTerminal, ExecutionStatus, TriggerType } from "../../../domain/run/Execution.js"
import { InvalidRequest, NotFound } from "../../../domain/Failure.js"
import { readStepPlace, type StepPlace, tokenAfter } from "../../../domain/run/StepPlace.js"
import type { BlobId } from "../../../domain/Ids.js"
import type { ExecutionQuery, StepPage } from "../../ports/run/ExecutionReads.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { findDetailWith, findViewWith, isExecutionId } from "./ExecutionRecords.js"
import { listQuery, optionalText, timeRange, Pages, sizeOf } from "../Pages.js"
import { customersOf } from "../event/EventRecords.js"
import { rowAfter, rowCursor } from "./RowCursor.js"
import { makeLiveReads } from "./LiveReads.js"

export const ExecutionList = listQuery({
  workflow_id: optionalText,
  status: Schema.optional(ExecutionStatus),
  customer_id: optionalText,
  trigger_type: Schema.optional(TriggerType),
  parent_id: optionalText
})
type ExecutionList = typeof ExecutionList.Type

const workflowsOf = (caller: Principal, workflowId: string | undefined) => {
  const ids = scopedIds(caller, "workflow")
  if (workflowId === undefined) return Effect.succeed(ids === undefined ? {} : { workflowIds: ids })
  return outOfScope(caller, "workflow", workflowId) ?? Effect.succeed({ workflowIds: [workflowId] })
}

/** `only`: of what the caller reaches, this environment. */
const environmentsOf = (caller: Principal, only: string | undefined): Pick<ExecutionQuery, "environments"> => {
  const slugs = scopedIds(caller, "environment")
  if (only !== undefined) return { environments: slugs?.includes(only) === false ? [] : [only] }
  return slugs === undefined ? {} : { environments: slugs }
}

/** What of the steps is listed. `path`: a step with what is inside of it. `changed_since`: empty at first. */
export const StepList = Schema.Struct({
  path: optionalText,
  changed_since: optionalText,
  status: Schema.optional(Schema.Literal("pending", "running", "waiting", "completed", "failed", "skipped"))
})
type StepList = typeof StepList.Type

const noSteps: StepPage = { steps: [], hasMore: false }

/** The place of a token; an empty one selects all rows. */
const stepPlaceOf = (token: string): Effect.Effect<StepPlace, InvalidRequest> =>
  Option.match(readStepPlace(token), {
    onNone: () =>
      new InvalidRequest({
        code: "INVALID_CURSOR",
        message: "changed_since is changedSince of an earlier answer, or empty at first"
      }),
    onSome: Effect.succeed
  })

const make = Effect.gen(function* () {
  const reads = yield* makeLiveReads
  const pages = yield* Pages

  const get = findDetailWith(reads)
  const find = findViewWith(reads)

  return {
    /** Newest first. `environment`: of which they are; without it of all. */
    list: Effect.fnUntraced(function* (
      { caller }: CallContext,
      params: ExecutionList & { readonly environment?: string }
    ) {
      const size = sizeOf(params)
      const workflows = yield* workflowsOf(caller, params.workflow_id)
      const position = yield* pages.position(params.cursor)
      const rows = yield* reads.list(caller, {
        ...workflows,
        ...customersOf(caller, params.customer_id),
        ...environmentsOf(caller, params.environment),
        limit: size + 1,
        ...(params.status === undefined ? {} : { status: params.status }),
        ...(params.trigger_type === undefined ? {} : { triggerType: params.trigger_type }),
        ...(params.parent_id === undefined ? {} : { parentId: params.parent_id }),
        ...timeRange(params),
        ...(params.q === undefined ? {} : { text: params.q }),
        ...(position === undefined || !isExecutionId(position.id) ? {} : { before: position.id })
      })
      return yield* pages.pageOf(rows, size, ({ createdAt, id }) => ({ createdAt, id }))
    }),

    get,

    /** Without input, output and steps. */
    view: find,

    /** The recorded answers of connectors, as fixtures for mocked runs. */
    fixtures: (context: CallContext, id: string) =>
      Effect.map(get(context, id), ({ steps }) => steps.flatMap(fixturesOf)),

    /** The steps of the trace in their order: all of them, unlike the record. */
    steps: Effect.fnUntraced(function* (
      context: CallContext,
      id: string,
      params: StepList & { readonly page_size?: number | undefined; readonly cursor?: string | undefined }
    ) {
      const view = yield* find(context, id)
      const size = sizeOf(params)
      const { changed_since: token, path, status } = params
      const place = token === undefined ? undefined : yield* stepPlaceOf(token)
      const after = place === undefined ? yield* rowAfter(params.cursor) : place.after
      const query = { after, limit: size, path: path || undefined, status, since: place?.since }
      const found = yield* reads.steps(context.caller, view.id, query)
      const { hasMore, position, steps } = Option.getOrElse(found, () => noSteps)
      const last = steps.at(-1)
      const next = hasMore ? last : undefined
      return {
        data: steps.map(({ step }) => step),
        page: { size, hasMore, nextCursor: place === undefined && next !== undefined ? rowCursor(next.index) : null },
        ...(place === undefined || position === undefined
          ? {}
          : { changedSince: tokenAfter(place, position, next?.index) })
      }
    }),

    /** Oldest first. While the run has not ended, the last page has a cursor that continues at the log's current end. */
    logs: Effect.fnUntraced(function* (
      context: CallContext,
      id: string,
      params: { readonly page_size?: number | undefined; readonly cursor?: string | undefined }
    ) {
      const view = yield* find(context, id)
      const size = sizeOf(params)
      const after = yield* rowAfter(params.cursor)
      const lines = yield* reads.logs(context.caller.organisationId, view.id, after, size + 1)
      const data = lines.slice(0, size)
      const hasMore = lines.length > size
      const nextCursor = hasMore || !isTerminal(view.status) ? rowCursor(data.at(-1)?.seq ?? after) : null
      return { data, page: { size, hasMore, nextCursor } }
    }),

    blob: Effect.fnUntraced(function* (context: CallContext, id: string, blobId: string) {
      const view = yield* find(context, id)
      // Unchecked text from the request: an id of another form matches no row.
      const found = yield* reads.blob(context.caller.organisationId, view.id, blobId as BlobId)
      return Option.isSome(found) ? found.value : yield* new NotFound({ what: "blob" })
    })
  }
})

/** Each use case fails with `NotFound` if the key's workspace has no such execution or the caller does not reach it. */
export class ExecutionHistory extends Effect.Service<ExecutionHistory>()("svc/ExecutionHistory", { effect: make }) {}
