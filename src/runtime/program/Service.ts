/** The layers of the running service: actors and surfaces, on a database that is there. */
import { Effect, Layer, Option, Redacted } from "effect"
import * as ConnectionActor from "../../actors/connection/Actor.js"
import * as Calling from "../../actors/connection/ConnectedCalls.js"
import * as AccountEntities from "../../actors/unified/AccountEntities.js"
import * as UnifiedRecords from "../../actors/unified/UnifiedRecords.js"
import * as ConnectionCreation from "../../actors/connection/ConnectionCreation.js"
import * as Connections from "../../actors/connection/Connections.js"
import * as Permits from "../../actors/connection/SharedPermits.js"
import { LocalOwners } from "../../actors/connection/LocalOwners.js"
import { LastUse } from "../../actors/connection/LastUse.js"
import * as EventRuns from "../../actors/execution/EventRuns.js"
import * as ExecutionActor from "../../actors/execution/Actor.js"
import * as ReceivedStarts from "../../actors/execution/ReceivedStarts.js"
import * as Executions from "../../actors/execution/Executions.js"
import * as RunPlaces from "../../actors/execution/RunPlaces.js"
import * as QueueSignals from "../../actors/execution/QueueSignals.js"
import * as Sweep from "../../actors/execution/Sweep.js"
import * as Dispatch from "../../actors/pipeline/Dispatch.js"
import * as Events from "../../actors/pipeline/Events.js"
import { Patterns } from "../../actors/Patterns.js"
import * as Places from "../../actors/Places.js"
import * as IntakeLoad from "../../actors/pipeline/IntakeLoad.js"
import * as WebhookSecrets from "../../actors/pipeline/WebhookSecrets.js"
import * as Replay from "../../actors/pipeline/Replay.js"
import * as ApprovalMails from "../../actors/pipeline/ApprovalMails.js"
import * as AddressConfirmations from "../../actors/pipeline/AddressConfirmations.js"
import { BackgroundTasks, makeRegistry } from "../../actors/ports/BackgroundTasks.js"
import { MailServer } from "../../actors/ports/delivery/MailServer.js"
import { Origin } from "../../actors/ports/Origin.js"
import { PlatformConfiguration } from "../../actors/ports/organisation/PlatformConfiguration.js"
import * as ProviderActor from "../../actors/provider/Actor.js"
import * as TenantActor from "../../actors/organisation/Actor.js"
import * as CallbackSecrets from "../../actors/organisation/CallbackSecrets.js"
import * as RateLimits from "../../actors/organisation/RateLimits.js"
import * as PassTimes from "../../actors/PassTimes.js"
import * as ShardActor from "../../actors/shard/Actor.js"
import * as Addresses from "../process/Addresses.js"
import * as Clock from "../postgres/database/DatabaseClock.js"
import { openCheckpoints } from "../audit/Checkpoints.js"
import * as Sealer from "../audit/Sealer.js"
import * as Trail from "../audit/AuditTrail.js"
import * as CommitNews from "../cluster/CommitNews.js"
import * as ClusterNode from "../cluster/ClusterNode.js"
import * as ClusterReads from "../cluster/ClusterReads.js"
import * as ReleaseStages from "../cluster/ReleaseStages.js"
import * as SingleNode from "../cluster/SingleNode.js"
import * as Computations from "../computing/Computations.js"
import * as ByteLedger from "../memory/ByteLedger.js"
import { planDescriptors } from "../process/Descriptors.js"
import * as Crypto from "../process/Crypto.js"
import * as ConnectedEgress from "../egress/ConnectedEgress.js"
import * as Egress from "../egress/Egress.js"
import * as OperatorNetworks from "../egress/OperatorNetworks.js"
import * as Surfaces from "../http/Surfaces.js"
import { outwardPlaces } from "../../domain/Limits.js"
import { serviceRelease } from "../../domain/run/ServiceRelease.js"
import { resolveSecrets } from "../vault/InstallationSecrets.js"
import { doesWork, Settings } from "../configuration/Config.js"
import { build } from "./Build.js"
import { Databases, ProvidedSecrets } from "./Layers.js"
import * as LeasedTasks from "./LeasedTasks.js"
import * as NodeEnd from "./NodeEnd.js"
import * as WorkspaceLayers from "./Workspaces.js"
import { asPhase } from "./Phases.js"
import { bundleOf, carriedEngines, sandbox } from "./Processes.js"
import * as TokenEndpoint from "../oauth/TokenEndpoint.js"
import * as UnstoredTokens from "../oauth/UnstoredTokens.js"
import * as FieldMapReads from "../postgres/unified/FieldMapReads.js"
import * as WriteIntents from "../postgres/unified/WriteIntents.js"
import * as ConnectionReads from "../postgres/connection/ConnectionReads.js"
import { AuditRows } from "../postgres/AuditRow.js"
import * as ConnectionStore from "../postgres/connection/ConnectionStore.js"
import { Commits, makeCommitLog } from "../postgres/database/CommitLog.js"
import * as Connectors from "../postgres/connection/Connectors.js"
import * as CustomerReads from "../postgres/organisation/CustomerReads.js"
import * as MailAddresses from "../postgres/delivery/MailAddresses.js"
import * as RunNotifications from "../postgres/delivery/RunNotifications.js"
import * as FailedJobs from "../postgres/FailedJobs.js"
import * as EndpointSubscriptions from "../postgres/delivery/EndpointSubscriptions.js"
import * as EventReads from "../postgres/event/EventReads.js"
import * as OpenEvents from "../postgres/event/OpenEvents.js"
import * as DirectStream from "../postgres/event/DirectStream.js"
import * as JetStream from "../nats/JetStream.js"
import * as ExecutionReads from "../postgres/run/ExecutionReads.js"
import * as CommittedChanges from "../postgres/watch/CommittedChanges.js"
import * as ExecutionStats from "../postgres/run/ExecutionStats.js"
import * as WebhookSecretReads from "../postgres/delivery/WebhookSecretReads.js"
import * as TriggerMeter from "../postgres/trigger/TriggerMeter.js"
import * as TriggerReads from "../postgres/trigger/TriggerReads.js"
import * as InstallationReads from "../postgres/organisation/InstallationReads.js"
import * as Journal from "../postgres/journal/Journal.js"
import * as Keys from "../postgres/organisation/Keys.js"
import * as EmbedSessions from "../postgres/access/EmbedSessions.js"
import * as Sessions from "../postgres/access/Sessions.js"
import * as Invitations from "../postgres/access/Invitations.js"
import * as MailSignIns from "../postgres/access/MailSignIns.js"
import * as ProviderSignIns from "../postgres/access/ProviderSignIns.js"
import * as SignIns from "../postgres/access/SignIns.js"
import * as KeyValues from "../postgres/run/KeyValues.js"
import * as Maintenance from "../postgres/database/Maintenance.js"
import * as ShareOwners from "../postgres/organisation/ShareOwners.js"
import * as OrganisationReads from "../postgres/organisation/OrganisationReads.js"
import * as Nonces from "../postgres/organisation/Nonces.js"
import * as ProviderWindows from "../postgres/connection/ProviderWindows.js"
import * as QuotaWarnings from "../postgres/quota/QuotaWarnings.js"
import * as LimitCounters from "../postgres/organisation/LimitCounters.js"
import * as Changes from "../../actors/management/Changes.js"
import { Pages } from "../../actors/management/Pages.js"
import * as StorageUsage from "../postgres/organisation/StorageUsage.js"
import * as TroubleProbe from "../postgres/database/TroubleProbe.js"
import * as UsageDays from "../postgres/organisation/UsageDays.js"
import * as Records from "../postgres/record/Records.js"
import * as ApprovalLinks from "../postgres/run/ApprovalLinks.js"
import * as SyncReports from "../postgres/run/SyncReports.js"
import * as RunApprovals from "../postgres/run/RunApprovals.js"
import * as Runnables from "../postgres/run/Runnables.js"
import * as RunReads from "../postgres/run/RunReads.js"
import * as Runs from "../postgres/run/Runs.js"
import * as OwnHosts from "../mcp/OwnHosts.js"
import * as ToolServers from "../mcp/ToolServers.js"
import * as StartQueue from "../postgres/run/StartQueue.js"
import { layerPostgres as dataKeys } from "../vault/DataKeys.js"
import { countJournal } from "../telemetry/JournalMetrics.js"
import * as Vault from "../vault/Vault.js"
import * as Wakeups from "../process/Wakeups.js"
import { useCases } from "./UseCases.js"

