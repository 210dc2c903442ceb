/** HubSpot, CRM API 2026-03. https://developers.hubspot.com/docs/api-reference/2026-03 */
import { defineBuiltIn } from "../../connector/Definition.js"
import {
  type ActionManifest,
  args,
  type EventManifest,
  flag,
  fromArgs,
  id,
  integer,
  list,
  oneOf,
  record,
  text,
  time,
  upTo
} from "../SchemaShorthands.js"
import { engagementEntities, noteEntity, taskEntity } from "./Activities.js"
import { hubspotCompany, hubspotContact, hubspotDeal, hubspotObjects } from "./Objects.js"
import { companyEntity, contactEntity, dealEntity, leadEntity, ownerEntity, stageEntity } from "./Records.js"
import { defineHubspotObject, type HubspotObject, hubspotRecord, hubspotResponse, hubspotVersion } from "./Requests.js"

const scopes = ["contacts", "companies", "deals"].flatMap((name) => [
  `crm.objects.${name}.read`,
  `crm.objects.${name}.write`,
  `crm.schemas.${name}.read`
])

const owner = record(
  {
    id: text,
    email: text,
    firstName: text,
    lastName: text,
    userId: integer,
    createdAt: time,
    updatedAt: time,
    archived: flag
  },
  "id"
)
const grace = {
  id: "61",
  email: "grace@acme.example",
  firstName: "Grace",
  lastName: "Hopper",
  userId: 9,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-02T00:00:00.000Z",
  archived: false
}

const stage = record(
  { id: text, label: text, displayOrder: integer, metadata: record({ probability: text, isClosed: text }) },
  "id",
  "label"
)

const accountActions: ReadonlyArray<ActionManifest> = [
  {
    name: "getAccount",
    title: "Get the account",
    request: { method: "GET", path: `/account-info/${hubspotVersion}/details` },
    response: hubspotResponse,
    inputSchema: args(),
    outputSchema: record({ portalId: integer, accountType: text, timeZone: text, companyCurrency: text }, "portalId"),
    mocks: [
      {
        name: "one",
        output: { portalId: 4711, accountType: "STANDARD", timeZone: "Europe/Berlin", companyCurrency: "EUR" }
      }
    ]
  },
  {
    name: "listOwners",
    title: "List owners, who are users or were",
    request: {
      method: "GET",
      path: `/crm/owners/${hubspotVersion}`,
      query: { limit: "{{args.limit ?? 500}}", ...fromArgs("after", "email", "archived") }
    },
    response: hubspotResponse,
    pagination: { type: "cursor", items: "$.results", next: "$.paging.next.after", param: "after" },
    inputSchema: args({ limit: upTo(500), after: text, email: text, archived: flag }),
    outputSchema: record({ results: list(owner) }, "results"),
    mocks: [{ name: "one", output: { results: [grace] } }]
  },
  {
    name: "getOwner",
    title: "Get an owner",
    request: {
      method: "GET",
      path: `/crm/owners/${hubspotVersion}/{{args.ownerId}}`,
      query: fromArgs("idProperty", "archived")
    },
    response: hubspotResponse,
    inputSchema: args({ ownerId: id, idProperty: oneOf("id", "userId"), archived: flag }, "ownerId"),
    outputSchema: owner,
    mocks: [{ name: "one", output: grace }]
  },
  {
    name: "listDealPipelines",
    title: "List the pipelines of deals, with their stages",
    request: { method: "GET", path: `/crm/pipelines/${hubspotVersion}/deals` },
    response: hubspotResponse,
    // HubSpot answers all at once, without a link to a next page.
    pagination: { type: "link", items: "$.results[*].stages" },
    inputSchema: args(),
    outputSchema: record(
      { results: list(record({ id: text, label: text, displayOrder: integer, stages: list(stage) }, "id", "stages")) },
      "results"
    ),
    mocks: [
      {
        name: "one",
        output: {
          results: [
            {
              id: "default",
              label: "Sales",
              displayOrder: 0,
              stages: [{ id: "qualifiedtobuy", label: "Qualified", displayOrder: 0, metadata: { probability: "0.4" } }]
            }
          ]
        }
      }
    ]
  },
  {
    name: "listProperties",
    title: "List the properties of an object",
    request: {
      method: "GET",
      path: `/crm/properties/${hubspotVersion}/{{args.objectType}}`,
      query: fromArgs("archived")
    },
    response: hubspotResponse,
    inputSchema: args({ objectType: text, archived: flag }, "objectType"),
    outputSchema: record({ results: list(record({ name: text, label: text, type: text }, "name", "type")) }, "results"),
    mocks: [
      {
        name: "one",
        output: { results: [{ name: "firstname", label: "First name", type: "string", hubspotDefined: true }] }
      }
    ]
  }
]

/** Webhooks are settings of the app, whose signature covers more than the body: events are found by asking. */
const changed = (entity: string, title: string, object: HubspotObject): EventManifest => ({
  id: `${entity}.changed`,
  title: `${title} created or changed (by asking)`,
  delivery: "poll",
  entity,
  payloadSchema: hubspotRecord,
  poll: { action: `list${object.plural}`, key: "$.id", changedAt: "$.updatedAt" }
})

export const hubspot = defineBuiltIn({
  svcConnector: 1,
  slug: "hubspot",
  name: "HubSpot",
  description: "Contacts, companies, deals, leads, engagements, notes and tasks of a HubSpot account.",
  kind: "crm",
  version: "1.0.0",
  domain: "hubspot.com",
  baseUrl: "https://api.hubapi.com",
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "HubSpot app",
      default: true,
      authorizationUrl: "https://app.hubspot.com/oauth/authorize",
      tokenUrl: `https://api.hubapi.com/oauth/${hubspotVersion}/token`,
      scopes: ["oauth", ...scopes, "crm.objects.owners.read"],
      // Accounts without Sales Hub have no leads; an account that lacks a scope of the list above cannot be connected.
      authorizationParams: { optional_scope: "crm.objects.leads.read crm.objects.leads.write sales-email-read" },
      clientAuth: "body",
      // An access token expires after 30 minutes; the refresh token stays the same.
      refresh: { rotates: false }
    },
    {
      id: "token",
      type: "api_key",
      title: "Private app",
      fields: [{ name: "accessToken", title: "Access token of the private app", secret: true }],
      inject: [{ in: "header", name: "Authorization", value: "Bearer {{credential.accessToken}}" }]
    }
  ],
  test: { action: "getAccount", accountLabel: "$.portalId" },
  // The smallest limit, of private apps of free and Starter accounts; searches have one of their own, five a second.
  rateLimit: {
    scope: "connection",
    requests: 100,
    perSeconds: 10,
    headers: { limit: "x-hubspot-ratelimit-max", remaining: "x-hubspot-ratelimit-remaining" }
  },
  // 423: the record is being changed; 477: the account is being moved, with Retry-After.
  retry: { on: [423, 429, 477, 502, 503, 504, 521, 522, 523, 524, "network"] },
  actions: [...accountActions, ...hubspotObjects.flatMap(defineHubspotObject)],
  events: [
    changed("company", "Company", hubspotCompany),
    changed("contact", "Contact", hubspotContact),
    changed("deal", "Deal", hubspotDeal)
  ],
  entities: [
    companyEntity,
    contactEntity,
    dealEntity,
    leadEntity,
    ...engagementEntities,
    noteEntity,
    taskEntity,
    stageEntity,
    ownerEntity
  ]
})
