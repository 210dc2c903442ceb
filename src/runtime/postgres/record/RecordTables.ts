/** Table descriptions of the management records. */
import type { ApiKey } from "../../../domain/access/ApiKey.js"
import type { StoredValue } from "../../../domain/organisation/Configuration.js"
import type { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../../domain/connector/ConnectorRecord.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import type { Environment } from "../../../domain/organisation/Environment.js"
import { Organisation, Workspace } from "../../../domain/organisation/Organisation.js"
import { Role, User } from "../../../domain/access/Person.js"
import type { Secret, SecretVersion } from "../../../domain/access/Secret.js"
import type { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import type { Trigger, TriggerState } from "../../../domain/trigger/Trigger.js"
import type { Deployment, Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { type Table, tableOf } from "./Table.js"

export const organisations = tableOf("organisations", Organisation.stored, { json: ["settings"] })

export const workspaces = tableOf("workspaces", Workspace.stored, { isVersioned: false })

export const customers = tableOf("customers", Customer.stored, { json: ["metadata", "limits"] })

export const environments: Table<Environment> = {
  name: "environments",
  members: [
    "id",
    "organisationId",
    "customerId",
    "name",
    "slug",
    "type",
    "protected",
    "requiresReview",
    "autoDeploy",
    "createdAt"
  ],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: false
}

export const apiKeys: Table<ApiKey> = {
  name: "api_keys",
  members: [
    "id",
    "organisationId",
    "spaceId",
    "name",
    "hash",
    "hashBefore",
    "beforeUntil",
    "prefix",
    "last4",
    "mode",
    "preset",
    "permissions",
    "customersMode",
    "customerIds",
    "hmacSecret",
    "resourceScope",
    "allowedIps",
    "rateLimit",
    "expiresAt",
    "revokedAt",
    "lastUsedAt",
    "rotatedAt",
    "createdBy",
    "createdAt",
    "updatedAt",
    "version"
  ],
  json: ["permissions", "resourceScope"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

export const roles = tableOf("roles", Role.stored, { json: ["permissions"] })

export const users = tableOf("users", User.stored, { json: ["customerIds", "teams"] })

export const secrets: Table<Secret> = {
  name: "secrets",
  members: [
    "id",
    "organisationId",
    "spaceId",
    "name",
    "type",
    "customerId",
    "environment",
    "current",
    "createdAt",
    "updatedAt",
    "deletedAt",
    "version"
  ],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

export const secretVersions: Table<SecretVersion> = {
  name: "secret_versions",
  members: ["organisationId", "secretId", "number", "sealed", "retiredAt"],
  key: ["secretId", "number"],
  createdMember: "number",
  isVersioned: false
}

export const workflows: Table<Workflow> = {
  name: "workflows",
  members: [
    "id",
    "organisationId",
    "spaceId",
    "customerId",
    "name",
    "slug",
    "description",
    "form",
    "tier",
    "timeoutMs",
    "retry",
    "enabled",
    "status",
    "source",
    "spec",
    "contentHash",
    "draftUpdatedAt",
    "inputContract",
    "outputContract",
    "bindings",
    "script",
    "diagram",
    "warnings",
    "publishedVersion",
    "callbackUrl",
    "tags",
    "archivedAt",
    "deletedAt",
    "createdBy",
    "createdAt",
    "updatedAt",
    "version"
  ],
  json: ["retry", "spec", "inputContract", "outputContract", "bindings", "diagram", "warnings"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

export const workflowVersions: Table<WorkflowVersion> = {
  name: "workflow_versions",
  members: [
    "organisationId",
    "workflowId",
    "number",
    "form",
    "source",
    "spec",
    "script",
    "contentHash",
    "inputContract",
    "outputContract",
    "bindings",
    "diagram",
    "notes",
    "publishedBy",
    "publishedAt"
  ],
  json: ["spec", "inputContract", "outputContract", "bindings", "diagram"],
  key: ["workflowId", "number"],
  createdMember: "publishedAt",
  isVersioned: false
}

export const deployments: Table<Deployment> = {
  name: "deployments",
  members: ["organisationId", "workflowId", "environment", "number", "deployedAt", "deployedBy"],
  key: ["workflowId", "environment"],
  createdMember: "deployedAt",
  isVersioned: false
}

export const configuration: Table<StoredValue> = {
  name: "settings",
  members: ["level", "scopeId", "key", "environment", "value", "updatedAt", "version"],
  json: ["value"],
  key: ["level", "scopeId", "key", "environment"],
  createdMember: "updatedAt",
  isVersioned: true
}

export const connectors: Table<ConnectorRecord> = {
  name: "connectors",
  members: [
    "id",
    "organisationId",
    "slug",
    "name",
    "description",
    "kind",
    "summary",
    "current",
    "semver",
    "latestVersion",
    "createdBy",
    "createdAt",
    "updatedAt",
    "deletedAt",
    "version"
  ],
  json: ["summary"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

export const connectorVersions: Table<ConnectorVersion> = {
  name: "connector_versions",
  members: [
    "organisationId",
    "connectorId",
    "number",
    "semver",
    "definition",
    "form",
    "actions",
    "contentHash",
    "notes",
    "publishedAt",
    "publishedBy"
  ],
  json: ["definition", "actions"],
  key: ["connectorId", "number"],
  createdMember: "number",
  isVersioned: false
}

export const authProviders: Table<AuthProvider> = {
  name: "auth_providers",
  members: [
    "id",
    "organisationId",
    "connector",
    "name",
    "methodId",
    "clientId",
    "clientSecret",
    "scopes",
    "isDefault",
    "createdAt",
    "updatedAt",
    "version"
  ],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

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
