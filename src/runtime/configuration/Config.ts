/** Reads the configuration from the environment once, and checks it as a whole. The only reader of `process.env`. */
import { Config, type ConfigError, ConfigProvider, Context, Effect, Either, Option, type Redacted } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { parseEnv } from "node:util"
import type { PlanName } from "../../domain/organisation/Plan.js"
import type { NodeRole } from "../../domain/run/ClusterView.js"
import { ConnectTimeout } from "../postgres/database/pool/ConnectTimeout.js"
import { type DatabaseUrls, forEachRole, urlsOfLogin } from "../postgres/database/Roles.js"
import { closestName } from "../../domain/ClosestName.js"
import { oidcOf, oidcProblems } from "./OidcSettings.js"
import { OperatorError } from "../process/OperatorError.js"
import { defaultLogFormat, formerNames, settings, settingTable } from "./SettingTable.js"

/** Which Postgres to use: the embedded one, or the operator's. */
export type Database = { readonly _tag: "Embedded" } | { readonly _tag: "External"; readonly urls: DatabaseUrls }

/** All settings with their defaults; secrets are redacted. */
export type ServiceConfig = Effect.Effect.Success<ReturnType<typeof readConfig>>

/** What makes this process a node of a cluster. */
export interface NodeSettings {
  readonly role: NodeRole
  /** At least one; the first is in use. */
  readonly secrets: Redacted.Redacted<ReadonlyArray<string>>
  /** Where others reach it; port 0 is a free one. */
  readonly host: string
  readonly port: number
  /** The address to listen on. */
  readonly listen: string
}

/** Whether this process holds shards and does their work. */
export const doesWork = ({ node }: Pick<ServiceConfig, "node">): boolean => Option.getOrNull(node)?.role !== "api"

/** Whether this process serves requests. */
export const servesRequests = ({ node }: Pick<ServiceConfig, "node">): boolean =>
  Option.getOrNull(node)?.role !== "runner"

/** The configuration of this process. */
export class Settings extends Context.Tag("svc/Settings")<Settings, ServiceConfig>() {}

/**
 * The environment of this process, over a file `.env` if there is one, under what the command line says. An empty variable
 * counts as not set.
 */
export const environment = (flags: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  const file = existsSync(".env") ? parseEnv(readFileSync(".env", "utf8")) : {}
  return Object.fromEntries(
    Object.entries({ ...file, ...process.env, ...flags }).filter((entry): entry is [string, string] =>
      Boolean(entry[1])
    )
  )
}

/** The variables with former names replaced by today's; a variable under today's name wins. */
const renamed = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(env).map(([name, value]) => [formerNames[name] ?? name, value])),
  ...env
})

/** The form of log lines, for what is logged before the configuration is read; a wrong value counts as not set. */
export const readLogFormat = Effect.fnUntraced(function* (env: Readonly<Record<string, string>> = environment()) {
  const provider = ConfigProvider.fromMap(new Map(Object.entries(renamed(env))))
  const found = yield* Effect.either(Effect.withConfigProvider(settingTable.logFormat.config, provider))
  return Either.getOrElse(found, () => defaultLogFormat())
})

/** The longest wait for a connection to Postgres, for commands; a wrong value counts as not set. */
export const readConnectTimeout = Effect.suspend(() => {
  const provider = ConfigProvider.fromMap(new Map(Object.entries(environment())))
  return Effect.withConfigProvider(settingTable.connectTimeout.config, provider)
}).pipe(Effect.orElse(() => ConnectTimeout))

/**
 * Reads the configuration. Fails with one error that lists everything that is wrong or missing; warns of unknown
 * variables `SVC_…`.
 */
export const readConfig = Effect.fn("Config.read")(function* (env: Readonly<Record<string, string>> = environment()) {
  for (const { meant, name } of unknownVariables(env))
    yield* Effect.annotateLogs(Effect.logWarning("config.unknown_variable"), {
      variable: name,
      ...(meant === undefined ? {} : { didYouMean: meant })
    })
  const set = renamed(env)
  const found = yield* Effect.either(
    Effect.withConfigProvider(variables, ConfigProvider.fromMap(new Map(Object.entries(set))))
  )
  const problems = [
    ...(Either.isLeft(found) ? sentences(found.left) : []),
    ...missing((name) => set[name] ?? ""),
    ...oidcProblems((name) => set[name] ?? "")
  ]
  if (Either.isLeft(found) || problems.length > 0) {
    return yield* new OperatorError({
      message: ["svc cannot start with this configuration:", ...problems.map((line) => `  ${line}`)].join("\n")
    })
  }
  const { databaseUrl, ownerUrl, writerUrl, appUrl, auditUrl, host, port, publicUrl, defaultPlan, ...others } =
    found.right
  const { nodeAddress, nodeListen, role, ...rest } = others
  const database = databaseOf({
    login: databaseUrl,
    owner: ownerUrl,
    writer: writerUrl,
    app: appUrl,
    auditReader: auditUrl
  })
  return {
    ...rest,
    oidc: oidcOf(found.right),
    host,
    port,
    database,
    node: Option.map(role, (name): NodeSettings => {
      const address = Option.getOrElse(nodeAddress, () => ({ host: "127.0.0.1", port: 0 }))
      return {
        ...address,
        role: name,
        // `missing` has checked it.
        secrets: Option.getOrThrow(rest.clusterSecret),
        listen: Option.getOrElse(nodeListen, () => address.host)
      }
    }),
    publicUrl: Option.getOrElse(publicUrl, () => ownUrl(host, port)),
    defaultPlan: Option.getOrElse(defaultPlan, (): PlanName => (database._tag === "Embedded" ? "unlimited" : "starter"))
  }
})

