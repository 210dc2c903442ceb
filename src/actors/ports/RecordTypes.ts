/** The records that have a repository; generated from `src/runtime/postgres/record/RecordTables.ts`, where each has its row. */
import type { Approval } from "../../domain/run/Approval.js"
import type { ApiKey } from "../../domain/access/ApiKey.js"
import type { StoredValue } from "../../domain/organisation/Configuration.js"
import type { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../domain/connector/ConnectorRecord.js"
import type { Connection, CredentialRecord } from "../../domain/connection/Connection.js"
import type { ConnectSessionState } from "../../domain/connection/ConnectSession.js"
import type { Customer } from "../../domain/organisation/Customer.js"
import type { FieldMapOverride, FieldMapVersion } from "../../domain/mapping/FieldMapRecord.js"
import type { EmbedSession } from "../../domain/access/EmbedSession.js"
import type { Environment } from "../../domain/organisation/Environment.js"
import type { Project, Team } from "../../domain/organisation/Group.js"
import type { Installation } from "../../domain/organisation/Installation.js"
import type { Widget, WidgetVersion } from "../../domain/organisation/Widget.js"
import type { Organisation, Workspace } from "../../domain/organisation/Organisation.js"
import type { Role, User } from "../../domain/access/Person.js"
import type { Secret, SecretVersion } from "../../domain/access/Secret.js"
import type { SubscriptionStatus } from "../../domain/trigger/Subscription.js"
import type { Trigger, TriggerState } from "../../domain/trigger/Trigger.js"
import type { EnvironmentRelease, Release } from "../../domain/workflow/Release.js"
import type { DraftContent, WorkflowDraft } from "../../domain/workflow/Draft.js"
import type { Deployment, Workflow, WorkflowVersion } from "../../domain/workflow/Workflow.js"
import type { DeliveryAttempt, StoredDelivery, WebhookEndpoint } from "../../domain/delivery/WebhookEndpoint.js"
import type { Notification, PersonNotification } from "../../domain/organisation/Notification.js"
import type { MapPublication } from "../../domain/mapping/MapPublication.js"

export interface RecordTypes {
  readonly organisations: Organisation
  readonly workspaces: Workspace
  readonly customers: Customer
  readonly roles: Role
  readonly users: User
  readonly teams: Team
  readonly projects: Project
  readonly apiKeys: ApiKey
  readonly environments: Environment
  readonly secrets: Secret
  readonly secretVersions: SecretVersion
  readonly workflows: Workflow
  readonly workflowVersions: WorkflowVersion
  /** Earlier states of drafts, without their content. */
  readonly drafts: WorkflowDraft
  readonly draftContents: DraftContent
  readonly releases: Release
  readonly environmentReleases: EnvironmentRelease
  readonly deployments: Deployment
  readonly configuration: StoredValue
  readonly connectors: ConnectorRecord
  readonly connectorVersions: ConnectorVersion
  readonly authProviders: AuthProvider
  /**
   * Read-only here: connections' actors write them. With one go its credentials, refresh intents and connect sessions. The
   * sweep of connections has revoked those of deleted customers before.
   */
  readonly connections: Connection
  /** Without the sealed column, which the request role may not select. */
  readonly credentials: CredentialRecord
  /** Read-only here, without the columns that the request role may not select. */
  readonly connectSessionStates: ConnectSessionState
  readonly triggers: Trigger
  readonly triggerStates: TriggerState
  /** Without the columns that the request role may not select. */
  readonly subscriptions: SubscriptionStatus
  readonly fieldMaps: FieldMapOverride
  readonly fieldMapVersions: FieldMapVersion
  readonly mapPublications: MapPublication
  /** One that is over is kept for a day more, so that its token is told from one that never was. */
  readonly embedSessions: EmbedSession
  readonly installations: Installation
  /** With one go its versions. */
  readonly widgets: Widget
  readonly widgetVersions: WidgetVersion
  readonly webhookEndpoints: WebhookEndpoint
  readonly deliveries: StoredDelivery
  /** Read-only here: the task that sends deliveries writes them. */
  readonly deliveryAttempts: DeliveryAttempt
  readonly notifications: Notification
  /** Read-only: the notifications of the organisation for each of its people. */
  readonly personNotifications: PersonNotification
  /** Added by the runs that ask for them. With one go the mails that ask for it. */
  readonly approvals: Approval
}
