/** The requests that the service sends to webhook endpoints, for the documents. */
import type { JsonObject } from "../../domain/Json.js"
import { outboundEventTypes, testEventType } from "../../domain/delivery/OutboundEvent.js"

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" }
})

const headers = [
  header("webhook-id", "The id of the delivery; the same for every attempt, to recognise repetitions."),
  header("webhook-timestamp", "The time of the attempt in Unix seconds."),
  header(
    "webhook-signature",
    "`v1,` and the base64 of HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` with the endpoint's secret; two, separated by a space, after a rotation."
  )
]

const webhook = (type: string, description: string): JsonObject => ({
  post: {
    operationId: `webhooks.${type}`,
    tags: ["webhookEndpoints"],
    summary: type,
    description,
    parameters: headers,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["type", "timestamp", "data"],
            properties: {
              type: { const: type },
              timestamp: { type: "string", description: "RFC 3339, UTC" },
              data: { type: "object" }
            }
          }
        }
      }
    },
    responses: {
      "2XX": { description: "Received." },
      "410": { description: "The endpoint no longer exists: it is disabled." },
      default: { description: "Not received: it is sent again, up to eight times within 28 hours." }
    }
  }
})

/** By the type of the event. */
export const webhooks: JsonObject = Object.fromEntries(
  Object.entries({
    ...outboundEventTypes,
    [testEventType]: "Asked for with `POST /api/v1/webhook-endpoints/{whe}/test`."
  }).map(([type, description]) => [type, webhook(type, description)])
)