/** The configuration with another port, also in the base URL unless that is configured. */
export const withPort = (config: ServiceConfig, port: number): ServiceConfig => ({
  ...config,
  port,
  publicUrl: config.publicUrl === ownUrl(config.host, config.port) ? ownUrl(config.host, port) : config.publicUrl
})

/** The base URL of a service on this address. */
export const ownUrl = (host: string, port: number) => `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** One sentence for each unknown variable `SVC_…`. */
const unknownVariables = (env: Readonly<Record<string, string>>) =>
  Object.keys(env)
    .filter((name) => name.startsWith("SVC_") && !name.startsWith("SVC_TEST_"))
    .filter((name) => !(name in formerNames) && !settings.some((one) => one.name === name))
    .map((name) => {
      const meant = closestName(
        name,
        settings.map((one) => one.name)
      )
      return { name, meant }
    })

const variables = Config.all({
  host: settingTable.host.config,
  port: settingTable.port.config,
  publicUrl: settingTable.publicUrl.config,
  dataDir: settingTable.dataDir.config,
  databaseUrl: settingTable.databaseUrl.config,
  ownerUrl: settingTable.ownerUrl.config,
  writerUrl: settingTable.writerUrl.config,
  appUrl: settingTable.appUrl.config,
  auditUrl: settingTable.auditUrl.config,
  appConnections: settingTable.appConnections.config,
  writerConnections: settingTable.writerConnections.config,
  connectTimeout: settingTable.connectTimeout.config,
  startWait: settingTable.startWait.config,
  masterKeys: settingTable.masterKeys.config,
  keyPepper: settingTable.keyPepper.config,
  keysDir: settingTable.keysDir.config,
  role: settingTable.role.config,
  clusterSecret: settingTable.clusterSecret.config,
  nodeAddress: settingTable.nodeAddress.config,
  nodeListen: settingTable.nodeListen.config,
  natsUrl: settingTable.natsUrl.config,
  workspaceUrl: settingTable.workspaceUrl.config,
  defaultPlan: settingTable.defaultPlan.config,
  platformValues: settingTable.platformValues.config,
  egressAllow: settingTable.egressAllow.config,
  smtpUrl: settingTable.smtpUrl.config,
  oidcIssuer: settingTable.oidcIssuer.config,
  oidcClientId: settingTable.oidcClientId.config,
  oidcClientSecret: settingTable.oidcClientSecret.config,
  oidcJoin: settingTable.oidcJoin.config,
  oidcOnly: settingTable.oidcOnly.config,
  trustedProxies: settingTable.trustedProxies.config,
  metrics: settingTable.metrics.config,
  runners: settingTable.runners.config,
  guestMemory: settingTable.guestMemory.config,
  heldMemory: settingTable.heldMemory.config,
  runSlots: settingTable.runSlots.config,
  logLevel: settingTable.logLevel.config,
  logFormat: settingTable.logFormat.config,
  otlpUrl: settingTable.otlpUrl.config,
  otlpHeaders: settingTable.otlpHeaders.config,
  shutdownGrace: settingTable.shutdownGrace.config
})

// --- Checks over several variables ---

/** What is missing beside what is set, whether that is valid or not. `textOf`: of a variable; empty if it is not set. */
const missing = (textOf: (name: string) => string): ReadonlyArray<string> => {
  const isSet = ({ name }: { readonly name: string }) => textOf(name) !== ""
  const { appUrl, auditUrl, clusterSecret, databaseUrl, keyPepper, keysDir, masterKeys, ownerUrl, writerUrl } =
    settingTable
  const own = [ownerUrl, writerUrl, appUrl, auditUrl]
  const external = isSet(databaseUrl) || own.some(isSet)
  const role = textOf(settingTable.role.name)
  const ofNode =
    role === ""
      ? []
      : [
          ...(external
            ? []
            : [
                `SVC_DATABASE_URL is missing: the nodes of a cluster share a Postgres, and this one is to be a node (${role}).`
              ]),
          ...(isSet(clusterSecret)
            ? []
            : ["SVC_CLUSTER_SECRET is missing: give all nodes the same. `openssl rand -hex 32` makes one."]),
          ...(isSet(settingTable.nodeListen) && !isSet(settingTable.nodeAddress)
            ? ["SVC_NODE_ADDRESS is missing: with SVC_NODE_LISTEN alone no other node knows where to reach this one."]
            : [])
        ]
  if (!external) return ofNode
  return [
    ...ofNode,
    ...(isSet(databaseUrl)
      ? []
      : own.flatMap((url) => (isSet(url) ? [] : [`${url.name} is missing: set all four, or SVC_DATABASE_URL.`]))),
    ...[masterKeys, keyPepper].flatMap((secret) =>
      isSet(keysDir) || isSet(secret)
        ? []
        : [
            `${secret.name} is missing: with a Postgres of yours svc keeps no keys itself. \`npm run svc -- keys new\` makes one.`
          ]
    )
  ]
}

type OptionalUrl = Option.Option<Redacted.Redacted>

const databaseOf = ({ login, ...own }: Readonly<Record<keyof DatabaseUrls | "login", OptionalUrl>>): Database => {
  const shared = Option.map(login, urlsOfLogin)
  if (Option.isNone(login) && Object.values(own).some(Option.isNone)) return { _tag: "Embedded" }
  return {
    _tag: "External",
    urls: forEachRole((role) => Option.getOrElse(own[role], () => Option.getOrThrow(shared)[role]))
  }
}

/** One sentence for each error of the tree. */
const sentences = (error: ConfigError.ConfigError): ReadonlyArray<string> =>
  error._op === "And" || error._op === "Or" ? [...sentences(error.left), ...sentences(error.right)] : [error.message]
