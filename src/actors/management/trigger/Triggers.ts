/** Use cases of triggers: create, change, enable, disable, rotate the access key, delete. Contract: trigger record and states. */
import { Clock, Effect, Schema } from "effect"
import type { EventDefinition } from "../../../domain/connector/Webhook.js"
import { type Failure, invalid, InvalidState, refusalOf, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import {
  type CreateTrigger,
  type Trigger,
  UpdateTrigger,
  TriggerKind,
  TriggerStatus
} from "../../../domain/trigger/Trigger.js"
import {
  changedTrigger,
  deletedTrigger,
  disabledEvent,
  disabledTrigger,
  enabledTrigger,
  nextFires,
  hasSameTimes,
  rotatedTrigger
} from "../../../domain/trigger/TriggerChanges.js"
import type { TriggerView } from "../../../domain/trigger/TriggerView.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { Origin } from "../../ports/Origin.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { customerOfBody, sharedListFilter } from "../organisation/CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { triggerWarnings } from "./TriggerWarnings.js"
import { makeAccessKeys } from "./AccessKeys.js"
import { makeTriggerCreation } from "./TriggerCreation.js"
import { makeTriggerSettings, checkPatternTotal } from "./TriggerSettings.js"
import { makeSubscriptionList, makeSubscriptionRetry } from "./TriggerSubscriptions.js"
import {
  findTrigger,
  lockOwnTrigger,
  lockTrigger,
  saveTimes,
  triggerListFilter,
  triggerResource,
  viewOfTrigger,
  viewsOfTriggers
} from "./TriggerRecords.js"
import { checkAppEvent, checkRoutes, checkSecretName } from "./TriggerReferences.js"
import { hasRunnableRoute, lockRoutes } from "./WorkflowTriggers.js"

export const TriggerList = listQuery({
  customer_id: optionalText,
  type: Schema.optional(TriggerKind),
  status: Schema.optional(TriggerStatus)
})
type TriggerList = typeof TriggerList.Type

const customerOf = (tx: Tx, context: CallContext, input: CreateTrigger): Effect.Effect<CustomerId | null, Failure> =>
  input.customerId === null || input.customerId === undefined
    ? Effect.succeed(null)
    : customerOfBody(tx, context.caller, input.customerId)

/** Read-only members of the settings may be sent as they were read. */
const checkReadOnly = (view: TriggerView, { appEvent, webhook }: UpdateTrigger) => {
  const places = [
    ...(["id", "url", "accessKeyPrefix"] as const).map((name) => [
      "webhook",
      name,
      webhook?.[name],
      view.webhook?.[name]
    ]),
    ["appEvent", "connector", appEvent?.connector, view.appEvent?.connector]
  ]
  const details = places.flatMap(([member, name, sent, stored]) =>
    sent === undefined || sent === stored
      ? []
      : [{ path: `${member}.${name}`, code: "IMMUTABLE_FIELD", message: "cannot be changed: send it as it was read" }]
  )
  return refuseWith(refusalOf(details, "IMMUTABLE_FIELD"))
}

const isSameConnection = (before: Trigger, { appEvent }: UpdateTrigger): boolean =>
  before.appEvent?.event === appEvent?.event && before.appEvent?.connectionId === (appEvent?.connectionId ?? null)

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const connectors = yield* Connectors
  const checkInput = yield* makeTriggerSettings
  const newAccessKey = yield* makeAccessKeys
  const { createTrigger } = yield* makeTriggerCreation
  /** Tries the failed subscriptions again at once. Fails with `InvalidState` if none has failed. */
  const retrySubscription = yield* makeSubscriptionRetry
  const subscriptions = yield* makeSubscriptionList
  const origin = yield* Origin

  /** Newest first: triggers of the customers that the caller reaches, and of all customers. */
  const list = (context: CallContext, params: TriggerList) =>
    read(context, function* (tx) {
      const { customer_id, status, type } = params
      const page = yield* pages.list(tx.triggers, params, {
        where: {
          deletedAt: null,
          spaceId: context.caller.spaceId,
          ...(yield* sharedListFilter(tx, context.caller, customer_id))
        },
        filters: { type, status },
        only: triggerListFilter(context.caller),
        searchIn: ["name", "description"]
      })
      return { ...page, data: yield* viewsOfTriggers(tx, origin, page.data) }
    })

  const create = Effect.fnUntraced(function* (context: CallContext, input: CreateTrigger) {
    const event = yield* checkInput(context.caller, input.type, input, true)
    const { caller } = context
    return yield* change(context, function* (tx) {
      yield* lockRoutes(tx)
      const customerId = yield* customerOf(tx, context, input)
      const creation = { customerId, event, managedBy: null, now: yield* currentTimestamp }
      const { accessKey, trigger } = yield* createTrigger(tx, caller, input, creation)
      const view = yield* viewOfTrigger(tx, origin, trigger)
      return {
        value: { ...view, accessKey },
        resource: triggerResource(trigger),
        after: view
      }
    })
  })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) =>
      Effect.flatMap(findTrigger(tx, context.caller, id), (found) => viewOfTrigger(tx, origin, found))
    )

  /** When a schedule fires next, were it active; none for another type of trigger. */
  const fires = (context: CallContext, id: string) =>
    Effect.flatMap(
      read(context, (tx) => findTrigger(tx, context.caller, id)),
      ({ schedule }) =>
        Effect.map(Clock.currentTimeMillis, (now) => (schedule === null ? [] : nextFires(schedule, now)))
    )

  /** The access key after an update of `auth`: a new one for a webhook that was public, none for one that is now. */
  const accessKeyAfter = (before: Trigger, { webhook }: UpdateTrigger) => {
    const auth = webhook?.auth ?? (webhook === null || webhook === undefined ? before.webhook?.auth : "access_key")
    if (before.webhook === null || auth === before.webhook.auth) return undefined
    return auth === "public" ? null : newAccessKey()
  }

  const withChanges = Effect.fnUntraced(function* (
    tx: Tx,
    { caller }: CallContext,
    before: Trigger,
    { changes, event }: { readonly changes: UpdateTrigger; readonly event: EventDefinition | null },
    now: string
  ): Effect.fn.Return<{ readonly after: Trigger; readonly accessKey: string | null }, Failure> {
    const { appEvent, routes, webhook } = changes
    const { customerId } = before
    const secretName = webhook?.verify?.secretName
    if (secretName !== before.webhook?.verify?.secretName) yield* checkSecretName(tx, caller, secretName)
    const accessKey = accessKeyAfter(before, changes)
    const after = changedTrigger(
      before,
      changes,
      {
        routes:
          routes === undefined
            ? before.routes
            : yield* checkRoutes(tx, caller, customerId, routes, identifiers.next, before.routes),
        appEvent:
          appEvent === null || appEvent === undefined || event === null
            ? before.appEvent
            : isSameConnection(before, changes) && before.appEvent !== null
              ? { ...before.appEvent, args: appEvent.args ?? {} }
              : yield* checkAppEvent(tx, caller, customerId, appEvent, event),
        ...(accessKey === undefined ? {} : { accessKey: accessKey?.stored ?? null })
      },
      now
    )
    return { after, accessKey: accessKey?.text ?? null }
  })

  /** An edited schedule counts from now on. The access key is new if the webhook was public. */
  const update = Effect.fnUntraced(function* (context: CallContext, id: string, input: UpdateTrigger) {
    const { type } = yield* read(context, (tx) => findTrigger(tx, context.caller, id))
    const event = yield* checkInput(context.caller, type, input, false)
    return yield* change(context, function* (tx) {
      if (input.routes !== undefined) yield* lockRoutes(tx)
      const before = yield* lockOwnTrigger(tx, context, id, input.version)
      const view = yield* viewOfTrigger(tx, origin, before)
      const changes = yield* pickChanges(UpdateTrigger, input, view, ["stats"])
      yield* checkReadOnly(view, changes)
      const now = yield* currentTimestamp
      const { accessKey, after } = yield* withChanges(tx, context, before, { changes, event }, now)
      if (changes.routes !== undefined && after.status === "active" && !(yield* hasRunnableRoute(tx, after)))
        return yield* invalid("routes", "INVALID_VALUE", "lead only to workflows that are archived or deleted")
      yield* checkPatternTotal(tx, after, before)
      yield* tx.triggers.update(after)
      if (!hasSameTimes(before, after)) yield* saveTimes(tx, after, false, now)
      const value = yield* viewOfTrigger(tx, origin, after)
      return { value: { ...value, accessKey }, resource: triggerResource(after), before: view, after: value }
    })
  })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* lockOwnTrigger(tx, context, id)
      const now = yield* currentTimestamp
      yield* tx.triggers.update(deletedTrigger(before, now))
      yield* saveTimes(tx, disabledTrigger(before, now), false, now)
      return {
        value: undefined,
        resource: triggerResource(before),
        before: { name: before.name, status: before.status },
        after: null
      }
    })

  /** Enables or disables a trigger; without effect on one that is so already. */
  const setStatus = (
    context: CallContext,
    id: string,
    next: (before: Trigger, now: string) => Effect.Effect<Trigger, InvalidState>
  ) =>
    change(context, function* (tx) {
      yield* lockRoutes(tx)
      const before = yield* lockOwnTrigger(tx, context, id)
      const now = yield* currentTimestamp
      const after = yield* next(before, now)
      if (after !== before && after.status === "active" && !(yield* hasRunnableRoute(tx, after)))
        return yield* new InvalidState({
          state: before.status,
          message: "all workflows of the trigger are archived or deleted: publish one again, or change its routes"
        })
      if (after !== before) {
        yield* tx.triggers.update(after)
        yield* saveTimes(tx, after, false, now)
        if (after.status === "disabled") yield* tx.emit(disabledEvent(identifiers.next("evt"), after, "user", now))
      }
      return {
        value: yield* viewOfTrigger(tx, origin, after),
        resource: triggerResource(after),
        before: { status: before.status },
        after: { status: after.status }
      }
    })

  /** Replaces the access key of a webhook; the old one stops working within a second. */
  const rotateKey = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* lockTrigger(tx, context, id)
      const { stored, text } = newAccessKey()
      const after = yield* rotatedTrigger(before, stored, yield* currentTimestamp)
      yield* tx.triggers.update(after)
      const view = yield* viewOfTrigger(tx, origin, after)
      return {
        value: { ...view, accessKey: text },
        resource: triggerResource(after),
        before: { accessKeyPrefix: before.webhook?.accessKeyPrefix ?? null },
        after: { accessKeyPrefix: stored.prefix }
      }
    })

  return {
    list,
    create,
    get,
    fires,
    update,
    remove,
    /** Fails with `InvalidState` for ten minutes after the service disabled it. */
    enable: (context: CallContext, id: string) => setStatus(context, id, enabledTrigger),
    disable: (context: CallContext, id: string) =>
      setStatus(context, id, (before, now) => Effect.succeed(disabledTrigger(before, now))),
    subscriptions,
    retrySubscription,
    rotateKey,
    /** What of a saved trigger does not do what it seems to. */
    warnings: ({ caller }: CallContext, saved: TriggerView) => triggerWarnings(connectors, caller, saved)
  }
})

/** Each use case fails with `NotFound` if the key's workspace has no such trigger or the caller does not reach it. */
export class Triggers extends Effect.Service<Triggers>()("svc/Triggers", { effect: make }) {}
