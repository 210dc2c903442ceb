/** Every environment variable of the service. `docs/env.md` and `.env.example` are generated from it. */
import { Duration, Either, LogLevel } from "effect"
import { availableParallelism } from "node:os"
import { parseAllowList } from "../egress/Address.js"
import { defaultLedgerBytes } from "../memory/ByteLedger.js"
import { defaultGuestMemory } from "../sandbox/GuestMemory.js"
import { isAddress, isHost, parseNetwork } from "../process/IpAddress.js"
import { mailServer } from "./MailServerSetting.js"
import { oidcTable } from "./OidcSettings.js"
import { readMasterKeys, readPepper } from "../vault/InstallationSecrets.js"
import {
  durationText,
  integerText,
  jsonObjectText,
  oneOfTexts,
  optionalSetting,
  secretSetting,
  pairsText,
  type Parse,
  setting,
  type Setting,
  anyText,
  urlText
} from "./Setting.js"

const allowList: Parse<Either.Either.Right<ReturnType<typeof parseAllowList>>> = (text) =>
  Either.mapLeft(parseAllowList(text), () => "networks such as 127.0.0.1/32 or 10.0.0.0/8:5432, separated by commas")

const networks: Parse<ReadonlyArray<string>> = (text) => {
  const found = text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
  return found.every((one) => parseNetwork(one) !== undefined)
    ? Either.right(found)
    : Either.left("IP addresses or networks such as 10.0.0.0/8, separated by commas")
}

const clusterSecrets: Parse<ReadonlyArray<string>> = (text) => {
  const found = text.split(",").map((one) => one.trim())
  return found.length <= 2 && found.every((one) => one.length >= 32)
    ? Either.right(found)
    : Either.left("a secret of at least 32 characters, or two, separated by a comma")
}

const hostText: Parse<string> = (text) =>
  isHost(text) ? Either.right(text) : Either.left("a host name, or an address such as 127.0.0.1 or ::1")

const nodeAddress: Parse<{ readonly host: string; readonly port: number }> = (text) => {
  const [, host = "", port = ""] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text) ?? []
  const bare = host.replace(/^\[(.*)\]$/, "$1")
  const isReachable = host === bare ? isHost(host) : isAddress(bare)
  return !isReachable || Number(port) < 1 || Number(port) > 65_535 || host === "0.0.0.0" || host === "[::]"
    ? Either.left("an address that other nodes reach, host:port")
    : Either.right({ host: bare, port: Number(port) })
}

/** A duration between two; `words` names both. */
const durationBetween =
  (least: Duration.DurationInput, most: Duration.DurationInput, words: string): Parse<Duration.Duration> =>
  (text) =>
    Either.filterOrLeft(
      durationText(text),
      Duration.between({ minimum: Duration.decode(least), maximum: Duration.decode(most) }),
      () => `a duration from ${words}`
    )

const logLevels = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
}
const logLevel: Parse<LogLevel.LogLevel> = (text) =>
  Either.map(oneOfTexts("trace", "debug", "info", "warning", "error", "none")(text), (name) => logLevels[name])

/** A terminal is read by a person, a file or a pipe by a program. */
export const defaultLogFormat = (): "json" | "pretty" => (process.stdout.isTTY ? "pretty" : "json")

const postgresUrl = urlText("postgres", "postgresql")

