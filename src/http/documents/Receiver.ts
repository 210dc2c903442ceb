/** The receiver of webhooks in the documents: it stands outside the typed API, since its bodies belong to their senders. */
import type { Json, JsonObject } from "../../domain/Json.js"

const parameter = (place: "path" | "header" | "query", name: string, description: string): Json => ({
  name,
  in: place,
  required: place === "path",
  description,
  schema: { type: "string" }
})

const address = [
  parameter("path", "client", "The id of the trigger's workspace; of an app's webhook, the id of the organisation."),
  parameter(
    "path",
    "webhook",
    "`whk_…` of a trigger, `whs_…` of a subscription, or `whc_{connector}.{webhook}` of a provider's app."
  )
]

const json = (schema: JsonObject): JsonObject => ({ "application/json": { schema } })
const challengeText: JsonObject = {
  "text/plain": { schema: { type: "string" }, example: '{"Type":"Notification","Message":"S-1024"}' }
}
const shared = (name: string): Json => ({ $ref: `#/components/responses/${name}` })

const headers: JsonObject = { "x-request-id": { $ref: "#/components/headers/x-request-id" } }

const received = (status: ReadonlyArray<string>, eventId: JsonObject): JsonObject => ({
  type: "object",
  required: ["eventId", "status"],
  properties: { eventId, status: { type: "string", enum: status } },
  additionalProperties: false
})

const refusals: JsonObject = {
  400: shared("TenantBadRequest"),
  403: shared("TenantNotAllowed"),
  404: shared("TenantMissing"),
  409: shared("TenantConflicting"),
  500: shared("TenantUnexpected"),
  503: shared("TenantNotNow")
}

const tags = ["webhooks"]

/** The tag of the receiver's operations. */
export const receiverTag: Json = {
  name: "webhooks",
  description: "The addresses that triggers, their subscriptions and providers' apps receive webhooks at."
}

/** The receiver's paths. No API key is needed: the trigger or the connector says how a request is verified. */
export const receiverPaths: JsonObject = {
  "/api/v1/clients/{client}/webhooks/{webhook}": {
    post: {
      tags,
      operationId: "webhooks.receive",
      summary: "Receive a webhook",
      description:
        "Accepts the events of a webhook: of a trigger, of its subscription at a provider, or of a provider's app for all accounts. The answer comes after their commit.",
      parameters: [
        ...address,
        parameter("header", "x-svc-access-key", "The access key of the trigger, unless it is public."),
        parameter("header", "webhook-id", "The sender's id of the delivery, the same in all its attempts.")
      ],
      requestBody: {
        required: false,
        description:
          "The sender's own. JSON is read under each of its content types, and a JSON object or list also as `text/plain` or without one. A form becomes an object of its fields. U+0000 (`\\u0000` in JSON) and half a surrogate pair, which are valid JSON, cannot be stored: they are 400 `NOT_STORABLE` with the path of the member.",
        content: {
          "application/json": { schema: {} },
          "text/plain": { schema: { type: "string" }, example: '{"Type":"Notification","Message":"S-1024"}' },
          "application/x-www-form-urlencoded": { schema: { type: "object" }, example: { orderId: "S-1024" } }
        }
      },
      responses: {
        200: {
          description:
            "A repetition of the event `eventId`, the answer to a challenge, or with `respond: result` and one matching route what its run returned or failed with, if it ended within 30 seconds.",
          headers,
          content: { ...json({}), ...challengeText }
        },
        202: {
          description:
            "The event is committed, or no route takes it. `eventId` is null if no event of the delivery is for a trigger.",
          headers,
          content: json(received(["accepted", "held", "ignored"], { type: ["string", "null"] }))
        },
        401: shared("TenantNotAuthorized"),
        408: shared("TenantTookTooLong"),
        413: shared("TenantTooLarge"),
        415: shared("TenantWrongMediaType"),
        ...refusals
      },
      security: []
    },
    get: {
      tags,
      operationId: "webhooks.challenge",
      summary: "Answer a challenge",
      description: "Repeats the challenge with which a provider checks the address.",
      parameters: [
        ...address,
        ...["hub.challenge", "validationToken", "challenge"].map((name) =>
          parameter("query", name, "The challenge; one of these parameters is needed.")
        )
      ],
      responses: {
        200: { description: "The challenge.", headers, content: challengeText },
        ...refusals
      },
      security: []
    }
  }
}
