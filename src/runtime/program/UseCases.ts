/** The use cases of management, composed. They depend on ports only, which `Service.ts` provides. */
import { Effect, Layer } from "effect"
import { AuditLog } from "../../actors/management/AuditLog.js"
import { ApiKeys } from "../../actors/management/access/ApiKeys.js"
import { CallbackSecret } from "../../actors/management/access/CallbackSecret.js"
import { OwnSessions } from "../../actors/management/access/OwnSessions.js"
import { InvitationAcceptance } from "../../actors/management/access/InvitationAcceptance.js"
import { MailSignIn } from "../../actors/management/access/MailSignIn.js"
import { ProviderSignIn } from "../../actors/management/access/ProviderSignIn.js"
import { SignInMails } from "../../actors/management/access/SignInMails.js"
import { SignIn } from "../../actors/management/access/SignIn.js"
import { Roles } from "../../actors/management/access/Roles.js"
import { Secrets } from "../../actors/management/access/Secrets.js"
import { Users } from "../../actors/management/access/Users.js"
import { AuthProviders } from "../../actors/management/connection/AuthProviders.js"
import { CustomerConnections } from "../../actors/management/connection/CustomerConnections.js"
import { CustomerCredentials } from "../../actors/management/connection/CustomerCredentials.js"
import { ConnectorAuthoring } from "../../actors/management/connector/ConnectorAuthoring.js"
import { ConnectorDiscovery } from "../../actors/management/connector/ConnectorDiscovery.js"
import { ConnectorCatalogue } from "../../actors/management/connector/ConnectorCatalogue.js"
import { ConnectorImport } from "../../actors/management/connector/ConnectorImport.js"
import { ConnectorRecords } from "../../actors/management/connector/ConnectorRecords.js"
import { DeadLetterQueue } from "../../actors/management/event/DeadLetterQueue.js"
import { EventRecords } from "../../actors/management/event/EventRecords.js"
import { EventReplays } from "../../actors/management/event/EventReplays.js"
import { WebhookIntake } from "../../actors/management/event/WebhookIntake.js"
import { Configuration } from "../../actors/management/organisation/Configuration.js"
import { Customers } from "../../actors/management/organisation/Customers.js"
import { Environments } from "../../actors/management/organisation/Environments.js"
import { Installations } from "../../actors/management/organisation/Installations.js"
import { Notifications } from "../../actors/management/organisation/Notifications.js"
import { Groups } from "../../actors/management/organisation/Groups.js"
import { Organisations } from "../../actors/management/organisation/Organisations.js"
import { Quotas } from "../../actors/management/organisation/Quotas.js"
import { StartQuota } from "../../actors/management/organisation/StartQuota.js"
import { Tenants } from "../../actors/management/organisation/Tenants.js"
import { WebhookEndpoints } from "../../actors/management/organisation/WebhookEndpoints.js"
import { Workspaces } from "../../actors/management/organisation/Workspaces.js"
import { Releases } from "../../actors/management/release/Releases.js"
import { Approvals } from "../../actors/management/run/Approvals.js"
import { LinkedApprovals } from "../../actors/management/run/LinkedApprovals.js"
import { EffectiveMaps } from "../../actors/management/unified/EffectiveMaps.js"
import { FieldMapTests } from "../../actors/management/unified/FieldMapTests.js"
import { FieldMaps } from "../../actors/management/unified/FieldMaps.js"
import { UnifiedApi } from "../../actors/management/unified/UnifiedApi.js"
import { ClusterStatus } from "../../actors/management/run/ClusterStatus.js"
import { StepTests } from "../../actors/management/run/StepTests.js"
import { ExecutionControl } from "../../actors/management/run/ExecutionControl.js"
import { ExecutionDiagram } from "../../actors/management/run/ExecutionDiagram.js"
import { ExecutionStatistics } from "../../actors/management/run/ExecutionStatistics.js"
import { SyncReportHistory } from "../../actors/management/run/SyncReportHistory.js"
import { ExecutionHistory } from "../../actors/management/run/ExecutionHistory.js"
import { TriggerFiring } from "../../actors/management/trigger/TriggerFiring.js"
import { Triggers } from "../../actors/management/trigger/Triggers.js"
import { RunEnds } from "../../actors/management/run/RunEnds.js"
import { Watches } from "../../actors/management/watch/Watches.js"
import { WorkflowVersions } from "../../actors/management/workflow/WorkflowVersions.js"
import { Workflows } from "../../actors/management/workflow/Workflows.js"
import { Settings } from "../configuration/Config.js"
import * as OidcProvider from "../oauth/OidcProvider.js"
import { bundleOf } from "./Processes.js"

const organisations = Layer.unwrapEffect(
  Effect.map(Settings, ({ defaultPlan }) => Layer.provideMerge(Organisations.Default({ defaultPlan }), Groups.Default))
)

const identityProvider = Layer.unwrapEffect(
  Effect.map(Settings, ({ oidc }) => OidcProvider.layer(oidc, bundleOf("openid.cjs")))
)

/** The use cases of management, one layer for each noun. */
export const useCases = Layer.mergeAll(
  RunEnds.Default,
  Watches.Default,
  ExecutionStatistics.Default,
  ApiKeys.Default,
  OwnSessions.Default,
  SignIn.Default,
  MailSignIn.Default,
  ProviderSignIn.Default,
  InvitationAcceptance.Default,
  Approvals.Default,
  LinkedApprovals.Default,
  AuditLog.Default,
  AuthProviders.Default,
  CallbackSecret.Default,
  ClusterStatus.Default,
  UnifiedApi.Default,
  EffectiveMaps.Default,
  FieldMaps.Default,
  FieldMapTests.Default,
  Configuration.Default,
  ConnectorAuthoring.Default,
  ConnectorCatalogue.Default,
  ConnectorDiscovery.Default,
  CustomerConnections.Default,
  CustomerCredentials.Default,
  Customers.Default,
  ExecutionHistory.Default,
  SyncReportHistory.Default,
  ExecutionDiagram.Default,
  Installations.Default,
  Secrets.Default,
  Notifications.Default,
  organisations,
  Quotas.Default,
  Roles.Default,
  Triggers.Default,
  TriggerFiring.Default,
  Environments.Default,
  Releases.Default,
  Users.Default,
  WebhookEndpoints.Default,
  WebhookIntake.Default,
  EventRecords.Default,
  EventReplays.Default,
  DeadLetterQueue.Default,
  Workflows.Default,
  WorkflowVersions.Default,
  Workspaces.Default
).pipe(
  Layer.provide(SignInMails.Default),
  Layer.provide(identityProvider),
  Layer.provide(Layer.merge(ConnectorImport.Default, ConnectorRecords.Default)),
  Layer.provideMerge(ExecutionControl.Default),
  Layer.provideMerge(StepTests.Default),
  Layer.provideMerge(Layer.merge(StartQuota.Default, Tenants.Default))
)
