/** The table of operations, by surface, in the order of the documents. Specification: Surfaces A, B and C. */
import type { Contract } from "../operation/Contract.js"
import { executeContract, flowContract, proxyContracts, runContract } from "./Execution.js"
import { approvalsOperations } from "./run/Approvals.js"
import { apiKeysOperations } from "./ApiKeys.js"
import { auditOperations } from "./Audit.js"
import { authProvidersOperations } from "./AuthProviders.js"
import { actionsOperations } from "./connector/Actions.js"
import { authMethodsOperations } from "./connector/AuthMethods.js"
import { webhookConfigsOperations } from "./connector/WebhookConfigs.js"
import { callbackSecretOperations } from "./CallbackSecret.js"
import { clusterOperations } from "./Cluster.js"
import { configOperations } from "./Config.js"
import { connectionsOperations } from "./Connections.js"
import { connectorsOperations } from "./Connectors.js"
import { actionTestsOperations, webhookTestsOperations } from "./connector/ActionTests.js"
import { credentialsOperations } from "./Credentials.js"
import { customersOperations } from "./Customers.js"
import { deadLettersOperations, tenantDeadLetterOperations } from "./DeadLetters.js"
import { environmentsOperations, tenantEnvironmentOperations } from "./release/Environments.js"
import { eventsOperations, tenantEventOperations } from "./Events.js"
import { executionsOperations, tenantExecutionOperations } from "./Executions.js"
import { installationsOperations } from "./Installations.js"
import { notificationsOperations } from "./Notifications.js"
import { organisationsOperations, workspacesOperations } from "./Organisations.js"
import { quotaOperations } from "./Quota.js"
import { releasesOperations, tenantReleaseOperations } from "./release/Releases.js"
import { secretsOperations } from "./Secrets.js"
import { triggersOperations } from "./Triggers.js"
import { ownSessionsOperations } from "./access/OwnSessions.js"
import { embedOperations } from "./access/Embed.js"
import { usersOperations, rolesOperations } from "./access/Users.js"
import { webhookEndpointsOperations } from "./WebhookEndpoints.js"
import { widgetsOperations } from "./Widgets.js"
import { stepTestOperations } from "./run/StepTests.js"
import { fieldMapsOperations } from "./unified/FieldMaps.js"
import { modelsOperations } from "./unified/Models.js"
import { unifiedOperations } from "./unified/Records.js"
import { watchOperations } from "./run/Watch.js"
import { tenantWorkflowOperations, workflowsOperations } from "./Workflows.js"

/** Surface A: starting runs, and the proxy. Routes of their own serve both. */
export const surfaceAStart = [executeContract, ...proxyContracts]

/** Surface A: the unified API. */
export const surfaceA = [...unifiedOperations]

/** Surface B, for low-code tools; its tenants are the organisation's customers. */
export const surfaceB = [
  ...tenantWorkflowOperations,
  ...tenantExecutionOperations,
  ...tenantEnvironmentOperations,
  ...tenantReleaseOperations,
  ...credentialsOperations,
  ...tenantEventOperations,
  ...tenantDeadLetterOperations
]

const sharedNames = new Set(
  (
    "connectors.list connectors.discover quota.usage quota.summary quota.daily config.resolve config.set " +
    "notifications.list notifications.create notifications.markRead organisations.list organisations.create"
  ).split(" ")
)

/** The call of a flow by its name, which a route of its own serves. */
export const surfaceBStart = [flowContract]

/** Surface C, management of all resources, without the start of runs. */
export const surfaceC = [
  ...organisationsOperations,
  ...workspacesOperations,
  ...customersOperations,
  ...workflowsOperations,
  ...stepTestOperations,
  ...environmentsOperations,
  ...releasesOperations,
  ...triggersOperations,
  ...executionsOperations,
  ...approvalsOperations,
  ...eventsOperations,
  ...deadLettersOperations,
  ...apiKeysOperations,
  ...ownSessionsOperations,
  ...usersOperations,
  ...rolesOperations,
  ...secretsOperations,
  ...callbackSecretOperations,
  ...configOperations,
  ...connectorsOperations,
  ...actionTestsOperations,
  ...webhookTestsOperations,
  ...modelsOperations,
  ...fieldMapsOperations,
  ...authProvidersOperations,
  ...actionsOperations,
  ...authMethodsOperations,
  ...webhookConfigsOperations,
  ...connectionsOperations,
  ...installationsOperations,
  ...embedOperations,
  ...widgetsOperations,
  ...webhookEndpointsOperations,
  ...notificationsOperations,
  ...quotaOperations,
  ...clusterOperations,
  ...watchOperations,
  ...auditOperations
]

