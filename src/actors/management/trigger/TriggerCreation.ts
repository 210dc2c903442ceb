/** Creates triggers, those that are asked for and those that flows describe: all that a new one is checked for stands here. */
import { Effect } from "effect"
import type { EventDefinition } from "../../../domain/connector/Webhook.js"
import type { Failure } from "../../../domain/Failure.js"
import type { CustomerId, WorkflowId } from "../../../domain/Ids.js"
import type { CreateTrigger, Trigger } from "../../../domain/trigger/Trigger.js"
import { newTrigger } from "../../../domain/trigger/TriggerChanges.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { makeAccessKeys } from "./AccessKeys.js"
import { saveTimes } from "./TriggerRecords.js"
import { checkAppEvent, checkRoutes, checkSecretName } from "./TriggerReferences.js"
import { checkPatternTotal, checkTriggerLimit } from "./TriggerSettings.js"

/** Of whom a new trigger is, and what its settings were found to name. */
interface Creation {
  readonly customerId: CustomerId | null
  /** The connector's event. */
  readonly event: EventDefinition | null
  /** The flow that describes it. */
  readonly managedBy: WorkflowId | null
  readonly now: string
}

/** A new trigger, with the access key of a webhook, which is shown once. */
interface Created {
  readonly trigger: Trigger
  readonly accessKey: string | null
}

/** Makes `createTrigger`. The caller holds the lock of the routes, and has checked the settings. */
export const makeTriggerCreation = Effect.gen(function* () {
  const newAccessKey = yield* makeAccessKeys
  const identifiers = yield* Identifiers

  const createTrigger = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    input: CreateTrigger,
    { customerId, event, managedBy, now }: Creation
  ): Effect.fn.Return<Created, Failure | AlreadyExists | Changed> {
    const { appEvent = null, webhook } = input
    yield* checkTriggerLimit(tx, caller, customerId)
    yield* checkSecretName(tx, caller, webhook?.verify?.secretName)
    const key = input.type === "webhook" && webhook?.auth !== "public" ? newAccessKey() : null
    const trigger = newTrigger(input, {
      id: identifiers.next("trg"),
      organisationId: caller.organisationId,
      spaceId: caller.spaceId,
      customerId,
      routes: yield* checkRoutes(tx, caller, customerId, input.routes, identifiers.next),
      appEvent:
        appEvent === null || event === null ? null : yield* checkAppEvent(tx, caller, customerId, appEvent, event),
      accessKey: key?.stored ?? null,
      managedBy,
      createdBy: caller.id,
      now
    })
    yield* checkPatternTotal(tx, trigger)
    yield* tx.triggers.insert(trigger)
    yield* saveTimes(tx, trigger, true, now)
    return { trigger, accessKey: key?.text ?? null }
  })

  return { createTrigger }
})
