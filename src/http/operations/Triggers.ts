/** The operations on triggers. Contract: surface C bodies; trigger record and states. */
import { HttpApiSchema } from "@effect/platform"
import { Effect, Schema } from "effect"
import { FireTrigger } from "../../domain/event/EventBodies.js"
import { CreateTrigger, UpdateTrigger, Trigger } from "../../domain/trigger/Trigger.js"
import { ListedSubscription } from "../../domain/trigger/Subscription.js"
import { MadeEvent } from "../../domain/event/EventView.js"
import type { TriggerWithKey } from "../../domain/trigger/TriggerView.js"
import { auditAction } from "../operation/Contract.js"
import { operation, operationsOf } from "../operation/Operation.js"
import { Time } from "../Shapes.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import type { CallContext } from "../../actors/management/CallContext.js"
import type { Failure } from "../../domain/Failure.js"
import { TriggerFiring } from "../../actors/management/trigger/TriggerFiring.js"
import { TriggerList, Triggers } from "../../actors/management/trigger/Triggers.js"
import { eventHeaders } from "../../domain/event/EventHeaders.js"
import { record, acceptedRecord, page, bareValue, empty } from "../operation/Output.js"

const TriggerWithKey = Schema.Struct({
  ...Trigger.View.fields,
  accessKey: Schema.NullOr(Schema.String).annotations({
    description: "a new access key, which is shown only here; null: none"
  })
}).annotations({ identifier: "TriggerWithKey" })

const SavedTrigger = Schema.Struct({
  data: TriggerWithKey,
  warnings: Schema.optional(
    Schema.Array(Schema.Struct({ path: Schema.String, code: Schema.String, message: Schema.String }))
  ).annotations({ description: "What is valid, but does not do what it seems to; absent: nothing." })
})

/**
 * A key's scope applies to a trigger by all of its workflows and environments. The runs of a trigger reach every connection
 * and secret, so that it is closed to keys that are narrowed to some.
 */
const closed = { connection: "closed", connector: "closed", secret: "closed" } as const

const recordScope = { workflow: "record", environment: "record", ...closed } as const

const withWarnings = (
  triggers: typeof Triggers.Service,
  context: CallContext,
  saving: Effect.Effect<TriggerWithKey, Failure>
) =>
  Effect.gen(function* () {
    const data = yield* saving
    const warnings = yield* triggers.warnings(context, data)
    return { data, ...(warnings.length === 0 ? {} : { warnings }) }
  })

const parameters = { trg: "The id of the trigger." }

const ofTriggers = operationsOf({
  parameters,
  with: Triggers,
  resource: "trigger",
  sharing: "perRecord",
  scoped: recordScope
})

