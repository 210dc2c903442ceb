/** The operations on the webhooks of a connector's draft, and the list of its events. Specification: Surface C. */
import { PartList } from "../../../actors/management/connector/ConnectorPartReads.js"
import { empty, page, record } from "../../operation/Output.js"
import { EventView, partReply, readReply, removedReply, WebhookPart } from "./PartSchemas.js"
import { changesOfParts, readsOfParts } from "./PartRows.js"

const parameters = { whk: "The id of the webhook in the definition." }

const ofReads = readsOfParts(parameters)
const ofChanges = changesOfParts(parameters)

/** The operations of the group `webhookConfigs`, in the order of the documents. */
export const webhookConfigsOperations = [
  ofReads({
    name: "webhookConfigs.list",
    summary: "List the webhooks of a connector",
    description: "Lists the webhooks of the draft, or of the newest version without one.",
    answers: { 200: "A page of webhooks." },
    route: "GET /api/v1/connectors/:ctr/webhooks",
    query: PartList,
    output: page(WebhookPart),
    use: (reads, { context, path, query }) => readReply(context, reads.listWebhooks(context, path.ctr, query))
  }),
  ofReads({
    name: "webhookConfigs.get",
    summary: "Read a webhook of a connector",
    description: "Reads a webhook of the draft, or of the newest version without one.",
    answers: { 200: "The webhook with all defaults." },
    route: "GET /api/v1/connectors/:ctr/webhooks/:whk",
    output: record(WebhookPart),
    use: (reads, { context, path }) => readReply(context, reads.getWebhook(context, path.ctr, path.whk))
  }),
  ofChanges({
    name: "webhookConfigs.upsert",
    summary: "Store a webhook of a connector",
    description: "Adds a webhook to the draft, or replaces the one with the same `id`.",
    answers: { 200: "The webhook with all defaults." },
    example: {
      id: "contacts",
      type: "app",
      eventKey: "$.type",
      account: { payload: "$.account", connection: "$.id" },
      verify: { scheme: "hmac", secretName: "ACME_WEBHOOK_SECRET", header: "X-Acme-Signature" }
    },
    route: "PUT /api/v1/connectors/:ctr/webhooks",
    body: WebhookPart,
    output: record(WebhookPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path, body }) => partReply(context, parts.webhooks.put(context, path.ctr, body))
  }),
  ofChanges({
    name: "webhookConfigs.delete",
    summary: "Remove a webhook of a connector",
    description: "Removes a webhook from the draft. Published versions keep it. Fails if an event refers to it.",
    answers: { 204: "The webhook is removed." },
    route: "DELETE /api/v1/connectors/:ctr/webhooks/:whk",
    output: empty,
    form: { idempotency: "lease" },
    use: (parts, { context, path }) => removedReply(context, parts.webhooks.remove(context, path.ctr, path.whk))
  }),
  ofReads({
    name: "webhookConfigs.events",
    summary: "List the events of a connector",
    description: "Lists the events of the draft, or of the newest version without one, and how each is delivered.",
    answers: { 200: "A page of events." },
    route: "GET /api/v1/connectors/:ctr/events",
    query: PartList,
    output: page(EventView),
    use: (reads, { context, path, query }) => readReply(context, reads.listEvents(context, path.ctr, query))
  })
] as const
