/** Builds actions of Shopify's main resources, whose records are under their own name at `/NAMEs/ID.json`. */
import type { JsonObject } from "../../Json.js"
import { type ActionManifest, args, id } from "../SchemaShorthands.js"

interface Resource {
  /** The name in an action's name: `Order`. */
  readonly name: string
  /** The name in a title, with its article. */
  readonly called: string
  readonly schema: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]
}

const memberOf = ({ name }: Resource) => name.toLowerCase()

/** The response of actions that answer with the record. */
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
