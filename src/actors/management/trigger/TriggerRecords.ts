/**
 * Finds and shows triggers for use cases, and checks what they refer to. A trigger is in a key's scope if all of its
 * workflows and environments are. Its runs reach every connection and secret, so that a key narrowed to some of these
 * neither reads nor changes triggers.
 */
import { Effect, Struct } from "effect"
import { type Failure, type Forbidden, Managed, NotFound } from "../../../domain/Failure.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import { type Trigger, type SubscriptionState } from "../../../domain/trigger/Trigger.js"
import { firstFireAt } from "../../../domain/trigger/TriggerChanges.js"
import { shownState } from "../../../domain/trigger/Subscription.js"
import { type TriggerView, triggerView } from "../../../domain/trigger/TriggerView.js"
import type { MemberFilter, Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

const notFound = () => new NotFound({ what: "trigger" })

/** The refusal if a trigger is outside the key's scope. */
export const triggerRefusal = (
  caller: Principal,
  { environments, workflowIds }: Pick<Trigger, "workflowIds" | "environments">
): Forbidden | undefined =>
  [
    ...workflowIds.map((id) => outOfScope(caller, "workflow", id)),
    ...environments.map((slug) => outOfScope(caller, "environment", slug))
  ].find((refused) => refused !== undefined)

/** The condition of a list on the triggers in the key's scope. */
export const triggerListFilter = (caller: Principal): ReadonlyArray<MemberFilter<Trigger>> =>
  (
    [
      ["workflow", "workflowIds"],
      ["environment", "environments"]
    ] as const
  ).flatMap(([type, member]) => {
    const among = scopedIds(caller, type)
    return among === undefined ? [] : [{ member, part: "items" as const, among }]
  })

/** Triggers that a workflow's view shows. */
const maxTriggersShown = 200

/** The triggers whose routes lead to a workflow, newest first, without what only those see who may read triggers. */
export const triggersOf = (tx: Tx, caller: Principal, workflowId: WorkflowId) =>
  Effect.map(
    tx.triggers.list({
      where: {
        deletedAt: null,
        spaceId: caller.spaceId,
        ...(caller.customers === "all" ? {} : { customerId: [null, ...caller.customers] })
      },
      some: [{ member: "workflowIds", part: "items", among: [workflowId] }],
      only: triggerListFilter(caller),
      limit: maxTriggersShown
    }),
    (found) => found.map((trigger) => Struct.pick(trigger, "id", "name", "type", "status", "customerId"))
  )

/** The trigger with this id, if the caller's key reaches it. `lock`: locks the row until the transaction ends. */
export const findTrigger = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Trigger, Failure> => {
  const where = { id: id as Trigger["id"], spaceId: caller.spaceId, deletedAt: null } // unchecked text from the request
  return Effect.tap(
    findReached(tx.triggers, caller, "trigger", where, lock),
    (found) => triggerRefusal(caller, found) ?? Effect.void
  )
}

/** Locks a trigger to change it. Fails unless it has the version that the caller read. */
export const lockTrigger = (tx: Tx, context: CallContext, id: string, version?: number) =>
  Effect.tap(findTrigger(tx, context.caller, id, true), (found) => checkVersion(context, version, found.version))

/** The same of one that is not kept by its workflow. */
export const lockOwnTrigger = (tx: Tx, context: CallContext, id: string, version?: number) =>
  Effect.tap(lockTrigger(tx, context, id, version), ({ managedBy }) =>
    managedBy === null
      ? Effect.void
      : new Managed({
          managedBy: { kind: "workflow", id: managedBy },
          message: `the trigger is described by the steps of ${managedBy}: change it there, and deploy that version to live`
        })
  )

/** Stores when the trigger fires next, if it is a schedule. */
export const saveTimes = Effect.fnUntraced(function* (tx: Tx, trigger: Trigger, isNew: boolean, now: string) {
  if (trigger.schedule === null) return
  const { id: triggerId, organisationId } = trigger
  const nextFireAt = firstFireAt(trigger, isNew, now)
  if (isNew)
    return yield* tx.triggerStates.insert({
      triggerId,
      organisationId,
      nextFireAt,
      lastFiredAt: null,
      consecutiveFailures: 0
    })
  const state = yield* Effect.flatten(tx.triggerStates.lock({ triggerId })).pipe(
    Effect.catchTag("NoSuchElementException", () => Effect.dieMessage("a schedule has a state"))
  )
  yield* tx.triggerStates.update({
    ...state,
    nextFireAt,
    consecutiveFailures: trigger.status === "active" ? 0 : state.consecutiveFailures
  })
})

/** Subscriptions of one trigger that are read. */
const maxSubscriptions = 1_000

/** The states of the subscriptions of those triggers that have some, by trigger. */
const subscriptionStates = Effect.fnUntraced(function* (tx: Tx, found: ReadonlyArray<Trigger>) {
  const subscribing = found.filter(({ appEvent }) => appEvent !== null).map(({ id }) => id)
  const rows =
    subscribing.length === 0
      ? []
      : yield* tx.subscriptions.list({ where: { triggerId: subscribing }, limit: maxSubscriptions })
  const states = new Map<string, ReadonlyArray<SubscriptionState>>()
  for (const { state, triggerId } of rows) states.set(triggerId, [...(states.get(triggerId) ?? []), state])
  return states
})

/** The views of these triggers, with what firing them has written. */
export const viewsOfTriggers = Effect.fnUntraced(function* (tx: Tx, origin: string, found: ReadonlyArray<Trigger>) {
  if (found.length === 0) return []
  const rows = yield* tx.triggerStates.list({ where: { triggerId: found.map(({ id }) => id) }, limit: found.length })
  const states = new Map(rows.map((row) => [row.triggerId, row]))
  const subscriptions = yield* subscriptionStates(tx, found)
  return found.map((one) =>
    triggerView(one, { origin, state: states.get(one.id), subscription: shownState(subscriptions.get(one.id) ?? []) })
  )
})

export const viewOfTrigger = (tx: Tx, origin: string, trigger: Trigger): Effect.Effect<TriggerView, Failure> =>
  Effect.flatMap(viewsOfTriggers(tx, origin, [trigger]), ([view]) =>
    view === undefined ? Effect.fail(notFound()) : Effect.succeed(view)
  )

/** The audit entry's resource. */
export const triggerResource = ({ customerId, id, name }: Trigger) => ({ id, name, customerId })
