/** The operations on configuration values. Specification: Configuration hierarchy; contract: config. */
import { Schema } from "effect"
import { ResolvedValue, SetConfiguration } from "../../domain/organisation/Configuration.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { strictPayload } from "../PayloadSchema.js"
import { Configuration, ConfigurationQuery } from "../../actors/management/organisation/Configuration.js"
import { record } from "../operation/Output.js"

const ofConfiguration = operationsOf({
  with: Configuration,
  resource: "config",
  sharing: "perRecord",
  scoped: { workflow: "record", environment: "record" }
})

/** The operations of the group `config`, in the order of the documents. */
export const configOperations = [
  ofConfiguration({
    name: "config.resolve",
    summary: "Resolve configuration",
    description:
      "Answers with the values that apply to a customer, an integration, a workflow and an environment, with the level of each and the values that it overrides.",
    answers: { 200: "The values that apply." },
    parameters: { key: "Only the value of this key." },
    route: "GET /api/v1/config",
    query: ConfigurationQuery,
    output: record(Schema.Array(ResolvedValue)),
    permit: "settings:read",
    use: (configuration, { context, query }) => configuration.resolve(context, query)
  }),
  ofConfiguration({
    name: "config.set",
    summary: "Set a configuration value",
    description: "Sets a value at one level, or removes it if `value` is null.",
    answers: { 200: "The value that applies now, or null if there is none." },
    example: { level: "saas", scopeId: null, key: "crm.pageSize", value: 100 },
    route: "PUT /api/v1/config",
    body: strictPayload(SetConfiguration),
    output: record(Schema.NullOr(ResolvedValue)),
    permit: "settings:update",
    audit: auditAction("config.update"),
    use: (configuration, { context, body }) => configuration.set(context, body)
  })
] as const