const journalCapacity = 20_000

// --- Ports that depend on configuration, and on who owns shares ---

const pure = Layer.unwrapEffect(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { egressAllow, heldMemory, host, platformValues, publicUrl, smtpUrl, trustedProxies } = settings
    const { keyPepper } = yield* ProvidedSecrets
    return Layer.mergeAll(
      Crypto.layerDigests({ pepper: keyPepper }),
      Crypto.layerIdentifiers,
      ByteLedger.layer({ bytes: heldMemory * 1_048_576 }),
      Addresses.layer(trustedProxies),
      Patterns.Default.pipe(Layer.provideMerge(Computations.layer({ workerPath: bundleOf("computing.js") }))),
      Egress.layer({ allow: egressAllow, connections: planDescriptors(settings).outgoing }),
      OperatorNetworks.layer(egressAllow),
      Layer.succeed(Origin, publicUrl),
      OwnHosts.layer(host),
      ToolServers.layer(bundleOf("mcp.cjs")),
      Layer.succeed(MailServer, Option.map(smtpUrl, Redacted.value)),
      Layer.succeed(PlatformConfiguration, platformValues),
      Places.layer({ ...LeasedTasks.places, tests: outwardPlaces.tests }),
      Wakeups.layer
    ).pipe(Layer.provideMerge(ShareOwners.layer))
  })
)