/** The operations of the group `triggers`, in the order of the documents. */
export const triggersOperations = [
  ofTriggers({
    name: "triggers.list",
    summary: "List triggers",
    description: "Lists the triggers of the workspace, newest first.",
    answers: { 200: "A page of triggers." },
    route: "GET /api/v1/triggers",
    query: TriggerList,
    output: page(Trigger.View),
    permit: "workflows:read",
    sharing: "read",
    scoped: { workflow: "list", environment: "list", ...closed },
    use: (triggers, { context, query }) => triggers.list(context, query)
  }),
  ofTriggers({
    name: "triggers.create",
    summary: "Create a trigger",
    description:
      "Creates a trigger: a webhook, a schedule, an app event, an event of the service, or a manual one. Its events start the workflows of all routes whose filter matches. What cannot fire is refused with its path. The access key of a webhook is shown only in this answer.",
    answers: { 201: "The trigger is created." },
    example: {
      type: "webhook",
      name: "Orders",
      routes: [{ workflowId: "wf_000000000000", filter: { path: "total", op: "gt", value: 100 } }],
      webhook: { executionMode: "sequential", partitionKey: "$.customer.id", deduplicationKey: "$.orderId" }
    },
    route: "POST /api/v1/triggers",
    body: strictPayload(CreateTrigger),
    output: bareValue(SavedTrigger.annotations(HttpApiSchema.annotations({ status: 201 }))),
    permit: "workflows:create",
    noStore: true,
    use: (triggers, { context, body }) => withWarnings(triggers, context, triggers.create(context, body))
  }),
  ofTriggers({
    name: "triggers.get",
    summary: "Read a trigger",
    description: "Reads a trigger with its settings and when it fired last and fires next.",
    answers: { 200: "The trigger." },
    route: "GET /api/v1/triggers/:trg",
    output: record(Trigger.View),
    permit: "workflows:read",
    sharing: "read",
    use: (triggers, { context, path }) => triggers.get(context, path.trg)
  }),
  ofTriggers({
    name: "triggers.fires",
    summary: "List when a schedule fires next",
    description:
      "Lists the next times, at most ten, at which a schedule fires, with its delay. A disabled one would fire at them if it were enabled. Triggers of other types have none.",
    answers: { 200: "The times." },
    route: "GET /api/v1/triggers/:trg/fires",
    output: record(Schema.Array(Time)),
    permit: "workflows:read",
    sharing: "read",
    use: (triggers, { context, path }) => triggers.fires(context, path.trg)
  }),
  ofTriggers({
    name: "triggers.update",
    summary: "Change a trigger",
    description:
      "Changes the members that are sent; the others stay. The type, the customer and the connector cannot be changed. An edited schedule counts from now on.",
    answers: { 200: "The trigger after the change." },
    example: { description: "Large orders of the shop", delivery: { maxAttempts: 5 } },
    route: "PUT /api/v1/triggers/:trg",
    body: putPayload(UpdateTrigger, TriggerWithKey),
    output: bareValue(SavedTrigger),
    permit: "workflows:update",
    noStore: true,
    use: (triggers, { context, path, body }) =>
      withWarnings(triggers, context, triggers.update(context, path.trg, body))
  }),
  ofTriggers({
    name: "triggers.delete",
    summary: "Delete a trigger",
    description: "Deletes a trigger. Its events and their runs stay as long as the plan keeps them.",
    answers: { 204: "The trigger is deleted." },
    route: "DELETE /api/v1/triggers/:trg",
    output: empty,
    permit: "workflows:delete",
    use: (triggers, { context, path }) => triggers.remove(context, path.trg)
  }),
  ofTriggers({
    name: "triggers.enable",
    summary: "Enable a trigger",
    description:
      "Enables a trigger; a schedule counts from now on. One that the service disabled can be enabled after ten minutes.",
    answers: { 200: "The trigger." },
    route: "POST /api/v1/triggers/:trg/enable",
    output: record(Trigger.View),
    permit: "workflows:update",
    use: (triggers, { context, path }) => triggers.enable(context, path.trg)
  }),
  ofTriggers({
    name: "triggers.disable",
    summary: "Disable a trigger",
    description: "Disables a trigger: its webhook answers 409, its schedule pauses, its subscriptions end.",
    answers: { 200: "The trigger." },
    route: "POST /api/v1/triggers/:trg/disable",
    output: record(Trigger.View),
    permit: "workflows:update",
    use: (triggers, { context, path }) => triggers.disable(context, path.trg)
  }),
  operation({
    name: "triggers.fire",
    summary: "Fire a trigger",
    description:
      "Accepts an event for the trigger, of any type, as if it had fired: its filters and its order apply. The answer comes after its commit.",
    answers: { 202: "The event is committed." },
    example: { payload: { total: 414.95 } },
    parameters,
    route: "POST /api/v1/triggers/:trg/fire",
    body: strictPayload(FireTrigger),
    output: acceptedRecord(MadeEvent),
    permit: "workflows:execute",
    audit: auditAction("trigger.fire"),
    sharing: "perRecord",
    scoped: recordScope,
    with: TriggerFiring,
    use: ({ fire }, { context, path, body }) => {
      const { headers } = context.request
      return fire(context, path.trg, body, {
        headers: eventHeaders(headers),
        traceparent: headers["traceparent"] ?? null,
        idempotencyKey: headers["idempotency-key"] ?? null
      })
    }
  }),
  ofTriggers({
    name: "triggers.subscriptions",
    summary: "List a trigger's subscriptions",
    description:
      "Lists how the trigger is subscribed at its provider, for each connection that the caller reaches: at most 200, the failed ones first, with what the provider said and when it is tried again. Only triggers on a connector's webhooks have some.",
    answers: { 200: "The subscriptions." },
    route: "GET /api/v1/triggers/:trg/subscriptions",
    output: record(Schema.Array(ListedSubscription)),
    permit: "workflows:read",
    sharing: "read",
    use: (triggers, { context, path }) => triggers.subscriptions(context, path.trg)
  }),
  ofTriggers({
    name: "triggers.retrySubscription",
    summary: "Retry a trigger's subscriptions",
    description: "Tries the failed subscriptions of a trigger at its provider again at once.",
    answers: { 200: "The trigger." },
    route: "POST /api/v1/triggers/:trg/retry-subscription",
    output: record(Trigger.View),
    permit: "workflows:update",
    use: (triggers, { context, path }) => triggers.retrySubscription(context, path.trg)
  }),
  ofTriggers({
    name: "triggers.rotateKey",
    summary: "Rotate a webhook's access key",
    description:
      "Replaces the access key of a webhook and shows the new one once. The old one stops working within a second.",
    answers: { 200: "The trigger with its new access key." },
    route: "POST /api/v1/triggers/:trg/rotate-key",
    output: record(TriggerWithKey),
    permit: "workflows:update",
    noStore: true,
    use: (triggers, { context, path }) => triggers.rotateKey(context, path.trg)
  })
] as const
