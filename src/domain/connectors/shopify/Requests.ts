/** What Shopify's main resources have in common: one record under its own name, at `/NAMEs/ID.json`. */
import type { JsonObject } from "../../Json.js"
import { type ActionManifest, args, id } from "../SchemaShorthands.js"

interface Resource {
  /** In capitals as an action names it, e.g. `Order`. */
  readonly name: string
  /** With its article. */
  readonly called: string
  readonly schema: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]
}

const memberOf = ({ name }: Resource) => name.toLowerCase()

/** All three answer with the record. */
const answered = (of: Resource) => ({
  response: { map: `$.${memberOf(of)}` },
  outputSchema: of.schema,
  mocks: [of.mock]
})

export const getting = (of: Resource): ActionManifest => ({
  name: `get${of.name}`,
  title: `Get ${of.called}`,
  request: { method: "GET", path: `/${memberOf(of)}s/{{args.id}}.json` },
  inputSchema: args({ id }, "id"),
  ...answered(of)
})

export const creating = (of: Resource, inputSchema: JsonObject): ActionManifest => ({
  name: `create${of.name}`,
  title: `Create ${of.called}`,
  request: { method: "POST", path: `/${memberOf(of)}s.json`, body: { [memberOf(of)]: "{{args}}" } },
  inputSchema,
  ...answered(of)
})

export const updating = (of: Resource, writable: JsonObject): ActionManifest => ({
  name: `update${of.name}`,
  title: `Update ${of.called}`,
  request: { method: "PUT", path: `/${memberOf(of)}s/{{args.id}}.json`, body: { [memberOf(of)]: "{{args}}" } },
  inputSchema: args({ id, ...writable }, "id"),
  ...answered(of)
})