const vault = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { masterKeys } = yield* ProvidedSecrets
    const settings = yield* Settings
    return Vault.layer({
      keyring: Redacted.value(masterKeys),
      // The environment does not change; `svc keys rotate` may change the file in the data directory.
      reread: Option.isSome(settings.masterKeys)
        ? undefined
        : Effect.map(resolveSecrets(settings, { create: false }), (secrets) => Redacted.value(secrets.masterKeys))
    })
  })
).pipe(Layer.provide(dataKeys))

// --- Postgres ---

const journal = Layer.unwrapEffect(
  Effect.map(Databases, ({ writer }) => countJournal(Journal.layer({ capacity: journalCapacity, writer })))
)

const trail = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { dataDir } = yield* Settings
    const { keyPepper } = yield* ProvidedSecrets
    const sign = (text: string) => Crypto.makeDigests({ pepper: keyPepper }).keyHash(`checkpoint|${text}`)
    const checkpoints = openCheckpoints(`${dataDir}/audit-checkpoints.jsonl`, sign)
    return Layer.merge(Trail.layer(checkpoints), Sealer.layer(checkpoints))
  })
)

/** Management records, for the service and for commands beside it. */
export const records = Layer.merge(Changes.layer, Pages.Default).pipe(
  Layer.provideMerge(Records.layer),
  Layer.provideMerge(AuditRows.Default),
  Layer.provideMerge(vault),
  Layer.provideMerge(pure)
)

const stores = Layer.mergeAll(
  WorkspaceLayers.layer,
  journal,
  Runs.layer,
  Runnables.layer,
  RunReads.layer,
  RunApprovals.layer,
  SyncReports.layer,
  ApprovalLinks.layer,
  KeyValues.layer,
  Keys.layer,
  Sessions.layer,
  EmbedSessions.layer,
  SignIns.layer,
  Invitations.layer,
  MailSignIns.layer,
  ProviderSignIns.layer,
  Connectors.layer,
  ConnectionStore.layer,
  ConnectionReads.layer,
  FieldMapReads.layer,
  WriteIntents.layer,
  TokenEndpoint.layer,
  Layer.unwrapEffect(Effect.map(Settings, ({ dataDir }) => UnstoredTokens.layer(dataDir))),
  CustomerReads.layer,
  InstallationReads.layer,
  OrganisationReads.layer,
  OpenEvents.layer,
  StorageUsage.layer,
  UsageDays.layer,
  EventReads.layer,
  TriggerReads.layer,
  TriggerMeter.layer,
  WebhookSecretReads.layer,
  RunNotifications.layer,
  MailAddresses.layer,
  FailedJobs.layer,
  EndpointSubscriptions.layer,
  Nonces.layer,
  ExecutionReads.layer,
  ExecutionStats.layer,
  CommittedChanges.layer,
  LimitCounters.layer,
  ProviderWindows.layer,
  LeasedTasks.stores,
  StartQueue.layer,
  ClusterReads.layer(build)
).pipe(Layer.provideMerge(records))

