/** What an embed session sees of itself and of its widget. Contract: embed. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { JsonObject } from "../Json.js"
import { AnsweredTime } from "../Time.js"
import { Locale, noFeatures, type WidgetVersion } from "../organisation/Widget.js"
import { ThemeView } from "../organisation/WidgetTheme.js"
import type { EmbedSession } from "./EmbedSession.js"
import { type PermissionSet, StoredMatrix, toMatrix } from "./Permission.js"

const Integration = Schema.Struct({
  slug: Schema.String,
  title: Schema.String,
  description: Schema.String,
  connectors: Schema.Array(Schema.String),
  configSchema: Schema.NullOr(JsonObject)
})

const Action = Schema.Struct({
  id: Schema.String,
  title: Schema.String,
  workflowId: Schema.String.annotations({ description: "what is run, with input by `inputSchema`" }),
  inputSchema: Schema.NullOr(JsonObject),
  confirm: NullableText
})

const Features = Schema.Struct({
  integrations: Schema.Array(Integration),
  actions: Schema.Array(Action),
  runs: Schema.Boolean,
  disconnect: Schema.Boolean
})

/** A session in its own page: for whom it is, how it looks, and what it offers. */
export const EmbeddedSession = Schema.Struct({
  id: Schema.String,
  customerId: Schema.String,
  userId: NullableText,
  userEmail: NullableText,
  userName: NullableText,
  allowedOrigins: Schema.Array(Schema.String).annotations({ description: "of the pages that may show and use it" }),
  permissions: StoredMatrix.annotations({ description: "what it may do now" }),
  theme: ThemeView,
  locale: Locale,
  features: Features,
  expiresAt: AnsweredTime
}).annotations({ identifier: "EmbeddedSession" })

/** Without what only the company needs: which workflows an integration runs. */
const shownFeatures = ({ actions, disconnect, integrations, runs }: WidgetVersion["features"]) => ({
  integrations: integrations.map(({ configSchema, connectors, description, slug, title }) => ({
    slug,
    title,
    description,
    connectors,
    configSchema
  })),
  actions: actions.map(({ confirm, id, inputSchema, title, workflowId }) => ({
    id,
    title,
    workflowId,
    inputSchema,
    confirm
  })),
  runs,
  disconnect
})

/** `widget`: the session's version, if it has one. `permissions`: what it may do now. */
export const embeddedSession = (
  { allowedOrigins, customerId, expiresAt, id, locale, theme, userEmail, userId, userName }: EmbedSession,
  widget: WidgetVersion | undefined,
  permissions: PermissionSet
): typeof EmbeddedSession.Type => ({
  id,
  customerId,
  userId,
  userEmail,
  userName,
  allowedOrigins,
  permissions: toMatrix(permissions),
  theme,
  locale,
  features: shownFeatures(widget?.features ?? noFeatures),
  expiresAt
})
