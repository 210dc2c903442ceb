/** What the service writes when it disables a trigger by itself. */
import { changesBetween } from "../../domain/audit/Audit.js"
import { serviceActor } from "../../domain/access/Caller.js"
import type { Trigger } from "../../domain/trigger/Trigger.js"
import { autoDisabledTrigger, disabledEvent, type DisableReason } from "../../domain/trigger/TriggerChanges.js"
import type { Identifiers } from "../ports/Identifiers.js"
import type { TriggerDisabling } from "../ports/event/Subscriptions.js"

/** `message`: the reason for people, in the audit trail. `at`: RFC 3339. */
export const disablingOf = (
  identifiers: Identifiers["Type"],
  trigger: Trigger,
  reason: DisableReason,
  message: string,
  at: string
): TriggerDisabling => {
  const after = autoDisabledTrigger(trigger, at)
  return {
    after,
    event: disabledEvent(identifiers.next("evt"), after, reason, at),
    audit: {
      id: identifiers.next("aud"),
      organisationId: after.organisationId,
      at,
      actor: serviceActor,
      action: "trigger.disable",
      resource: { type: "trigger", id: after.id, name: after.name },
      customerId: after.customerId,
      outcome: "success",
      requestId: null,
      changes: changesBetween({ status: trigger.status, reason: null }, { status: after.status, reason: message }),
      count: 1
    }
  }
}
