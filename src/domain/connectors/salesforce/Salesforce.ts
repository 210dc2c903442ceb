/** Salesforce, REST API 65.0. https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest */
import { defineBuiltIn } from "../../connector/Definition.js"
import { type ActionManifest, args, type EventManifest, flag, list, record, text, time } from "../SchemaShorthands.js"
import { activityActions, activityEntities } from "./Activities.js"
import {
  salesforceAccount,
  salesforceContact,
  salesforceEvent,
  salesforceLead,
  salesforceNote,
  salesforceOpportunity,
  salesforceTask,
  salesforceUser
} from "./Objects.js"
import { recordEntities } from "./Records.js"
import {
  defineQuery,
  defineSalesforceCreate,
  defineSalesforceDelete,
  defineSalesforceGet,
  defineSalesforceList,
  defineSalesforceObject,
  pageOf,
  type SalesforceObject,
  salesforceRecord,
  salesforceResponse
} from "./Requests.js"

const stage = {
  attributes: { type: "OpportunityStage", url: "/services/data/v65.0/sobjects/OpportunityStage/01JD000000CkBPdMAN" },
  Id: "01JD000000CkBPdMAN",
  ApiName: "Prospecting",
  MasterLabel: "Prospecting",
  SortOrder: 1,
  DefaultProbability: 10,
  IsActive: true,
  CreatedDate: "2026-01-01T00:00:00.000+0000",
  SystemModstamp: "2026-01-02T00:00:00.000+0000"
}
const stageFields =
  "Id, ApiName, MasterLabel, SortOrder, DefaultProbability, IsActive, IsClosed, IsWon, CreatedDate, SystemModstamp"

const actions: ReadonlyArray<ActionManifest> = [
  {
    name: "getOrganization",
    title: "Get the organisation",
    request: {
      method: "GET",
      path: "/query",
      query: { q: "SELECT Id, Name, OrganizationType, IsSandbox FROM Organization LIMIT 1" }
    },
    response: { ...salesforceResponse, map: "$.records[0]" },
    inputSchema: args(),
    outputSchema: record({ Id: text, Name: text, OrganizationType: text, IsSandbox: flag }, "Id", "Name"),
    mocks: [
      {
        name: "one",
        output: { Id: "00DD0000000K1xyMAC", Name: "Acme", OrganizationType: "Enterprise Edition", IsSandbox: false }
      }
    ]
  },
  defineQuery(
    {
      name: "query",
      title: "Query records in SOQL",
      mocks: pageOf({ Id: "003D000000QOMr4IAH", Name: "Ada Byron" })
    },
    "{{args.q}}",
    { q: text },
    "q"
  ),
  {
    name: "describeObject",
    title: "Describe an object with its fields",
    request: { method: "GET", path: "/sobjects/{{args.object}}/describe" },
    response: salesforceResponse,
    inputSchema: args({ object: text }, "object"),
    outputSchema: record(
      { name: text, fields: list(record({ name: text, label: text, type: text }, "name")) },
      "fields"
    ),
    mocks: [
      {
        name: "contact",
        output: { name: "Contact", fields: [{ name: "LastName", label: "Last Name", type: "string", nillable: false }] }
      }
    ]
  },
  ...[
    salesforceAccount,
    salesforceContact,
    salesforceLead,
    salesforceOpportunity,
    salesforceTask,
    salesforceEvent
  ].flatMap(defineSalesforceObject),
  ...activityActions,
  defineSalesforceGet(salesforceNote),
  defineSalesforceCreate(salesforceNote),
  defineSalesforceDelete(salesforceNote),
  defineSalesforceList(salesforceUser),
  defineSalesforceGet(salesforceUser),
  defineQuery(
    { name: "listOpportunityStages", title: "List the stages of opportunities", mocks: pageOf(stage) },
    `SELECT ${stageFields} FROM OpportunityStage WHERE SystemModstamp >= {{args.modifiedAfter ?? "1999-01-01T00:00:00Z"}} AND CreatedDate >= {{args.createdAfter ?? "1999-01-01T00:00:00Z"}} ORDER BY SortOrder`,
    { modifiedAfter: time, createdAfter: time }
  ),
  {
    name: "getOpportunityStage",
    title: "Get a stage of opportunities by its name",
    request: {
      method: "GET",
      path: "/query",
      query: { q: `SELECT ${stageFields} FROM OpportunityStage WHERE ApiName = '{{args.name}}'` },
      queryTexts: ["q"]
    },
    response: { ...salesforceResponse, map: "$.records[0]" },
    inputSchema: args({ name: text }, "name"),
    outputSchema: { type: ["object", "null"] },
    mocks: [{ name: "one", output: stage }]
  }
]

/** Salesforce publishes changes by streams: events are found by asking. */
const changed = (entity: string, title: string, { plural }: SalesforceObject): EventManifest => ({
  id: `${entity}.changed`,
  title: `${title} created or changed (by asking)`,
  delivery: "poll",
  entity,
  payloadSchema: salesforceRecord,
  poll: { action: `list${plural}`, key: "$.Id", changedAt: "$.SystemModstamp" }
})

const login = "https://{{connection.config.loginHost ?? 'login.salesforce.com'}}/services/oauth2"
/** An access token has no lifetime of its own: it ends with its session, two hours after the last use by default. */
const refresh = { rotates: false, expiresInSeconds: 7_200 }
const tokenConfig = { instanceUrl: "$.instance_url" }

export const salesforce = defineBuiltIn({
  svcConnector: 1,
  slug: "salesforce",
  name: "Salesforce",
  description: "Accounts, contacts, leads, opportunities, events, tasks and notes of a Salesforce organisation.",
  kind: "crm",
  version: "1.0.0",
  domain: "salesforce.com",
  baseUrl: "{{connection.config.instanceUrl}}/services/data/v65.0",
  connectionConfig: {
    type: "object",
    properties: {
      instanceUrl: {
        type: "string",
        title: "Instance",
        description: "Such as https://acme.my.salesforce.com; Salesforce tells it when the account is connected",
        pattern: "^https?://[A-Za-z0-9.:-]+$"
      },
      loginHost: {
        type: "string",
        title: "Where users sign in",
        description: "login.salesforce.com, test.salesforce.com for sandboxes, or the organisation's own domain",
        pattern: "^[a-z0-9.-]+\\.salesforce\\.com$"
      }
    }
  },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Salesforce app",
      default: true,
      authorizationUrl: `${login}/authorize`,
      tokenUrl: `${login}/token`,
      revocationUrl: `${login}/revoke`,
      scopes: ["api", "refresh_token"],
      clientAuth: "body",
      refresh,
      tokenConfig
    },
    {
      id: "client_credentials",
      type: "oauth2",
      title: "Client of the organisation",
      description: "Needs the organisation's own domain as loginHost.",
      grant: "client_credentials",
      pkce: false,
      tokenUrl: `${login}/token`,
      clientAuth: "body",
      refresh,
      tokenConfig,
      fields: [
        { name: "clientId", title: "Consumer key" },
        { name: "clientSecret", title: "Consumer secret", secret: true }
      ]
    }
  ],
  test: { action: "getOrganization", accountLabel: "$.Name" },
  // Salesforce counts the calls of a day, and refuses more than 25 that take over 20 seconds.
  rateLimit: { scope: "connection", concurrency: 20 },
  actions,
  events: [
    changed("account", "Account", salesforceAccount),
    changed("contact", "Contact", salesforceContact),
    changed("lead", "Lead", salesforceLead),
    changed("opportunity", "Opportunity", salesforceOpportunity)
  ],
  entities: [...recordEntities, ...activityEntities]
})
