/** Texts of surface C's operations on triggers. */
import type { OperationText } from "./OperationText.js"

/** Texts by operation id. */
export const triggerTexts = {
  "triggers.list": {
    summary: "List triggers",
    description: "Lists the triggers of the workspace, newest first.",
    answers: { 200: "A page of triggers." }
  },
  "triggers.create": {
    summary: "Create a trigger",
    description:
      "Creates a trigger: a webhook, a schedule, an app event, an event of the service, or a manual one. Its events start the workflows of all routes whose filter matches. What cannot fire is refused with its path. The access key of a webhook is shown only in this answer.",
    answers: { 201: "The trigger is created." },
    example: {
      type: "webhook",
      name: "Orders",
      routes: [{ workflowId: "wf_000000000000", filter: { path: "total", op: "gt", value: 100 } }],
      webhook: { executionMode: "sequential", partitionKey: "$.customer.id", deduplicationKey: "$.orderId" }
    }
  },
  "triggers.get": {
    summary: "Read a trigger",
    description: "Reads a trigger with its settings and when it fired last and fires next.",
    answers: { 200: "The trigger." }
  },
  "triggers.update": {
    summary: "Change a trigger",
    description:
      "Changes the members that are sent; the others stay. The type, the customer and the connector cannot be changed. An edited schedule counts from now on.",
    answers: { 200: "The trigger after the change." },
    example: { description: "Large orders of the shop", delivery: { maxAttempts: 5 } }
  },
  "triggers.delete": {
    summary: "Delete a trigger",
    description: "Deletes a trigger. Its events and their runs stay as long as the plan keeps them.",
    answers: { 204: "The trigger is deleted." }
  },
  "triggers.enable": {
    summary: "Enable a trigger",
    description:
      "Enables a trigger; a schedule counts from now on. One that the service disabled can be enabled after ten minutes.",
    answers: { 200: "The trigger." }
  },
  "triggers.disable": {
    summary: "Disable a trigger",
    description: "Disables a trigger: its webhook answers 409, its schedule pauses, its subscriptions end.",
    answers: { 200: "The trigger." }
  },
  "triggers.fire": {
    summary: "Fire a trigger",
    description:
      "Accepts an event for the trigger, of any type, as if it had fired: its filters and its order apply. The answer comes after its commit.",
    answers: { 202: "The event is committed." },
    example: { payload: { total: 414.95 } }
  },
  "triggers.retrySubscription": {
    summary: "Retry a trigger's subscriptions",
    description: "Tries the failed subscriptions of a trigger at its provider again at once.",
    answers: { 200: "The trigger." }
  },
  "triggers.rotateKey": {
    summary: "Rotate a webhook's access key",
    description:
      "Replaces the access key of a webhook and shows the new one once. The old one stops working within a second.",
    answers: { 200: "The trigger with its new access key." }
  }
} satisfies { readonly [id: string]: OperationText }
