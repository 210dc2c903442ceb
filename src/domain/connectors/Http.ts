/** Any HTTP API: the caller sends path, query, headers and body; the connection has the base URL and the credential. */
import { defineBuiltIn } from "../connector/Definition.js"
import type { JsonObject } from "../Json.js"
import { type ActionManifest, anything, args, withDescription, integer, record, text } from "./SchemaShorthands.js"

const values: JsonObject = { type: ["string", "number", "boolean", "null"] }
const place: JsonObject = {
  path: withDescription("Below the base URL. Dot segments are refused; the query stands in query.", text),
  query: { type: "object", additionalProperties: { anyOf: [values, { type: "array", items: values }] } },
  headers: { type: "object", additionalProperties: values }
}

interface Call {
  readonly name: string
  readonly title: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** The argument of the body, its schema and its encoding. */
  readonly body?: { readonly name: string; readonly schema: JsonObject; readonly type: "json" | "form" | "text" }
}

const call = ({ body, method, name, title }: Call): ActionManifest => ({
  name,
  title,
  request: {
    method,
    path: "/{{args.path ?? '/'}}",
    pathValues: "segments",
    query: "{{args.query}}",
    headers: "{{args.headers}}",
    ...(body === undefined
      ? {}
      : { body: `{{args.${body.name}}}`, bodyType: body.type, formStyle: "repeat", keepNulls: true })
  },
  response: { type: "auto", map: wholeAnswer },
  inputSchema: args({ ...place, ...(body === undefined ? {} : { [body.name]: body.schema }) }),
  outputSchema: record({ status: integer, headers: record(), body: anything }, "status", "headers"),
  mocks: [{ name: "ok", output: { status: 200, headers: { "content-type": "application/json" }, body: { ok: true } } }]
})

const wholeAnswer: JsonObject = { status: "{{status}}", headers: "{{headers}}", body: "{{body}}" }
const json = { name: "body", schema: anything, type: "json" } as const

export const http = defineBuiltIn({
  svcConnector: 1,
  slug: "http",
  name: "HTTP",
  description: "GET, POST, PUT, PATCH and DELETE to any HTTP API.",
  kind: "http",
  version: "1.0.0",
  baseUrl: "{{connection.config.baseUrl}}",
  connectionConfig: {
    type: "object",
    properties: {
      baseUrl: {
        type: "string",
        title: "Base URL",
        description: "Every path stands below it: https://api.example.com/v2",
        pattern: "^https?://"
      },
      keyName: {
        type: "string",
        title: "Name of the key",
        description: "The header or the query parameter that carries the API key",
        pattern: "^[A-Za-z0-9_.-]{1,100}$"
      },
      tokenUrl: { type: "string", title: "Token URL", description: "Where OAuth 2 gives tokens", pattern: "^https://" }
    },
    required: ["baseUrl"]
  },
  auth: [
    { id: "none", type: "none", title: "No credential", default: true },
    {
      id: "bearer",
      type: "api_key",
      title: "Bearer token",
      fields: [{ name: "token", title: "Token", secret: true }],
      inject: [{ in: "header", name: "Authorization", value: "Bearer {{credential.token}}" }]
    },
    {
      id: "header_key",
      type: "api_key",
      title: "API key in a header",
      inject: [{ in: "header", name: "{{connection.config.keyName ?? 'X-API-Key'}}", value: "{{credential.apiKey}}" }]
    },
    {
      id: "query_key",
      type: "api_key",
      title: "API key in the query",
      inject: [{ in: "query", name: "{{connection.config.keyName ?? 'api_key'}}", value: "{{credential.apiKey}}" }]
    },
    { id: "basic", type: "basic", title: "User name and password" },
    {
      id: "client_credentials",
      type: "oauth2",
      title: "OAuth 2 client credentials",
      grant: "client_credentials",
      pkce: false,
      tokenUrl: "{{connection.config.tokenUrl}}",
      clientAuth: "basic",
      refresh: { rotates: false, marginSeconds: 60 },
      fields: [
        { name: "clientId", title: "Client id" },
        { name: "clientSecret", title: "Client secret", secret: true }
      ]
    }
  ],
  // A request without an answer may have been carried out, so only refused requests are retried.
  retry: { on: [429, 503] },
  actions: [
    call({ name: "get", title: "GET", method: "GET" }),
    call({ name: "post", title: "POST JSON", method: "POST", body: json }),
    call({ name: "put", title: "PUT JSON", method: "PUT", body: json }),
    call({ name: "patch", title: "PATCH JSON", method: "PATCH", body: json }),
    call({ name: "delete", title: "DELETE", method: "DELETE" }),
    call({
      name: "postForm",
      title: "POST a form",
      method: "POST",
      body: { name: "form", schema: record(), type: "form" }
    }),
    call({ name: "postText", title: "POST text", method: "POST", body: { name: "text", schema: text, type: "text" } })
  ]
})
