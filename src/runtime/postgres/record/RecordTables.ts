/** The tables of the records that management reads and writes. */
import { Approval } from "../../../domain/run/Approval.js"
import { ApiKey } from "../../../domain/access/ApiKey.js"
import { StoredValue } from "../../../domain/organisation/Configuration.js"
import { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../../domain/connector/ConnectorRecord.js"
import { Connection, CredentialRecord } from "../../../domain/connection/Connection.js"
import { ConnectSession } from "../../../domain/connection/ConnectSession.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { FieldMapOverride, FieldMapVersion } from "../../../domain/mapping/FieldMapRecord.js"
import { Environment } from "../../../domain/organisation/Environment.js"
import { Project, Team } from "../../../domain/organisation/Group.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { Organisation, Workspace } from "../../../domain/organisation/Organisation.js"
import { Role, User } from "../../../domain/access/Person.js"
import { Secret, SecretVersion } from "../../../domain/access/Secret.js"
import { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import { Trigger, TriggerState } from "../../../domain/trigger/Trigger.js"
import { EnvironmentRelease, Release } from "../../../domain/workflow/Release.js"
import { DraftContent, WorkflowDraft } from "../../../domain/workflow/Draft.js"
import { Deployment, Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { DeliveryAttempt, StoredDelivery, WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import { Notification, PersonNotification } from "../../../domain/organisation/Notification.js"
import type { RecordTypes } from "../../../actors/ports/Records.js"
import { MapPublication } from "../../../domain/mapping/MapPublication.js"
import { type Table, tableOf } from "./Table.js"

export const tables: { readonly [Name in keyof RecordTypes]: Table<RecordTypes[Name]> } = {
  organisations: tableOf("organisations", Organisation.stored, { json: ["settings"] }),
  workspaces: tableOf("workspaces", Workspace.stored, { isVersioned: false }),
  customers: tableOf("customers", Customer.stored, { json: ["metadata", "limits"] }),
  fieldMaps: tableOf("field_maps", FieldMapOverride.stored, { json: ["fields", "dropped", "fieldsOut"] }),
  fieldMapVersions: tableOf("field_map_versions", FieldMapVersion, {
    json: ["fields", "dropped", "fieldsOut"],
    key: ["fieldMapId", "number"],
    createdMember: "publishedAt"
  }),
  mapPublications: tableOf("map_publications", MapPublication, {
    key: ["organisationId", "revision"],
    createdMember: "revision"
  }),
  environments: tableOf("environments", Environment.stored),
  apiKeys: tableOf("api_keys", ApiKey.stored, { json: ["permissions", "resourceScope"] }),
  roles: tableOf("roles", Role.stored, { json: ["permissions"] }),
  users: tableOf("users", User.stored, { json: ["customerIds"] }),
  teams: tableOf("teams", Team.stored),
  projects: tableOf("projects", Project.stored),
  secrets: tableOf("secrets", Secret.stored),
  secretVersions: tableOf("secret_versions", SecretVersion, {
    key: ["secretId", "number"],
    createdMember: "number"
  }),
  workflows: tableOf("workflows", Workflow.stored, {
    json: ["retry", "spec", "inputContract", "outputContract", "bindings", "diagram", "warnings", "problems"]
  }),
  workflowVersions: tableOf("workflow_versions", WorkflowVersion.stored, {
    json: ["spec", "inputContract", "outputContract", "bindings", "diagram"],
    key: ["workflowId", "number"],
    createdMember: "publishedAt"
  }),
  drafts: tableOf("workflow_drafts", WorkflowDraft.stored, { key: ["workflowId", "number"], createdMember: "number" }),
  draftContents: tableOf("workflow_drafts", DraftContent, {
    json: ["spec", "inputContract", "outputContract"],
    key: ["workflowId", "number"],
    createdMember: "number"
  }),
  deployments: tableOf("deployments", Deployment, {
    key: ["workflowId", "environment", "customerId"],
    createdMember: "deployedAt"
  }),
  releases: tableOf("releases", Release.stored, { json: ["pins"] }),
  environmentReleases: tableOf("environment_releases", EnvironmentRelease, {
    json: ["pinsBefore"],
    key: ["spaceId", "customerId", "environment"],
    createdMember: "deployedAt"
  }),
  configuration: tableOf("settings", StoredValue, {
    json: ["value"],
    key: ["level", "scopeId", "key", "environment"],
    createdMember: "updatedAt"
  }),
  connectors: tableOf("connectors", ConnectorRecord, { json: ["summary"] }),
  connectorVersions: tableOf("connector_versions", ConnectorVersion, {
    json: ["definition", "actions"],
    key: ["connectorId", "number"],
    createdMember: "number"
  }),
  authProviders: tableOf("auth_providers", AuthProvider.stored),
  triggers: tableOf("triggers", Trigger.stored, {
    json: ["routes", "delivery", "autoReplay", "webhook", "schedule", "appEvent", "event"]
  }),
  triggerStates: tableOf("trigger_states", TriggerState, { key: ["triggerId"], createdMember: "triggerId" }),
  /** Without the columns that the request role may not select. */ subscriptions: tableOf(
    "subscriptions",
    SubscriptionStatus,
    {
      key: ["triggerId", "connectionId"],
      createdMember: "connectionId"
    }
  ),
  webhookEndpoints: tableOf("webhook_endpoints", WebhookEndpoint.stored),
  deliveries: tableOf("deliveries", StoredDelivery),
  notifications: tableOf("notifications", Notification.stored, { json: ["source"] }),
  personNotifications: tableOf("person_notifications", PersonNotification.stored, { json: ["source"] }),
  approvals: tableOf("approvals", Approval.stored, { json: ["approvers", "decidedBy"] }),
  deliveryAttempts: tableOf("delivery_attempts", DeliveryAttempt.stored),
  connections: tableOf("connections", Connection.stored, { json: ["health", "config", "metadata", "tags"] }),
  /** Without the sealed column, which the request role may not select. */
  credentials: tableOf("credentials", CredentialRecord),
  installations: tableOf("installations", Installation.stored, { json: ["connections", "config", "configSchema"] })
}

/** Sessions in which a person connects an account; only the connection's owner writes them. */
export const connectSessions = tableOf("connect_sessions", ConnectSession.stored, { json: ["config"] })
