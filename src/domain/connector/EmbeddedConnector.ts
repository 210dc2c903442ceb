/** What an embed session sees of connectors: what a person needs to choose one and to connect an account. Contract: embed. */
import { Schema } from "effect"
import type { JsonObject } from "../Json.js"
import { NullableText } from "../Scalars.js"
import type { AuthMethod } from "./AuthMethod.js"
import { type ConnectField, connectFields } from "../connection/ConnectForm.js"
import type { ConnectorDefinition } from "./Definition.js"

const summary = {
  slug: Schema.String,
  name: Schema.String,
  description: Schema.String,
  iconUrl: NullableText
} as const

const method = {
  id: Schema.String,
  type: Schema.String,
  default: Schema.Boolean
} as const

/** A connector in lists. */
export const EmbeddedConnectorSummary = Schema.Struct({
  ...summary,
  authMethods: Schema.Array(Schema.Struct(method))
}).annotations({ identifier: "EmbeddedConnectorSummary" })

/** What of a connector's summary a session sees. `authMethods`: JSON of the summary, with more or fewer members. */
export const embeddedSummary = ({
  authMethods,
  description,
  iconUrl,
  name,
  slug
}: Pick<typeof EmbeddedConnectorSummary.Type, "description" | "iconUrl" | "name" | "slug"> & {
  readonly authMethods: ReadonlyArray<JsonObject>
}): typeof EmbeddedConnectorSummary.Type => ({
  slug,
  name,
  description,
  iconUrl,
  authMethods: authMethods.map((one) => ({
    id: String(one["id"]),
    type: String(one["type"]),
    default: one["default"] === true
  }))
})

const Field = Schema.Struct({
  name: Schema.String.annotations({ description: "config.NAME or credential.NAME: where a request has the value" }),
  title: Schema.String,
  description: NullableText,
  secret: Schema.Boolean,
  required: Schema.Boolean,
  options: Schema.NullOr(Schema.Array(Schema.String)),
  type: Schema.Literal("string", "number", "integer", "boolean"),
  initial: NullableText,
  min: Schema.NullOr(Schema.Number),
  max: Schema.NullOr(Schema.Number)
})

/** A connector with the form of each way to connect an account. */
export const EmbeddedConnector = Schema.Struct({
  ...summary,
  authMethods: Schema.Array(
    Schema.Struct({
      ...method,
      title: NullableText,
      description: NullableText,
      signsIn: Schema.Boolean.annotations({ description: "whether the person signs in at the provider" }),
      fields: Schema.Array(Field)
    })
  )
}).annotations({ identifier: "EmbeddedConnector" })

const fieldView = ({ form: _form, ...field }: ConnectField) => field

const methodView = (definition: ConnectorDefinition, one: AuthMethod) => ({
  id: one.id,
  type: one.type,
  default: one.default,
  title: one.title ?? null,
  description: one.description ?? null,
  signsIn: one.type === "oauth2" && one.grant === "authorization_code",
  fields: connectFields(definition, one, {}).map(fieldView)
})

/** What of a definition a session sees. No client, no scope and no address of the provider is part of it. */
export const embeddedConnector = (definition: ConnectorDefinition): typeof EmbeddedConnector.Type => ({
  slug: definition.slug,
  name: definition.name,
  description: definition.description,
  iconUrl: definition.iconUrl ?? null,
  authMethods: definition.auth.map((one) => methodView(definition, one))
})
