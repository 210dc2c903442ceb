/** The tables of the records that management reads and writes: a record is its class, and its row here. */
import { Approval } from "../../../domain/run/Approval.js"
import { ApiKey } from "../../../domain/access/ApiKey.js"
import { StoredValue } from "../../../domain/organisation/Configuration.js"
import { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../../domain/connector/ConnectorRecord.js"
import { Connection, CredentialRecord } from "../../../domain/connection/Connection.js"
import { ConnectSession, ConnectSessionState } from "../../../domain/connection/ConnectSession.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { FieldMapOverride, FieldMapVersion } from "../../../domain/mapping/FieldMapRecord.js"
import { EmbedSession } from "../../../domain/access/EmbedSession.js"
import { Environment } from "../../../domain/organisation/Environment.js"
import { Project, Team } from "../../../domain/organisation/Group.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { Widget, WidgetVersion } from "../../../domain/organisation/Widget.js"
import { Organisation, Workspace } from "../../../domain/organisation/Organisation.js"
import { Role, User } from "../../../domain/access/Person.js"
import { Secret, SecretVersion } from "../../../domain/access/Secret.js"
import { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import { Trigger, TriggerState } from "../../../domain/trigger/Trigger.js"
import { EnvironmentRelease, Release } from "../../../domain/workflow/Release.js"
import { DraftContent, draftHistory, WorkflowDraft } from "../../../domain/workflow/Draft.js"
import { Deployment, Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { DeliveryAttempt, StoredDelivery, WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import { Notification, PersonNotification } from "../../../domain/organisation/Notification.js"
import type { RecordTypes } from "../../../actors/ports/RecordTypes.js"
import { Duration } from "effect"
import { eraseCustomersSql, leaveKeysSql, leaveUsersSql } from "../organisation/CustomerMentions.js"
import { MapPublication } from "../../../domain/mapping/MapPublication.js"
import { type Table, tableOf } from "./Table.js"
import {
  days,
  erasableCustomers,
  erasableWorkflows,
  isOfAge,
  journalLifetime,
  ofErasableCustomer,
  ofErasableWorkflow
} from "./TableRules.js"

/**
 * Each record stands after those that it refers to, since they are erased in the opposite order. The comment of a row is that
 * of its repository.
 */
export const tables: { readonly [Name in keyof RecordTypes]: Table<RecordTypes[Name]> } = {
  organisations: tableOf("organisations", Organisation.stored),
  workspaces: tableOf("workspaces", Workspace.stored, { isVersioned: false }),
  customers: tableOf("customers", Customer.stored, { erasedBy: eraseCustomersSql }),
  roles: tableOf("roles", Role.stored),
  users: tableOf("users", User.stored, { jsonLists: ["customerIds"], erasedBy: leaveUsersSql }),
  teams: tableOf("teams", Team.stored),
  projects: tableOf("projects", Project.stored),
  apiKeys: tableOf("api_keys", ApiKey.stored, { erasedBy: leaveKeysSql }),
  environments: tableOf("environments", Environment.stored),
  secrets: tableOf("secrets", Secret.stored, {
    expires: [
      `t.deleted_at < now() - ${journalLifetime} AND NOT EXISTS (SELECT 1 FROM secret_versions v WHERE v.secret_id = t.id)`
    ]
  }),
  secretVersions: tableOf("secret_versions", SecretVersion, {
    key: ["secretId", "number"],
    createdMember: "number",
    expires: [
      `t.retired_at < now() - ${journalLifetime}
       OR EXISTS (SELECT 1 FROM secrets s WHERE s.id = t.secret_id AND s.deleted_at < now() - ${journalLifetime})`
    ],
    erases: [`t.secret_id IN (SELECT s.id FROM secrets s WHERE s.customer_id IN (${erasableCustomers}))`]
  }),
  workflows: tableOf("workflows", Workflow.stored),
  workflowVersions: tableOf("workflow_versions", WorkflowVersion.stored, {
    key: ["workflowId", "number"],
    createdMember: "publishedAt",
    erases: [ofErasableWorkflow]
  }),
  /** Earlier states of drafts, without their content. */
  drafts: tableOf("workflow_drafts", WorkflowDraft.stored, {
    key: ["workflowId", "number"],
    createdMember: "number",
    expires: [`t.replaced_at < now() - ${days(Duration.toDays(draftHistory.lifetime))}`],
    erases: [ofErasableWorkflow]
  }),
  draftContents: tableOf("workflow_drafts", DraftContent, {
    isView: true,
    key: ["workflowId", "number"],
    createdMember: "number"
  }),
  releases: tableOf("releases", Release.stored, {
    // The newest stays: the next one has its number, and one more.
    expires: [
      `t.status <> 'deployed' AND t.created_at < now() - ${days(400)} AND EXISTS (SELECT FROM releases n
         WHERE n.space = t.space AND n.customer_id IS NOT DISTINCT FROM t.customer_id AND n.number > t.number)`
    ]
  }),
  environmentReleases: tableOf("environment_releases", EnvironmentRelease, {
    key: ["spaceId", "customerId", "environment"],
    createdMember: "deployedAt"
  }),
  deployments: tableOf("deployments", Deployment, {
    key: ["workflowId", "environment", "customerId"],
    createdMember: "deployedAt",
    erases: [`${ofErasableCustomer} OR ${ofErasableWorkflow}`]
  }),
  configuration: tableOf("settings", StoredValue, {
    key: ["level", "scopeId", "key", "environment"],
    createdMember: "updatedAt",
    erases: [
      `t.level = 'tenant' AND t.scope_id IN (${erasableCustomers})`,
      `t.level = 'flow' AND t.scope_id IN (${erasableWorkflows})`
    ]
  }),
  connectors: tableOf("connectors", ConnectorRecord),
  connectorVersions: tableOf("connector_versions", ConnectorVersion, {
    key: ["connectorId", "number"],
    createdMember: "number"
  }),
  authProviders: tableOf("auth_providers", AuthProvider.stored),
  /**
   * Read-only here: connections' actors write them. With one go its credentials, refresh intents and connect sessions. The
   * sweep of connections has revoked those of deleted customers before.
   */
  connections: tableOf("connections", Connection.stored),
  /** Without the sealed column, which the request role may not select. */
  credentials: tableOf("credentials", CredentialRecord),
  /** Read-only here, without the columns that the request role may not select. */
  connectSessionStates: tableOf("connect_sessions", ConnectSessionState, { isView: true, createdMember: "expiresAt" }),
  triggers: tableOf("triggers", Trigger.stored, { expires: [`t.deleted_at < now() - ${days(30)}`] }),
  triggerStates: tableOf("trigger_states", TriggerState, { key: ["triggerId"], createdMember: "triggerId" }),
  /** Without the columns that the request role may not select. */
  subscriptions: tableOf("subscriptions", SubscriptionStatus, {
    key: ["triggerId", "connectionId"],
    createdMember: "connectionId"
  }),
  fieldMaps: tableOf("field_maps", FieldMapOverride.stored, { jsonLists: ["dropped"] }),
  fieldMapVersions: tableOf("field_map_versions", FieldMapVersion, {
    jsonLists: ["dropped"],
    key: ["fieldMapId", "number"],
    createdMember: "publishedAt"
  }),
  mapPublications: tableOf("map_publications", MapPublication, {
    key: ["organisationId", "revision"],
    createdMember: "revision",
    // The row stays, empty: no revision may be given twice.
    erasedBy: [
      `UPDATE map_publications SET customer_id = NULL, connector = '', entity = NULL, model = NULL, field_map_id = NULL
       WHERE customer_id IN (${erasableCustomers})`
    ]
  }),
  /** One that is over is kept for a day more, so that its token is told from one that never was. */
  embedSessions: tableOf("embed_sessions", EmbedSession.stored, {
    expires: [`t.expires_at < now() - ${days(1)}`]
  }),
  installations: tableOf("installations", Installation.stored),
  /** With one go its versions. */
  widgets: tableOf("widgets", Widget.stored),
  widgetVersions: tableOf("widget_versions", WidgetVersion.stored, {
    key: ["widgetId", "number"],
    createdMember: "number"
  }),
  webhookEndpoints: tableOf("webhook_endpoints", WebhookEndpoint.stored),
  deliveries: tableOf("deliveries", StoredDelivery, {
    expires: [
      `${isOfAge("dlv", days(7))} AND t.status = 'delivered' AND t.endpoint_id IS NULL AND t.finished_at < now() - ${days(7)}`,
      // Kept for a repetition: dead letters, what a disabled endpoint missed, and every delivery of a listed attempt.
      `${isOfAge("dlv", days(30))} AND t.status <> 'pending' AND t.finished_at < now() - ${days(30)}`
    ],
    erases: [ofErasableCustomer]
  }),
  /** Read-only here: the task that sends deliveries writes them. */
  deliveryAttempts: tableOf("delivery_attempts", DeliveryAttempt.stored, { expires: [isOfAge("att", days(30))] }),
  notifications: tableOf("notifications", Notification.stored, { expires: [isOfAge("ntf", days(90))] }),
  /** Read-only: the notifications of the organisation for each of its people. */
  personNotifications: tableOf("person_notifications", PersonNotification.stored, { isView: true }),
  /** Added by the runs that ask for them. With one go the mails that ask for it. */
  approvals: tableOf("approvals", Approval.stored, {
    jsonLists: ["approvers"],
    expires: [`${isOfAge("apv", days(90))} AND t.status <> 'open'`]
  })
}

/** Sessions in which a person connects an account; only the connection's owner writes them. */
export const connectSessions = tableOf("connect_sessions", ConnectSession.stored)
