/** What an embed session sees of installations, and what it may send. Contract: embed. */
import { Schema } from "effect"
import { JsonObject } from "../Json.js"
import { Counter } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"
import { Installation, type InstallationView, UpdateInstallation } from "./Installation.js"
import type { WidgetFeatures } from "./Widget.js"
import { formValues } from "./WidgetForm.js"

/** An integration that a widget offers. */
export type OfferedIntegration = WidgetFeatures["integrations"][number]

/** An installation in the panel: without its workflows, and with the settings that its form has fields for. */
export const EmbeddedInstallation = Schema.Struct({
  id: Schema.String,
  integration: Schema.String.annotations({ description: "the slug of one of the widget's integrations" }),
  connections: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "by the connector's slug"
  }),
  config: JsonObject,
  status: Schema.Literal("active", "paused", "needs_connection"),
  createdAt: AnsweredTime,
  updatedAt: AnsweredTime,
  version: Schema.Number
}).annotations({ identifier: "EmbeddedInstallation" })

/** What of an installation a session sees. `form`: the schema of the settings that its widget offers. */
export const embeddedInstallation = (
  form: JsonObject | null,
  { config, connections, createdAt, id, integration, status, updatedAt, version }: InstallationView
): typeof EmbeddedInstallation.Type => ({
  id,
  integration,
  connections,
  config: formValues(form, config),
  // Sessions are shown none that is uninstalled.
  status: status === "uninstalled" ? "paused" : status,
  createdAt,
  updatedAt,
  version
})

/** The body with which a session installs an integration of its widget: for its own customer. */
export const InstallIntegration = Installation.Create.pick(
  "integration",
  "connections",
  "config",
  "status"
).annotations({
  identifier: "InstallIntegration"
})
export type InstallIntegration = typeof InstallIntegration.Type

/** The body with which a session changes an installation. */
export const ChangeInstallation = Schema.Struct({
  ...UpdateInstallation.pick("connections", "config", "status").fields,
  version: Schema.optional(Counter)
}).annotations({ identifier: "ChangeInstallation" })
export type ChangeInstallation = typeof ChangeInstallation.Type
