/** Descriptions of the groups of operations. */
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import type { ExecutionApi, RunApi } from "../execution/Api.js"
import type { ResourceApi } from "../resource/Api.js"
import type { TenantApi } from "../tenant/Api.js"

type GroupName<Api> =
  Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _Error, infer _Context>
    ? HttpApiGroup.HttpApiGroup.Name<Groups>
    : never

type Tag =
  | GroupName<typeof ExecutionApi>
  | GroupName<typeof RunApi>
  | GroupName<typeof ResourceApi>
  | GroupName<typeof TenantApi>

/** By group name; does not compile if one is missing. */
export const tagDescriptions: { readonly [Name in Tag]: string } = {
  execution: "Starting runs of workflows.",
  run: "Starting runs of workflows, from surface C.",
  proxy: "A provider's own API, called through a customer's connection.",
  credentials: "A tenant's stored credentials; each belongs to one connection.",
  tenantEvents: "What arrived from outside for a tenant, and what became of it.",
  tenantDeadLetters: "A tenant's events, runs and deliveries that were given up.",
  organisations: "The owner of everything else: its settings, plan and status.",
  workspaces: "Parts of an organisation. Keys, workflows and state belong to one.",
  customers: "The organisation's own customers, for whom runs act.",
  workflows: "Code with a name: a draft, and versions that publishing freezes.",
  triggers: "What starts workflows: webhooks, schedules, and events of connectors and of the service.",
  events: "What arrived from outside, and what became of it.",
  deadLetters: "Events, runs and deliveries that were given up, with their payloads.",
  executions: "Runs of workflows with their input, steps and output.",
  apiKeys: "Credentials for programs: permissions, customers, addresses and expiry.",
  users: "People of the organisation.",
  roles: "Sets of permissions for people.",
  secrets: "Values that workflows read by name; no record shows them.",
  callbackSecret: "The secret with which callbacks are signed.",
  config: "Values in five levels, from the platform to a customer.",
  connectors: "Systems described as data: authentication, actions, events and entities.",
  authProviders: "OAuth clients of the organisation, for connectors that need one.",
  connections: "Customers' accounts at connectors. Records never hold the credential.",
  installations: "Integrations that are installed for customers.",
  webhookEndpoints: "Endpoints that receive the organisation's events, signed with secrets of their own.",
  notifications: "Messages for the people of the organisation.",
  quota: "What the organisation and its customers use of their limits.",
  audit: "The record of all changes, reads and refusals, as a chain of hashes."
}