/** Background work, on nodes that do it. */
const onWorkers = <E, R>(work: Layer.Layer<never, E, R>) =>
  Layer.unwrapEffect(Effect.map(Settings, (settings) => (doesWork(settings) ? work : Layer.empty)))

/** The way of events from the start queue to their dispatch. A node that dispatches none needs no broker. */
const eventStream = Layer.unwrapEffect(
  Effect.map(Settings, (settings) =>
    Option.isSome(settings.natsUrl) && doesWork(settings)
      ? JetStream.layer({ url: settings.natsUrl.value })
      : DirectStream.layer
  )
)

/** The corrected clock, below every layer that uses time. */
const clock = Clock.layer.pipe(Layer.provide(Runs.layer))

// --- Actors ---

/** The owners of connections: credentials, refreshes, providers' limits. */
const connections = Layer.merge(ConnectionActor.layer, ConnectionCreation.layer).pipe(Layer.provide(LastUse.Default))
/** Shared by the owners of connections and their callers. */
const residents = LocalOwners.Default.pipe(Layer.provide(LastUse.Default))
const connected = Layer.merge(UnifiedRecords.layer, AccountEntities.layer).pipe(
  Layer.provideMerge(Calling.layer),
  Layer.provideMerge(ConnectedEgress.layer),
  Layer.provideMerge(Connections.layer),
  Layer.provideMerge(connections),
  Layer.provide(residents),
  Layer.provide(Permits.layer),
  Layer.provide(ProviderActor.layer)
)

const actors = Layer.unwrapEffect(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { natsUrl, runSlots } = settings
    const options = { slots: runSlots }
    return Layer.mergeAll(
      Executions.layer(options),
      ExecutionActor.layer,
      ReceivedStarts.layer(options),
      QueueSignals.layer,
      CommitNews.layer,
      TenantActor.layer,
      ShardActor.layer,
      onWorkers(Sweep.layer(options))
    ).pipe(
      Layer.provideMerge(Replay.layer),
      Layer.provideMerge(Events.layer({ dispatchesAtOnce: Option.isNone(natsUrl) && doesWork(settings) })),
      Layer.provideMerge(WebhookSecrets.layer),
      Layer.provideMerge(Dispatch.layer),
      Layer.provideMerge(Layer.merge(EventRuns.layer(options), RateLimits.layer)),
      Layer.provideMerge(Layer.mergeAll(RunPlaces.layer, eventStream, IntakeLoad.layer))
    )
  })
)

const cluster = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { node } = yield* Settings
    const { owner } = yield* Databases
    if (Option.isNone(node)) return SingleNode.layer
    const program = { build: build(), release: serviceRelease, engines: yield* carriedEngines }
    return ClusterNode.layer(node.value, owner, program)
  })
).pipe(Layer.provide(Crypto.layerIdentifiers))

/** Everything but the server. */
export const serviceLayer = asPhase("surfaces")(Surfaces.layer).pipe(
  Layer.provide(asPhase("use cases")(useCases)),
  Layer.provideMerge(onWorkers(Layer.mergeAll(LeasedTasks.sweeps, AddressConfirmations.layer, ApprovalMails.layer))),
  Layer.provideMerge(CallbackSecrets.layer),
  Layer.provideMerge(NodeEnd.layer),
  Layer.provideMerge(asPhase("actors")(actors)),
  Layer.provideMerge(ReleaseStages.layer),
  // A runner takes about as long to start as what is below.
  Layer.provideMerge(sandbox),
  Layer.provideMerge(asPhase("connections")(connected)),
  Layer.provideMerge(PassTimes.layer),
  Layer.provideMerge(asPhase("audit")(trail)),
  Layer.provideMerge(asPhase("stores")(stores)),
  Layer.provideMerge(asPhase("cluster")(cluster)),
  Layer.provideMerge(
    asPhase("maintenance")(
      Layer.merge(
        onWorkers(Layer.mergeAll(Maintenance.layer, QuotaWarnings.layer, ExecutionStats.sums)),
        TroubleProbe.layer
      )
    )
  ),
  Layer.provideMerge(asPhase("clock")(clock)),
  Layer.provideMerge(Layer.merge(Layer.sync(BackgroundTasks, makeRegistry), Layer.sync(Commits, makeCommitLog)))
)
