/** Names what a notification is about: the workflow, trigger and customer of the event that causes it. */
import { Effect, Option } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { CustomerId, TriggerId, WorkflowId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import type { NamedSubject } from "../../domain/organisation/Notification.js"
import type { Tx } from "../ports/Records.js"

const nameOf = (found: Option.Option<{ readonly name: string }>): string | null =>
  Option.match(found, { onNone: () => null, onSome: ({ name }) => name })

const text = (payload: JsonObject, member: string): string | undefined => {
  const value = payload[member]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The names of records that still exist. The ids are those that the service wrote. */
export const namesOf = (
  tx: Pick<Tx, "customers" | "triggers" | "workflows">,
  payload: JsonObject,
  customerId: CustomerId | null
): Effect.Effect<ReadonlyArray<NamedSubject>, Unavailable> =>
  Effect.gen(function* () {
    const workflow = text(payload, "workflowId")
    const trigger = text(payload, "triggerId")
    const found = {
      Workflow: workflow === undefined ? null : nameOf(yield* tx.workflows.find({ id: workflow as WorkflowId })),
      Trigger: trigger === undefined ? null : nameOf(yield* tx.triggers.find({ id: trigger as TriggerId })),
      Customer: customerId === null ? null : nameOf(yield* tx.customers.find({ id: customerId }))
    }
    return Object.entries(found).flatMap(([kind, name]) => (name === null ? [] : [{ kind, name }]))
  })
