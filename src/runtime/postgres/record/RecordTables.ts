/** Table descriptions of the management records. */
import { ApiKey } from "../../../domain/access/ApiKey.js"
import { StoredValue } from "../../../domain/organisation/Configuration.js"
import { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../../domain/connector/ConnectorRecord.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { Environment } from "../../../domain/organisation/Environment.js"
import { Organisation, Workspace } from "../../../domain/organisation/Organisation.js"
import { Role, User } from "../../../domain/access/Person.js"
import { Secret, SecretVersion } from "../../../domain/access/Secret.js"
import { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import { Trigger, TriggerState } from "../../../domain/trigger/Trigger.js"
import { Deployment, Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { DeliveryAttempt, StoredDelivery, WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import { Notification } from "../../../domain/organisation/Notification.js"
import { tableOf } from "./Table.js"

export const organisations = tableOf("organisations", Organisation.stored, { json: ["settings"] })

export const workspaces = tableOf("workspaces", Workspace.stored, { isVersioned: false })

export const customers = tableOf("customers", Customer.stored, { json: ["metadata", "limits"] })

export const environments = tableOf("environments", Environment)

export const apiKeys = tableOf("api_keys", ApiKey.stored, { json: ["permissions", "resourceScope"] })

export const roles = tableOf("roles", Role.stored, { json: ["permissions"] })

export const users = tableOf("users", User.stored, { json: ["customerIds", "teams"] })

export const secrets = tableOf("secrets", Secret.stored)

export const secretVersions = tableOf("secret_versions", SecretVersion, {
  key: ["secretId", "number"],
  createdMember: "number"
})

export const workflows = tableOf("workflows", Workflow.stored, {
  json: ["retry", "spec", "inputContract", "outputContract", "bindings", "diagram", "warnings"]
})

export const workflowVersions = tableOf("workflow_versions", WorkflowVersion.stored, {
  json: ["spec", "inputContract", "outputContract", "bindings", "diagram"],
  key: ["workflowId", "number"],
  createdMember: "publishedAt"
})

export const deployments = tableOf("deployments", Deployment, {
  key: ["workflowId", "environment"],
  createdMember: "deployedAt"
})

export const configuration = tableOf("settings", StoredValue, {
  json: ["value"],
  key: ["level", "scopeId", "key", "environment"],
  createdMember: "updatedAt"
})

export const connectors = tableOf("connectors", ConnectorRecord, { json: ["summary"] })

export const connectorVersions = tableOf("connector_versions", ConnectorVersion, {
  json: ["definition", "actions"],
  key: ["connectorId", "number"],
  createdMember: "number"
})

export const authProviders = tableOf("auth_providers", AuthProvider.stored)

export const triggers = tableOf("triggers", Trigger, {
  json: ["routes", "delivery", "autoReplay", "webhook", "schedule", "appEvent", "event"]
})

export const triggerStates = tableOf("trigger_states", TriggerState, { key: ["triggerId"], createdMember: "triggerId" })

/** Without the columns that the request role may not select. */
export const subscriptions = tableOf("subscriptions", SubscriptionStatus, {
  key: ["triggerId", "connectionId"],
  createdMember: "connectionId"
})

export const webhookEndpoints = tableOf("webhook_endpoints", WebhookEndpoint.stored)

export const deliveries = tableOf("deliveries", StoredDelivery)

export const notifications = tableOf("notifications", Notification.stored, { json: ["source"] })

export const deliveryAttempts = tableOf("delivery_attempts", DeliveryAttempt.stored)