/** The operation of surface C with this name. Throws if there is none, which is a bug. */
export const operationOf = (name: string): Contract => {
  const found = surfaceC.find((one) => `${one.group}.${one.name}` === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  return found
}

/** The start of runs on surface C, which a route of its own serves. */
export const surfaceCStart = [runContract]

/** What surface B offers at the paths of surface C: a request with the headers of B is answered in B's form. */
export const sharedOperations = surfaceC.filter(({ group, name }) => sharedNames.has(`${group}.${name}`))

/** What each group of operations is about, by its name; a test fails if one is missing. */
export const groupDescriptions: { readonly [group: string]: string } = {
  execution: "Starting runs of workflows.",
  run: "Starting runs of workflows, from surface C.",
  flow: "Flows, called by their names.",
  unified: "Records in one form, of whichever provider a customer has connected.",
  fieldMaps: "Overrides of the maps between providers' records and common ones.",
  models: "The common models of records, as JSON Schemas.",
  proxy: "A provider's own API, called through a customer's connection.",
  tenantWorkflows: "A tenant's own flows, and those of the organisation, which are read.",
  tenantExecutions: "Runs for a tenant.",
  credentials: "A tenant's stored credentials; each belongs to one connection.",
  tenantEnvironments: "Where versions are deployed for a tenant.",
  tenantReleases: "Versions of several workflows that are deployed together for a tenant.",
  tenantEvents: "What arrived from outside for a tenant, and what became of it.",
  tenantDeadLetters: "A tenant's events, runs and deliveries that were given up.",
  organisations: "The owner of everything else: its settings, plan and status.",
  workspaces: "Parts of an organisation. Keys, workflows and state belong to one.",
  customers: "The organisation's own customers, for whom runs act.",
  workflows: "Code with a name: a draft, and versions that publishing freezes.",
  drafts: "Earlier states of a workflow's draft, and tests of its steps.",
  environments: "Where versions are deployed: `test`, `live` and others, of the organisation or of a customer.",
  releases: "Versions of several workflows that are deployed together, promoted and rolled back.",
  triggers: "What starts workflows: webhooks, schedules, and events of connectors and of the service.",
  events: "What arrived from outside, and what became of it.",
  deadLetters: "Events, runs and deliveries that were given up, with their payloads.",
  executions: "Runs of workflows with their input, steps and output.",
  apiKeys: "Credentials for programs: permissions, customers, addresses and expiry.",
  me: "Who is calling, and what it may do.",
  sessions: "Browsers in which the person who calls is signed in.",
  users: "People of the organisation.",
  roles: "Sets of permissions for people.",
  secrets: "Values that workflows read by name; no record shows them.",
  callbackSecret: "The secret with which callbacks are signed.",
  config: "Values in five levels, from the platform to a customer.",
  connectors: "Systems described as data: authentication, actions, events and entities.",
  authProviders: "OAuth clients of the organisation, for connectors that need one.",
  actions: "Actions of connectors, each with versions of its own; changes are made to the draft.",
  authMethods: "The ways in which customers sign in to a connector; changes are made to the draft.",
  webhookConfigs: "How a connector's events arrive; changes are made to the draft.",
  actionTests: "Calls of a draft's actions at their provider, or of their mocks.",
  webhookTests: "Calls with which a draft's webhooks subscribe, renew and unsubscribe.",
  connections: "Customers' accounts at connectors. Records never hold the credential.",
  installations: "Integrations that are installed for customers.",
  embed: "Sessions of customers' people in pages of the organisation's product, and their tokens.",
  widgets: "What a panel in a company's own pages offers its customers, in which look.",
  webhookEndpoints: "Endpoints that receive the organisation's events, signed with secrets of their own.",
  approvals: "Questions of runs to people, and their decisions.",
  notifications: "Messages for the people of the organisation.",
  quota: "What the organisation and its customers use of their limits.",
  cluster: "The nodes of the service, and who holds which part of the work.",
  watch: "Streams that tell which records change, while they change.",
  audit: "The record of all changes, reads and refusals, as a chain of hashes."
}
