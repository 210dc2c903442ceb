/** Use cases of the dead letter queue: list, read, replay, discard. Contract: dead letters. */
import { Clock, Effect, Option, Schema } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { ReplayCustomerDeadLetters, ReplayEvent } from "../../../domain/event/EventBodies.js"
import { DeadLetterStatus } from "../../../domain/event/EventView.js"
import { Conflict, type Failure, Forbidden, NotFound, refuseWith } from "../../../domain/Failure.js"
import { eventLimits } from "../../../domain/Limits.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { DeadLetters, type DeadLetterSource } from "../../ports/event/DeadLetters.js"
import { EventReads, type RecordScope } from "../../ports/event/EventReads.js"
import { notPending, type ReplayedLetter, Replays } from "../../ports/event/Replays.js"
import type { CallContext } from "../CallContext.js"
import { missingPermission, type Principal } from "../Caller.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { checkScopeWith, customersOf, isReached, positionAt, recordScopeOf } from "./EventRecords.js"
import { ExecutionControl } from "../run/ExecutionControl.js"
import { timeRange, Pages, sizeOf, filtersOf, listQuery, optionalText } from "../Pages.js"

/** What a list of dead letters is filtered by. */
export const DeadLetterList = listQuery({
  status: Schema.optional(DeadLetterStatus),
  trigger_id: optionalText,
  connector: optionalText,
  type: optionalText,
  code: optionalText,
  customer_id: optionalText
})
type DeadLetterList = typeof DeadLetterList.Type

const letterNotFound = () => new NotFound({ what: "dead letter" })
const isPart = (some: ReadonlyArray<string> | undefined, of: ReadonlyArray<string> | undefined): boolean =>
  of === undefined || some?.every((one) => of.includes(one)) === true

const isWithin = (inner: RecordScope | null, outer: RecordScope): boolean =>
  isPart(inner?.workflows, outer.workflows) && isPart(inner?.environments, outer.environments)

const make = Effect.gen(function* () {
  const reads = yield* EventReads
  const checkScope = checkScopeWith(reads)
  const letters = yield* DeadLetters
  const identifiers = yield* Identifiers
  const pages = yield* Pages
  const replays = yield* Replays
  const control = yield* ExecutionControl

  /** The claim of the letter's id lets two requests make one run. */
  const rerun = Effect.fnUntraced(function* (
    context: CallContext,
    { id, status }: DeadLetterSource,
    executionId: string
  ): Effect.fn.Return<ReplayedLetter, Failure> {
    if (status !== "pending") return yield* notPending(status)
    yield* refuseWith(missingPermission(context.caller, "executions:create"))
    const claim = { key: `dead letter ${id}`, hash: id }
    const { execution } = yield* control.rerun(context, executionId, { claim, traceparent: null })
    yield* letters.recordRerun(context.caller, id)
    return { id, eventId: null, status: "rerun", executionId: execution.id }
  })

  const find = Effect.fnUntraced(function* (context: CallContext, id: string) {
    const found = Option.getOrUndefined(yield* reads.deadLetter(context.caller, id))
    if (found === undefined || !isReached(context.caller, found.customerId)) return yield* letterNotFound()
    yield* checkScope(context.caller, "dead letter", id)
    return found
  })

  /** A narrowed key reaches replays that take nothing outside its scope. */
  const findReplay = Effect.fnUntraced(function* (caller: Principal, id: string) {
    const found = yield* letters.replay(caller, id, customersOf(caller, undefined).customerIds)
    if (Option.isNone(found)) return yield* new NotFound({ what: "replay" })
    const { scope } = recordScopeOf(caller)
    return scope === undefined || isWithin(found.value.scope, scope)
      ? found.value.view
      : yield* new Forbidden({
          code: "RESOURCE_OUT_OF_SCOPE",
          message: "that replay takes dead letters that this key does not reach"
        })
  })

  const auditEntry = (
    { audit, caller }: CallContext,
    id: string,
    customerId: string | null,
    at: number
  ): AuditEntry => ({
    id: identifiers.next("aud"),
    organisationId: caller.organisationId,
    at: new Date(at).toISOString(),
    actor: actorOf(caller),
    action: audit?.action ?? "unknown",
    resource: { type: audit?.resource ?? "unknown", id, name: null },
    customerId: customerId as AuditEntry["customerId"],
    outcome: "success",
    requestId: caller.requestId,
    changes: [],
    count: 1
  })

  return {
    list: Effect.fnUntraced(function* ({ caller }: CallContext, params: DeadLetterList) {
      const size = sizeOf(params)
      const position = yield* pages.position(params.cursor)
      const { code, connector, status, trigger_id: triggerId, type } = params
      const { lookedTo, rows } = yield* reads.deadLetters(caller, {
        ...filtersOf({ status, triggerId, connector, type, code }),
        ...customersOf(caller, params.customer_id),
        ...recordScopeOf(caller),
        ...timeRange(params),
        ...(position === undefined ? {} : { before: position.id }),
        limit: size + 1
      })
      return yield* pages.pageOf(rows, size, ({ createdAt, id }) => ({ createdAt, id }), positionAt(lookedTo))
    }),

    get: find,

    /** Replays it once: a second request fails with `InvalidState`. */
    replay: Effect.fnUntraced(function* (context: CallContext, id: string, input: ReplayEvent) {
      const found = yield* find(context, id)
      context.customerId = found.customerId as CallContext["customerId"]
      const source = Option.getOrUndefined(yield* letters.source(context.caller, id))
      if (source === undefined) return yield* letterNotFound()
      const { deliveryId, eventId, executionId } = source
      if (executionId !== null && eventId === null && deliveryId === null)
        return yield* rerun(context, source, executionId)
      return yield* replays.letter(context.caller, source, {
        isRequested: true,
        ...recordScopeOf(context.caller),
        ...(input.routes === undefined ? {} : { routes: input.routes })
      })
    }),

    /** Starts a replay of many, which goes on in the background, also after a restart. */
    replayMany: Effect.fnUntraced(function* (
      context: CallContext,
      { filter = {}, limit = 1_000, ratePerSecond = 10 }: ReplayCustomerDeadLetters
    ) {
      const { caller } = context
      const id = identifiers.next("rpl")
      const reached = caller.customers === "all" ? {} : { customerIds: [...caller.customers] }
      const started = yield* letters.startReplay(
        caller,
        {
          id,
          filter: { ...filter, ...reached, ...recordScopeOf(caller) },
          limit,
          ratePerSecond,
          createdBy: caller.id
        },
        auditEntry(context, id, null, yield* Clock.currentTimeMillis)
      )
      if (!started)
        return yield* new Conflict({
          code: "CONFLICT",
          message: `${eventLimits.replays} replays run already: wait for one to finish`
        })
      context.isAudited = true
      return yield* findReplay(caller, id)
    }),

    getReplay: ({ caller }: CallContext, id: string) => findReplay(caller, id),

    /** Marks it as discarded. A second request fails with `NotFound`. */
    discard: Effect.fnUntraced(function* (context: CallContext, id: string) {
      const { customerId } = yield* find(context, id)
      const audit = auditEntry(context, id, customerId, yield* Clock.currentTimeMillis)
      if (yield* letters.discard(context.caller, id, audit)) {
        context.isAudited = true
        return
      }
      const { status } = yield* find(context, id)
      return yield* status === "discarded" ? letterNotFound() : notPending(status)
    })
  }
})

/** Each use case fails with `NotFound` if the key's workspace has no such dead letter or the caller does not reach it. */
export class DeadLetterQueue extends Effect.Service<DeadLetterQueue>()("svc/DeadLetterQueue", { effect: make }) {}
