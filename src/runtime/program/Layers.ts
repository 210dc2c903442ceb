/** The composition of the program, in the order of the data flow. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { doesWork, type ServiceConfig, Settings } from "../configuration/Config.js"
import { type InstallationSecrets, resolveSecrets } from "../vault/InstallationSecrets.js"
import { waitForPort } from "../process/Port.js"
import { type EmbeddedOptions, startEmbedded, reachEmbedded } from "../embedded/EmbeddedServer.js"
import { migrate } from "../postgres/database/Migrations.js"
import * as DatabaseTrouble from "../postgres/database/DatabaseTrouble.js"
import * as OpenSockets from "../postgres/database/pool/OpenSockets.js"
import { connect, layer as pools } from "../postgres/database/Pools.js"
import type { DatabaseUrls } from "../postgres/database/Roles.js"
import { holdDatabase } from "../postgres/database/DatabaseLock.js"
import { noteAlone } from "../postgres/database/ReleaseRows.js"
import { proveSecrets, withSecretsLocked } from "../vault/SecretChecks.js"
import { build } from "./Build.js"
import { asPhase } from "./Phases.js"
import { serviceRelease } from "../../domain/run/ServiceRelease.js"
import { carriedEngines } from "./Processes.js"

/** The keyring and the pepper, from the configuration or from the data directory. */
export class ProvidedSecrets extends Context.Tag("svc/ProvidedSecrets")<ProvidedSecrets, InstallationSecrets>() {}

/** The logins of the operator's Postgres, or of the embedded one, which runs as long as this layer. */
export class Databases extends Context.Tag("svc/Databases")<Databases, DatabaseUrls>() {}

/** An administrator's login to the workspaces' server, if one is configured. */
export class WorkspaceServer extends Context.Tag("svc/WorkspaceServer")<
  WorkspaceServer,
  Option.Option<Redacted.Redacted>
>() {}

// --- Configuration ---

const secrets = (options: { readonly create: boolean }) =>
  Layer.effect(
    ProvidedSecrets,
    Effect.flatMap(Settings, (settings) => resolveSecrets(settings, options))
  )

// --- Postgres ---

/** Depends on the secrets only so that they are created before the data that is sealed with them. */
const serverBy = (server: typeof startEmbedded | typeof reachEmbedded, more: Pick<EmbeddedOptions, "settings"> = {}) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const { database, dataDir, workspaceUrl } = yield* Settings
      yield* ProvidedSecrets
      const { admin, urls } =
        database._tag === "Embedded"
          ? yield* Effect.map(server({ dataDir, ...more }), (own) => ({
              admin: Option.some(own.admin),
              urls: own.urls
            }))
          : { admin: Option.none(), urls: database.urls }
      const workspaces = Option.orElse(workspaceUrl, () => Option.map(admin, otherDatabase))
      return Context.make(Databases, urls).pipe(Context.add(WorkspaceServer, workspaces))
    })
  )

/** A node is refused before it migrates if it cannot run beside those that do. */
const migrated = Layer.effectDiscard(
  Effect.gen(function* () {
    const { owner } = yield* Databases
    const settings = yield* Settings
    if (Option.isNone(settings.node)) return yield* migrate(owner)
    const engines = doesWork(settings) ? yield* carriedEngines : null
    return yield* migrate(owner, { release: serviceRelease, build: build(), engines })
  })
)

/** The login with another database of the same server. */
const otherDatabase = (login: Redacted.Redacted): Redacted.Redacted => {
  const url = new URL(Redacted.value(login))
  url.pathname = "/svc_ws"
  return Redacted.make(url.href)
}

const connections = Layer.unwrapEffect(
  Effect.gen(function* () {
    const urls = yield* Databases
    const { appConnections, writerConnections } = yield* Settings
    return pools(urls, { app: appConnections, writer: writerConnections })
  })
)

/** Holds the database's lock, so that no other service uses it. The nodes of a cluster share it: see `Seat`. */
const databaseHeld = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { owner } = yield* Databases
    const { node } = yield* Settings
    if (Option.isSome(node)) return
    const sql = yield* connect(owner, {
      maxConnections: 2,
      applicationName: `svc, pid ${process.pid}`,
      statementTimeout: "30 seconds"
    })
    yield* holdDatabase(sql, stop)
    yield* noteAlone(sql)
  })
)

/**
 * Checks that the secrets are this database's. Reads them again under the lock: a rotation may have changed the file.
 */
const secretsChecked = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    yield* withSecretsLocked(Effect.flatMap(resolveSecrets(settings, { create: false }), proveSecrets))
  })
)

/** Checks the port early, so that a taken one is reported at once. */
const portChecked = Layer.effectDiscard(Effect.flatMap(Settings, ({ host, port }) => waitForPort(host, port)))

const stop = Effect.sync(() => void process.kill(process.pid, "SIGTERM"))

const settingsOf = (config: ServiceConfig) =>
  Layer.mergeAll(Layer.succeed(Settings, config), DatabaseTrouble.layer, OpenSockets.layer)
const createdSecrets = secrets({ create: true })
const ownServer = asPhase("postgres")(serverBy(startEmbedded))

/**
 * `base`: the checked database and secrets. `ahead`: the connection pools, which the start opens beside the migration
 * check; built with the same memo map, they are opened once. A failed migration is reported before a pool's failure.
 * `isPortHeld`: another process holds the port, and passes it on.
 */
export const layers = (config: ServiceConfig, { isPortHeld = false }: { readonly isPortHeld?: boolean } = {}) => {
  const server = Layer.provideMerge(ownServer, Layer.provideMerge(createdSecrets, settingsOf(config)))
  return {
    ahead: Layer.provide(connections, server),
    base: asPhase("secrets checked")(secretsChecked).pipe(
      Layer.provideMerge(asPhase("database locked")(databaseHeld)),
      Layer.provideMerge(asPhase("pools")(connections)),
      Layer.provideMerge(asPhase("migrated")(migrated)),
      Layer.provideMerge(isPortHeld ? Layer.empty : asPhase("port checked")(portChecked)),
      Layer.provideMerge(server)
    )
  }
}

/**
 * What a supervisor holds for its nodes: the secrets and Postgres, the embedded one with these settings. `prepared`: the
 * checked and migrated database, while its nodes have not begun.
 */
export const layersOfNodes = (config: ServiceConfig, settings: NonNullable<EmbeddedOptions["settings"]>) => ({
  server: asPhase("postgres")(serverBy(startEmbedded, { settings })).pipe(
    Layer.provideMerge(createdSecrets),
    Layer.provideMerge(settingsOf(config))
  ),
  prepared: secretsChecked.pipe(Layer.provideMerge(connections), Layer.provideMerge(migrated))
})

/** The layers of a command that uses the database, beside a service that may be running. */
export const layerBeside = (config: ServiceConfig) => Layer.provideMerge(secretsChecked, layerUnproven(config))

/** The same without the check of the secrets. */
export const layerUnproven = (config: ServiceConfig) =>
  connections.pipe(
    Layer.provideMerge(migrated),
    Layer.provideMerge(serverBy(reachEmbedded)),
    Layer.provideMerge(secrets({ create: false })),
    Layer.provideMerge(settingsOf(config))
  )
