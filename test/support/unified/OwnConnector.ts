/** A built-in connector as an organisation's own, whose connections name the address of a fake. */
import { Schema } from "effect"
import { ConnectorDefinition } from "../../../src/domain/connector/Definition.js"

const encode = Schema.encodeSync(ConnectorDefinition)

/** The definition with a slug of its own. `inject`: where the key of a connection goes. */
export const asOwnConnector = (
  definition: ConnectorDefinition,
  slug: string,
  inject: { readonly name: string; readonly value: string }
) => ({
  ...encode(definition),
  slug,
  baseUrl: definition.baseUrl.replace(/^(?:https:\/\/[^/]+|\{\{[^}]*\}\})/, "{{connection.config.base}}"),
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    { id: "key", type: "api_key", fields: [{ name: "apiKey", secret: true }], inject: [{ in: "header", ...inject }] }
  ],
  retry: { initialMs: 10, maxAttempts: 2 },
  rateLimit: {}
})
