/** The published documents by name and path. They are built on demand, from all that they describe. */

export type DocumentName = "a" | "b" | "c" | "embed" | "all" | "connector" | "flow"

/** The path at which each document is served. */
export const documentPaths: { readonly [path: string]: DocumentName } = {
  "/api/v1/openapi/a.json": "a",
  "/api/v1/openapi/b.json": "b",
  "/api/v1/openapi/c.json": "c",
  "/api/v1/openapi/embed.json": "embed",
  "/api/v1/openapi.json": "all",
  "/api/v1/connector.schema.json": "connector",
  "/api/v1/flow.schema.json": "flow"
}
