/** Builds actions of Shopify's main resources, whose records are under their own name at `/NAMEs/ID.json`. */
import type { JsonObject } from "../../Json.js"
import { type ActionManifest, args, id } from "../SchemaShorthands.js"

interface Resource {
  /** The name in an action's name: `Order`. */
  readonly name: string
  /** The name in a title, with its article. */
  readonly nameWithArticle: string
  readonly schema: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]
}

const memberOf = ({ name }: Resource) => name.toLowerCase()

/** The response of actions that answer with the record. */
const answerShape = (resource: Resource) => ({
  response: { map: `$.${memberOf(resource)}` },
  outputSchema: resource.schema,
  mocks: [resource.mock]
})

export const defineShopifyGet = (resource: Resource): ActionManifest => ({
  name: `get${resource.name}`,
  title: `Get ${resource.nameWithArticle}`,
  request: { method: "GET", path: `/${memberOf(resource)}s/{{args.id}}.json` },
  inputSchema: args({ id }, "id"),
  ...answerShape(resource)
})

export const defineShopifyDelete = (resource: Resource): ActionManifest => ({
  name: `delete${resource.name}`,
  title: `Delete ${resource.nameWithArticle}`,
  request: { method: "DELETE", path: `/${memberOf(resource)}s/{{args.id}}.json` },
  inputSchema: args({ id }, "id"),
  mocks: [{ name: "deleted", output: {} }]
})

/** The arguments of lists, which Shopify filters by both times. */
export const shopifyListArgs = {
  limit: "{{query.pageSize}}",
  created_at_min: "{{query.createdAfter.iso}}",
  updated_at_min: "{{query.modifiedAfter.iso}}"
}

export const defineShopifyCreate = (resource: Resource, inputSchema: JsonObject): ActionManifest => ({
  name: `create${resource.name}`,
  title: `Create ${resource.nameWithArticle}`,
  request: { method: "POST", path: `/${memberOf(resource)}s.json`, body: { [memberOf(resource)]: "{{args}}" } },
  inputSchema,
  ...answerShape(resource)
})

export const defineShopifyUpdate = (resource: Resource, writable: JsonObject): ActionManifest => ({
  name: `update${resource.name}`,
  title: `Update ${resource.nameWithArticle}`,
  request: {
    method: "PUT",
    path: `/${memberOf(resource)}s/{{args.id}}.json`,
    body: { [memberOf(resource)]: "{{args}}" }
  },
  inputSchema: args({ id, ...writable }, "id"),
  ...answerShape(resource)
})
