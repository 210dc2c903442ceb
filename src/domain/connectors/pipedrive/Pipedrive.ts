/** Pipedrive, API v2, and v1 where v2 lacks a resource. https://developers.pipedrive.com/docs/api/v1 */
import { defineBuiltIn } from "../../connector/Definition.js"
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  type EventManifest,
  flag,
  id,
  integer,
  list,
  nullable,
  record,
  text
} from "../SchemaShorthands.js"
import { pipedriveEntities } from "./Entities.js"
import {
  definePipedriveFields,
  definePipedriveGet,
  definePipedriveList,
  definePipedriveResource,
  definePipedriveUpdate,
  ofData,
  type PipedriveResource,
  pipedriveResponse
} from "./Requests.js"
import { activity, deal, note, organization, person, pipedriveLead, pipeline, stage } from "./Resources.js"

const user = record(
  { id: integer, name: text, email: text, active_flag: flag, modified: nullable("string") },
  "id",
  "name"
)
const grace: JsonObject = {
  id: 1,
  name: "Grace Hopper",
  email: "grace@acme.example",
  active_flag: true,
  created: "2026-01-01 09:00:00",
  modified: "2026-01-02 09:00:00",
  is_deleted: false
}

/** A list that Pipedrive answers at once. */
const wholeList = { type: "link", items: "$.data", next: "$.additional_data.next" } as const

const actions: ReadonlyArray<ActionManifest> = [
  {
    name: "getCurrentUser",
    title: "Get the user who connected the account, with the company",
    request: { method: "GET", path: "/v1/users/me" },
    response: ofData,
    inputSchema: args(),
    outputSchema: record({ id: integer, name: text, company_name: text, company_domain: text }, "id", "company_name"),
    mocks: [{ name: "one", output: { ...grace, company_name: "Acme", company_domain: "acme" } }]
  },
  {
    name: "listUsers",
    title: "List users",
    request: { method: "GET", path: "/v1/users" },
    response: pipedriveResponse,
    pagination: wholeList,
    inputSchema: args(),
    outputSchema: record({ data: list(user) }, "data"),
    mocks: [{ name: "one", output: { success: true, data: [grace] } }]
  },
  {
    name: "getUser",
    title: "Get a user",
    request: { method: "GET", path: "/v1/users/{{args.id}}" },
    response: ofData,
    inputSchema: args({ id }, "id"),
    outputSchema: user,
    mocks: [{ name: "one", output: grace }]
  },
  {
    name: "listActivityTypes",
    title: "List the types of activities",
    request: { method: "GET", path: "/v1/activityTypes" },
    response: pipedriveResponse,
    pagination: wholeList,
    inputSchema: args(),
    outputSchema: record(
      { data: list(record({ id: integer, name: text, key_string: text, active_flag: flag }, "id", "key_string")) },
      "data"
    ),
    mocks: [
      {
        name: "one",
        output: {
          success: true,
          data: [{ id: 1, name: "Call", key_string: "call", active_flag: true, is_custom_flag: false }]
        }
      }
    ]
  },
  ...[person, organization, deal, activity, pipedriveLead].flatMap(definePipedriveResource),
  ...definePipedriveResource(note).filter(({ name }) => name !== "updateNote"),
  definePipedriveUpdate(note, "PUT"),
  definePipedriveList(stage),
  definePipedriveGet(stage),
  definePipedriveList(pipeline),
  definePipedriveGet(pipeline),
  definePipedriveFields("Person", "/api/v2/personFields"),
  definePipedriveFields("Organization", "/api/v2/organizationFields"),
  definePipedriveFields("Deal", "/api/v2/dealFields")
]

/** Webhooks are signed by a user name and a password, which no header holds alone: events are found by asking. */
const changed = (entity: string, title: string, { plural, schema }: PipedriveResource): EventManifest => ({
  id: `${entity}.changed`,
  title: `${title} created or changed (by asking)`,
  delivery: "poll",
  entity,
  payloadSchema: schema,
  poll: { action: `list${plural}`, args: { limit: 500 }, key: "$.id", changedAt: "$.update_time" }
})

export const pipedrive = defineBuiltIn({
  svcConnector: 1,
  slug: "pipedrive",
  name: "Pipedrive",
  description: "Persons, organisations, deals, leads, activities and notes of a Pipedrive company.",
  kind: "crm",
  version: "1.0.0",
  domain: "pipedrive.com",
  baseUrl: "{{connection.config.apiDomain ?? 'https://api.pipedrive.com'}}",
  connectionConfig: {
    type: "object",
    properties: {
      apiDomain: {
        type: "string",
        title: "Address of the company",
        description: "Such as https://acme.pipedrive.com; Pipedrive tells it when the account is connected by its app",
        pattern: "^https?://[A-Za-z0-9.:-]+$"
      }
    }
  },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Pipedrive app",
      default: true,
      pkce: false,
      authorizationUrl: "https://oauth.pipedrive.com/oauth/authorize",
      tokenUrl: "https://oauth.pipedrive.com/oauth/token",
      revocationUrl: "https://oauth.pipedrive.com/oauth/revoke",
      scopes: ["base", "contacts:full", "deals:full", "leads:full", "activities:full", "users:read"],
      clientAuth: "basic",
      // An access token expires after an hour, a refresh token 60 days after its last use.
      refresh: { rotates: false },
      tokenConfig: { apiDomain: "$.api_domain" }
    },
    {
      id: "token",
      type: "api_key",
      title: "API token",
      fields: [{ name: "apiToken", title: "Personal API token", secret: true }],
      inject: [{ in: "header", name: "x-api-token", value: "{{credential.apiToken}}" }]
    }
  ],
  test: { action: "getCurrentUser", accountLabel: "$.company_name" },
  // The smallest plan's burst of two seconds; every company has a budget of tokens for a day besides.
  rateLimit: {
    scope: "connection",
    requests: 20,
    perSeconds: 2,
    headers: {
      limit: "x-ratelimit-limit",
      remaining: "x-ratelimit-remaining",
      reset: "x-ratelimit-reset",
      resetFormat: "seconds"
    }
  },
  actions,
  events: [
    changed("person", "Person", person),
    changed("organization", "Organisation", organization),
    changed("deal", "Deal", deal)
  ],
  entities: pipedriveEntities
})
