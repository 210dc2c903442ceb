/** Table descriptions of the management records. */
import { ApiKey } from "../../../domain/access/ApiKey.js"
import { StoredValue } from "../../../domain/organisation/Configuration.js"
import { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../../domain/connector/ConnectorRecord.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { Environment } from "../../../domain/organisation/Environment.js"
import { Organisation, Workspace } from "../../../domain/organisation/Organisation.js"
import { Role, User } from "../../../domain/access/Person.js"
import { Secret, SecretVersion } from "../../../domain/access/Secret.js"
import type { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import type { Trigger, TriggerState } from "../../../domain/trigger/Trigger.js"
import { Deployment, Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { type Table, tableOf } from "./Table.js"

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

export const triggers: Table<Trigger> = {
  name: "triggers",
  members: [
    "id",
    "organisationId",
    "spaceId",
    "customerId",
    "type",
    "name",
    "description",
    "status",
    "routes",
    "workflowIds",
    "environments",
    "patterns",
    "delivery",
    "autoReplay",
    "webhook",
    "schedule",
    "appEvent",
    "event",
    "autoDisabledAt",
    "createdBy",
    "createdAt",
    "updatedAt",
    "deletedAt",
    "version"
  ],
  json: ["routes", "delivery", "autoReplay", "webhook", "schedule", "appEvent", "event"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

export const triggerStates: Table<TriggerState> = {
  name: "trigger_states",
  members: ["triggerId", "organisationId", "nextFireAt", "lastFiredAt", "consecutiveFailures"],
  key: ["triggerId"],
  createdMember: "triggerId",
  isVersioned: false
}

/** Without the columns that the request role may not select. */
export const subscriptions: Table<SubscriptionStatus> = {
  name: "subscriptions",
  members: ["triggerId", "connectionId", "organisationId", "state", "attempts", "nextAt"],
  key: ["triggerId", "connectionId"],
  createdMember: "connectionId",
  isVersioned: false
}
