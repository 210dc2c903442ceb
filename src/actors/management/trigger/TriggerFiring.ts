/** Use case that fires a trigger by hand: its event takes the trigger's routes as one of its own would. Contract: triggers. */
import { nounOf } from "../../../domain/access/CallerKind.js"
import { Effect } from "effect"
import type { FireTrigger } from "../../../domain/event/EventBodies.js"
import { InvalidRequest, InvalidState, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { Events } from "../../ports/event/Events.js"
import { madeOf } from "../../ports/event/Replays.js"
import { type Principal, recordRefusal } from "../Caller.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { findTrigger } from "./TriggerRecords.js"

/** What the request says beside its body. */
export interface FiringRequest {
  readonly headers: { readonly [name: string]: string }
  readonly traceparent: string | null
  /** The second event with the same key is a repetition of the first. */
  readonly idempotencyKey: string | null
}

/** For whom a trigger of all customers fires: the only customer of the caller; `null`: for none in particular. */
const customerOf = (caller: Principal): Effect.Effect<CustomerId | null, InvalidRequest> => {
  if (caller.customers === "all") return Effect.succeed(null)
  const [only, ...others] = caller.customers
  return only === undefined || others.length > 0
    ? new InvalidRequest({
        code: "INVALID_REQUEST",
        message: `name the customer in x-end-org-id: the ${nounOf(caller)} is for some`
      })
    : Effect.succeed(only)
}

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const events = yield* Events

  return {
    /**
     * Returns when the event is committed. Fails with `NotFound` if the caller does not reach the trigger, with
     * `InvalidState` if it is disabled.
     */
    fire: Effect.fnUntraced(function* (
      context: CallContext,
      id: string,
      input: FireTrigger,
      { headers, idempotencyKey, traceparent }: FiringRequest
    ) {
      const { caller } = context
      const trigger = yield* read(context, (tx) => findTrigger(tx, caller, id))
      yield* refuseWith(recordRefusal(caller, context.sharing, trigger.customerId, "trigger"))
      if (trigger.status !== "active")
        return yield* new InvalidState({
          state: trigger.status,
          message: "the trigger is disabled: enable it first"
        })
      const customerId = trigger.customerId ?? (yield* customerOf(caller))
      context.customerId = customerId
      const reception = yield* events.receive({
        organisationId: trigger.organisationId,
        spaceId: trigger.spaceId,
        source: "manual",
        trigger,
        connector: trigger.appEvent?.connector ?? null,
        connectionId: trigger.appEvent?.connectionId ?? null,
        customerId,
        type: `manual.${trigger.id}`,
        entity: null,
        action: "other",
        occurredAt: null,
        // Without a payload a schedule's routes have their own.
        payload: input.payload ?? (trigger.type === "schedule" ? null : {}),
        headers,
        deduplication: {
          value: idempotencyKey === null ? null : `${caller.id}|${idempotencyKey}`,
          deliveryId: null
        },
        traceparent
      })
      return madeOf(reception)
    })
  }
})

export class TriggerFiring extends Effect.Service<TriggerFiring>()("svc/TriggerFiring", { effect: make }) {}