/** Every variable, in the order of the documents. */
export const settingTable = {
  host: setting(
    { name: "SVC_HOST", meaning: "The address on which svc listens. 0.0.0.0 for every interface." },
    hostText,
    "127.0.0.1"
  ),
  port: setting(
    { name: "SVC_PORT", meaning: "The port on which svc listens; 0 takes a free one." },
    integerText(0, 65_535),
    8_080
  ),
  publicUrl: optionalSetting(
    { name: "SVC_PUBLIC_URL", meaning: "The address by which the outside reaches svc: in webhook and connect links." },
    urlText("http", "https"),
    "`http://SVC_HOST:SVC_PORT`"
  ),
  dataDir: setting(
    { name: "SVC_DATA_DIR", meaning: "Where svc keeps its files: the embedded Postgres, and the keys made for it." },
    anyText,
    ".svc"
  ),
  databaseUrl: secretSetting(
    {
      name: "SVC_DATABASE_URL",
      meaning: "A Postgres of yours (15 or later): one login that is a member of svc's four roles."
    },
    postgresUrl,
    "none: svc runs a Postgres of its own"
  ),
  ownerUrl: secretSetting(
    { name: "SVC_DATABASE_URL_OWNER", meaning: "The login of svc_owner, who migrates." },
    postgresUrl,
    "SVC_DATABASE_URL"
  ),
  writerUrl: secretSetting(
    { name: "SVC_DATABASE_URL_WRITER", meaning: "The login of svc_writer: journal, intake, sweeps." },
    postgresUrl,
    "SVC_DATABASE_URL"
  ),
  appUrl: secretSetting(
    { name: "SVC_DATABASE_URL_APP", meaning: "The login of svc_app: requests, one organisation at a time." },
    postgresUrl,
    "SVC_DATABASE_URL"
  ),
  auditUrl: secretSetting(
    { name: "SVC_DATABASE_URL_AUDIT", meaning: "The login of svc_audit_reader." },
    postgresUrl,
    "SVC_DATABASE_URL"
  ),
  role: optionalSetting(
    {
      name: "SVC_ROLE",
      meaning:
        "Makes this process one of several nodes on one database (docs/operate.md): api serves requests, runner does the work, all does both. Also `svc start --role`."
    },
    oneOfTexts("all", "api", "runner"),
    "none: the only process on its database"
  ),
  clusterSecret: secretSetting(
    {
      name: "SVC_CLUSTER_SECRET",
      meaning:
        "The secret of the connections between nodes, the same on all: at least 32 characters. While it is replaced, two, separated by a comma: this node uses the first, and accepts both."
    },
    clusterSecrets,
    "none: needed by a node of a cluster"
  ),
  nodeAddress: optionalSetting(
    {
      name: "SVC_NODE_ADDRESS",
      meaning: "Where other nodes reach this one: host:port, on a private network."
    },
    nodeAddress,
    "a free port of 127.0.0.1"
  ),
  nodeListen: optionalSetting(
    {
      name: "SVC_NODE_LISTEN",
      meaning: "The address to listen on for other nodes, if it is not the host of SVC_NODE_ADDRESS: 0.0.0.0 for all."
    },
    hostText,
    "the host of SVC_NODE_ADDRESS"
  ),
  natsUrl: secretSetting(
    {
      name: "SVC_NATS_URL",
      meaning:
        "A NATS server (2.9 or later, with JetStream) that carries events between nodes: nats://user:password@host:4222. Bind it to a private address. Postgres stays the only store: while the server is away, svc works without it."
    },
    urlText("nats", "tls"),
    "none: nodes take events from Postgres"
  ),
  workspaceUrl: secretSetting(
    {
      name: "SVC_WS_DATABASE_URL",
      meaning:
        "An administrator's login for svc.db: the path names the database from which svc makes one database and one login for each workspace. Best a superuser, on a server of its own: a managed Postgres may not let svc take away what it must, svc takes CONNECT on postgres and template1 from PUBLIC, and where another database lets every login in, svc.db stays off. Bound the memory of that server's processes: svc can only do so on its own machine."
    },
    postgresUrl,
    "the embedded Postgres; otherwise svc.db is off"
  ),
  appConnections: setting(
    { name: "SVC_DB_POOL_APP", meaning: "Connections to Postgres for requests." },
    integerText(1, 500),
    10
  ),
  writerConnections: setting(
    {
      name: "SVC_DB_POOL_WRITER",
      meaning: "Connections to Postgres for journal, intake and sweeps, at least 4: maintenance holds up to two."
    },
    integerText(4, 500),
    10
  ),
  connectTimeout: setting(
    {
      name: "SVC_DB_CONNECT_TIMEOUT",
      meaning:
        "How long svc waits for a connection to Postgres, a free one or a new one, before what needs it fails. Longer where Postgres is often busy."
    },
    durationBetween("1 second", "2 minutes", "1s to 2m"),
    Duration.seconds(5),
    "5s"
  ),
  startWait: setting(
    {
      name: "SVC_DB_START_WAIT",
      meaning:
        "How long a start waits for a Postgres that does not answer, has no connection left or is starting, before it ends. It logs what it waits for."
    },
    durationBetween("0 seconds", "10 minutes", "0s to 10m"),
    Duration.seconds(30),
    "30s"
  ),
  masterKeys: secretSetting(
    {
      name: "SVC_MASTER_KEYS",
      meaning:
        "The keys that wrap every stored secret, `id:base64` of 32 bytes, separated by commas. The first is used for new secrets, the others still open old ones. A start refuses keys that are not this installation's."
    },
    readMasterKeys,
    "made in SVC_DATA_DIR with the embedded Postgres; required otherwise"
  ),
  keyPepper: secretSetting(
    {
      name: "SVC_KEY_PEPPER",
      meaning:
        "The secret under which API keys are hashed, at least 32 characters. A start refuses another one than this installation's, under which no API key would work."
    },
    readPepper,
    "made in SVC_DATA_DIR with the embedded Postgres; required otherwise"
  ),
  keysDir: optionalSetting(
    {
      name: "SVC_KEYS_DIR",
      meaning:
        "The directory of the files master.keys and key.pepper, which are used where SVC_MASTER_KEYS and SVC_KEY_PEPPER are not set. They are not made there."
    },
    anyText,
    "SVC_DATA_DIR with the embedded Postgres"
  ),
  defaultPlan: optionalSetting(
    {
      name: "SVC_DEFAULT_PLAN",
      meaning: "The plan of an organisation that names none: starter, growth, enterprise or unlimited."
    },
    oneOfTexts("starter", "growth", "enterprise", "unlimited"),
    "unlimited with the embedded Postgres, else starter"
  ),
  platformValues: setting(
    {
      name: "SVC_PLATFORM_CONFIG",
      meaning:
        'The platform\'s values of the configuration hierarchy, as a JSON object: what holds where no organisation says otherwise, e.g. `{"env.REGION":"eu"}`.'
    },
    jsonObjectText,
    {},
    "none"
  ),
  egressAllow: setting(
    {
      name: "SVC_EGRESS_ALLOW",
      meaning:
        "Networks of yours that workflows and connectors may call, beside the public internet: `10.1.0.0/16` or `127.0.0.1/32:5000`, separated by commas."
    },
    allowList,
    [],
    "none"
  ),
  smtpUrl: secretSetting(
    {
      name: "SVC_SMTP_URL",
      meaning:
        "The mail server for notifications, invitations and links to sign in: `smtps://user:password@mail.example.com?from=svc@example.com`. With smtp:// STARTTLS is used, unless `&security=none` is added."
    },
    mailServer,
    "none: no e-mail is sent"
  ),
  ...oidcTable,
  trustedProxies: setting(
    {
      name: "SVC_TRUSTED_PROXIES",
      meaning: "Your reverse proxies, whose X-Forwarded-For is believed: addresses or networks, separated by commas."
    },
    networks,
    [],
    "none"
  ),
  metrics: setting(
    {
      name: "SVC_METRICS",
      meaning:
        "Who reads `/metrics` and the details of `/readyz`: `private`, loopback and private networks, or `open`, everybody."
    },
    oneOfTexts("private", "open"),
    "private"
  ),
  runners: setting(
    { name: "SVC_RUNNERS", meaning: "Processes that run customers' code." },
    integerText(1, 256),
    availableParallelism(),
    "one for each core"
  ),
  guestMemory: setting(
    {
      name: "SVC_GUEST_MEMORY_MB",
      meaning:
        "Memory in MiB that customers' code may hold on this node, over all runners. Above it, runs that wait leave memory and are replayed later, first those of the organisation that holds most, together with those that share its plan. At least 192 for each runner is taken."
    },
    integerText(256, 16_777_216),
    defaultGuestMemory() / 1_048_576,
    "a quarter of the machine's or the container's memory, at least 256"
  ),
  heldMemory: setting(
    {
      name: "SVC_HELD_MEMORY_MB",
      meaning:
        "Memory in MiB for bytes from outside that svc holds on this node: request bodies, answers of providers and databases, journals that are replayed. Whoever needs more waits, for five seconds at most, and is then refused. An organisation, with those that share its plan, gets half while others wait."
    },
    integerText(64, 16_777_216),
    Math.floor(defaultLedgerBytes() / 1_048_576),
    "a quarter of the machine's or the container's memory, at least 64"
  ),
  runSlots: setting(
    { name: "SVC_RUN_SLOTS", meaning: "Runs in progress at once on this node; more wait." },
    integerText(1, 100_000),
    256
  ),
  logLevel: setting(
    {
      name: "SVC_LOG_LEVEL",
      meaning: "The least severe entry that is logged: trace, debug, info, warning, error or none."
    },
    logLevel,
    LogLevel.Info,
    "info"
  ),
  logFormat: setting(
    {
      name: "SVC_LOG",
      meaning: "The form of log lines: json, one object a line, or pretty, for people. Also read as SVC_LOG_FORMAT."
    },
    oneOfTexts("json", "pretty"),
    defaultLogFormat(),
    "pretty on a terminal, else json"
  ),
  otlpUrl: optionalSetting(
    { name: "SVC_OTLP_URL", meaning: "An OpenTelemetry collector (OTLP over HTTP) for traces, metrics and logs." },
    urlText("http", "https"),
    "none: nothing is sent"
  ),
  otlpHeaders: secretSetting(
    { name: "SVC_OTLP_HEADERS", meaning: "Headers for the collector: `name=value`, separated by commas." },
    pairsText,
    "none"
  ),
  shutdownGrace: setting(
    {
      name: "SVC_SHUTDOWN_GRACE",
      meaning: "How long a stop may take; open requests have it but for 5 s (at least half)."
    },
    durationText,
    Duration.seconds(30),
    "30s"
  )
}

/** Former names of variables, which are still read. */
export const formerNames: Readonly<Record<string, string>> = { SVC_LOG_FORMAT: settingTable.logFormat.name }

/** The table as rows for documents. */
export const settings: ReadonlyArray<Setting<unknown>> = Object.values(settingTable)
