/**
 * The schemas of a connector's parts in requests and answers. Any object is decoded, since the validation of the whole
 * definition reports every mistake; the documents show the real schemas.
 */
import { Effect, Schema, SchemaAST } from "effect"
import type { PartRead } from "../../../actors/management/connector/ConnectorPartReads.js"
import type { SavedPart } from "../../../actors/management/connector/ConnectorParts.js"
import { ActionDefinition } from "../../../domain/connector/Action.js"
import { AuthMethod } from "../../../domain/connector/AuthMethod.js"
import { writtenForm } from "../../../domain/connector/FileSchema.js"
import { EventDefinition, WebhookDefinition } from "../../../domain/connector/Webhook.js"
import type { Failure } from "../../../domain/Failure.js"
import { JsonObject } from "../../../domain/Json.js"
import { NullableText } from "../../../domain/Scalars.js"
import type { Exchange } from "../../pipeline/Exchange.js"
import { NullableTime } from "../../Shapes.js"

const partSchema = <A, I>(identifier: string, description: string, part: Schema.Schema<A, I>) =>
  Schema.declare(Schema.is(JsonObject), {
    identifier,
    description,
    [SchemaAST.SurrogateAnnotationId]: writtenForm(part).ast
  })

/** An action, with all defaults in answers. */
export const ActionPart = partSchema("ConnectorAction", "An action of a connector.", ActionDefinition)
/** An auth method; answers never have its client secret. */
export const AuthMethodPart = partSchema("ConnectorAuthMethod", "An auth method of a connector.", AuthMethod)
/** A webhook of a connector. */
export const WebhookPart = partSchema("ConnectorWebhook", "A webhook of a connector.", WebhookDefinition)

/** A JSON merge patch of a definition or a part. */
export const PatchBody = Schema.declare(Schema.is(JsonObject), {
  identifier: "MergePatch",
  description: "A JSON merge patch (RFC 7396): members replace those that are there, objects are merged, null removes.",
  jsonSchema: { type: "object" }
})

export const ActionSummary = Schema.Struct({
  name: Schema.String,
  version: Schema.Number,
  title: Schema.String,
  description: NullableText,
  readOnly: Schema.Boolean
}).annotations({ identifier: "ConnectorActionSummary" })

export const ActionVersionView = Schema.Struct({
  version: Schema.Number,
  connectorVersion: NullableText.annotations({
    description: "the first version of the connector that has it; null where a built-in one does not tell"
  }),
  publishedAt: NullableTime.annotations({ description: "null for a version of the draft" })
}).annotations({ identifier: "ConnectorActionVersion" })

export const EventView = Schema.Struct({
  id: Schema.String,
  title: Schema.String,
  description: NullableText,
  delivery: EventDefinition.fields.delivery,
  entity: NullableText,
  webhook: NullableText.annotations({ description: "the id of the webhook that delivers it" }),
  payloadSchema: JsonObject
}).annotations({ identifier: "ConnectorEvent" })

/** Answers with the revision of the connector, to be sent as `If-Match`. */
export const setRevision = (exchange: Exchange, revision: number | null) => {
  if (revision !== null) exchange.replyHeaders["etag"] = `"${revision}"`
}

/** The answer to a read, with the revision of the connector. */
export const readReply = <A>(exchange: Exchange, read: Effect.Effect<PartRead<A>, Failure>) =>
  Effect.map(read, ({ revision, value }) => {
    setRevision(exchange, revision)
    return value
  })

/** The part of an answer, with the revision of its connector. */
export const partReply = (exchange: Exchange, saved: Effect.Effect<SavedPart, Failure>) =>
  Effect.map(saved, ({ part, revision }) => {
    setRevision(exchange, revision)
    return part
  })

/** The same for a part that was created. `placeOf`: its place below the path of the request. */
export const newPartReply = (
  exchange: Exchange,
  saved: Effect.Effect<SavedPart, Failure>,
  placeOf: (part: JsonObject) => string
) =>
  Effect.map(partReply(exchange, saved), (part) => {
    exchange.replyHeaders["location"] = placeOf(part)
    return part
  })

/** An answer without a body, with the revision of the connector. */
export const removedReply = (exchange: Exchange, saved: Effect.Effect<number, Failure>) =>
  Effect.map(saved, (revision) => setRevision(exchange, revision))
