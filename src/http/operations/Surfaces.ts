/** The table of operations, by surface, in the order of the documents. Specification: Surfaces A, B and C. */
import { executeContract, flowContract, proxyContracts, runContract } from "./Execution.js"
import { approvalsOperations } from "./run/Approvals.js"
import { apiKeysOperations } from "./ApiKeys.js"
import { auditOperations } from "./Audit.js"
import { authProvidersOperations } from "./AuthProviders.js"
import { callbackSecretOperations } from "./CallbackSecret.js"
import { clusterOperations } from "./Cluster.js"
import { configOperations } from "./Config.js"
import { connectionsOperations } from "./Connections.js"
import { connectorsOperations } from "./Connectors.js"
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
import { usersOperations, rolesOperations } from "./access/Users.js"
import { webhookEndpointsOperations } from "./WebhookEndpoints.js"
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
  ...modelsOperations,
  ...fieldMapsOperations,
  ...authProvidersOperations,
  ...connectionsOperations,
  ...installationsOperations,
  ...webhookEndpointsOperations,
  ...notificationsOperations,
  ...quotaOperations,
  ...clusterOperations,
  ...watchOperations,
  ...auditOperations
]

/** The start of runs on surface C, which a route of its own serves. */
export const surfaceCStart = [runContract]

/** What surface B offers at the paths of surface C: a request with the headers of B is answered in B's form. */
export const sharedOperations = surfaceC.filter(({ group, name }) => sharedNames.has(`${group}.${name}`))
