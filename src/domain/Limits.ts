/** Every limit of the service with its unit, in one place. Specification: Limits; contract: limits left open. */
import { Duration } from "effect"

const KiB = 1024
const MiB = 1024 * KiB

/** Largest request bodies, in bytes, by the kind of endpoint. */
export const bodyBytes = { management: 1 * MiB, execute: 2 * MiB, unified: 6 * MiB, webhook: 1 * MiB } as const

/** A request's body while it comes in. */
export const arrivingBody = {
  /** What is read of it before the request's key is known, in bytes. */
  unidentifiedBytes: 64 * KiB,
  /** Smaller bodies are not counted against the node's budget once they are here, in bytes. */
  countedBytes: 4 * KiB,
  /** How long it may take. */
  deadline: Duration.seconds(30)
} as const

/** All request headers together, in bytes. */
export const headerBytes = 32 * KiB
/** How long the headers of a request may take. */
export const headerDeadline = Duration.seconds(10)

/** How deep a JSON document may nest: deeper ones exhaust the stack of whatever serialises them. */
export const jsonDepth = 64

/** How many values one JSON text may hold; an object or an array counts five. More holds up the main loop when it is parsed. */
export const jsonWeight = 1_000_000

export const pageSize = { default: 50, max: 200 } as const

/** How long a list cursor stays valid. */
export const cursorLifetime = Duration.hours(24)

/** How long an Idempotency-Key is remembered. */
export const idempotencyLifetime = Duration.hours(24)
export const idempotencyKeyLength = 255

export const guest = {
  /** Source of one workflow, in bytes. */
  sourceBytes: 512 * KiB,
  inputBytes: 2 * MiB,
  outputBytes: 4 * MiB,
  memoryBytes: 128 * MiB,
  /** Host calls that one run may journal. */
  calls: 10_000,
  /** Host calls of one run that are under way at once, but for timers; the rest wait in the order in which they were made. */
  callsAtOnce: 64,
  /** Arguments of all calls of one run that have not ended, in characters of JSON. */
  pendingArguments: 64 * MiB,
  /** How deep an argument of a host call may nest. */
  argumentDepth: 256,
  /** The longest timer: no run may last longer. */
  timer: Duration.hours(36),
  /** Uninterrupted computing between two host calls. */
  cpuPerStep: Duration.seconds(2),
  /** A response of `fetch`, and a request body, in bytes. */
  fetchBytes: 4 * MiB,
  /** One line of `console`, in characters, and all lines of one run. */
  logLine: 8 * KiB,
  logLines: 10_000
} as const

/** What a trace or a callback carries of one value, in bytes; a larger one becomes a blob and a reference to it. */
export const traceValueBytes = 256 * KiB

export const metadataBytes = 4 * KiB

/** `svc.db`: of one statement, of one workspace, of one organisation, of one node. */
export const workspaceDb = {
  statementMillis: 30_000,
  /** How long a transaction may do nothing, and how long it may take. */
  idleMillis: 30_000,
  transactionMillis: 300_000,
  /** A statement with its values. */
  requestBytes: 8 * MiB,
  parameters: 65_535,
  rows: 10_000,
  resultBytes: 8 * MiB,
  /** Values of an answer, those inside JSON and arrays among them; and of one JSON value or array. */
  values: 200_000,
  valuesInOne: 100_000,
  /** What Postgres says of an error, in characters of each part. */
  messageLength: 2_000,
  /** What a workspace may hold. */
  bytes: 1024 * MiB,
  /** What one statement may put into files while it computes. */
  temporaryBytes: 256 * MiB,
  /** What its server process may hold in memory, where the service can see it: on the same machine, with Linux. */
  memoryBytes: 256 * MiB,
  connectionsPerOrganisation: 4,
  transactionsPerOrganisation: 2,
  /** Statements that wait for a connection, and transactions; one more is refused. */
  waitingPerOrganisation: 64,
  /** How long one waits. */
  waitMillis: 30_000,
  /** Connections in use, how many of them in transactions, and open ones with those that are idle. */
  connectionsPerNode: 16,
  transactionsPerNode: 8,
  openPerNode: 24,
  /** An empty database that nothing used for so long is dropped. */
  emptyMillis: 3_600_000
} as const

/** Configuration values: characters of JSON of one, and how many one workflow, integration, customer or organisation has. */
export const configurationValues = { valueBytes: 64 * KiB, valuesPerScope: 2_000 } as const

export const keyValue = { keyBytes: 512, valueBytes: 256 * KiB, lifetime: Duration.days(3_650) } as const

/** How long state of one invocation, and the journal that a resume needs, outlive the end of the run. */
export const resumeWindow = Duration.days(7)

/** How long an accepted run may wait for a slot before it times out. */
export const queueTimeout = Duration.hours(24)

/** Deaths of a process that worked on a run, without a new journal row, after which the run counts as poisoned. */
export const poisonAfter = 5
/** Deaths after which a run is taken up alone, in a runner of its own. */
export const suspectAfter = 2

export const allowedIps = 100

export const workspacesPerOrganisation = 100

/** A document that a connector is imported from, in bytes. */
export const importBytes = 16 * MiB

/**
 * Computations on what tenants choose: patterns, schemas, documents, sources, drawings. Milliseconds of computing time for
 * each kind; beyond it the computation ends and its request or run fails.
 */
export const computing = {
  millis: {
    checkSchemas: 1_000,
    checkValue: 1_000,
    matchPatterns: 200,
    readDefinition: 5_000,
    importDefinition: 10_000,
    analyseWorkflow: 3_000,
    drawDiagram: 3_000,
    diffLines: 2_000
  },
  /** Processes at once. One organisation uses one at a time. */
  workers: 2,
  /** Computations of one organisation that may wait. */
  waiting: 64,
  /** What one computation may answer, in bytes. */
  answerBytes: 16 * MiB
} as const

/** The value of a secret, in characters. */
export const secretLength = 64 * KiB

/** How long an invitation can be accepted. */
export const inviteLifetime = Duration.days(7)

/** How long signatures of a rotated callback secret go along with those of the new one. */
export const callbackSecretOverlap = Duration.hours(24)

/** Refused calls of one address in a minute, after which it is answered 429: on one node. */
export const refusals = {
  /** With keys that do not exist. */
  unknownKeys: 100,
  /** With one key that is revoked, has expired or is signed wrongly. */
  ofOneKey: 30,
  /** Calls over one of these limits are answered one after the other, at most one in this time; none waits longer. */
  pause: Duration.millis(2),
  longestWait: Duration.seconds(2),
  /** Addresses and keys that are counted at a time. */
  entries: 20_000,
  /** Audit entries of one key in a minute; what other addresses add is one entry more. */
  auditedAddresses: 50
} as const

/** How far a signed request's timestamp may lie from now. */
export const signatureWindow = Duration.minutes(5)
/** How long a nonce of a signed request is remembered. */
export const nonceLifetime = Duration.minutes(10)

/** Calls through a connection, in milliseconds. */
export const connectedCall = {
  /** The longest time-out that an action or a call may set, and the longest that an answer may flow. */
  longestMillis: 600_000,
  /** Of a call that sets no time-out. */
  defaultMillis: 60_000,
  /** The longest time-out of a request through the proxy (`x-svc-timeout-ms`). */
  proxyMillis: 60_000
} as const

/** Requests that leave the service. */
export const egress = {
  redirects: 3,
  connectTimeout: Duration.seconds(10),
  /** Headers of one response. Their bytes are limited too, which leaves room for thousands of tiny ones. */
  responseHeaders: 500
} as const

/** What the headers `x-svc-connections` and `x-svc-installation-config` may carry. */
export const headerValues = { connections: 50, configBytes: 8 * KiB } as const

/** Workflows that one installation covers, and connections that it chooses. */
export const installation = { workflows: 100, connections: 50 } as const

/** A message by SMTP: recipients that every server must take (RFC 5321), and bytes that the large providers take. */
export const mail = { recipients: 100, messageBytes: 25 * MiB } as const

/** How long the link of a connect session can be used. */
export const connectSessionLifetime = Duration.minutes(15)

export const tokenRefresh = {
  /** A connection whose token could not be refreshed for so long has expired. */
  giveUpAfter: Duration.days(4),
  /** An idle connection is refreshed this often, so that its grant stays valid. */
  idleInterval: Duration.hours(24)
} as const

/** The longest pause that a provider's rate limit headers can impose on a connection. */
export const longestProviderBlockMillis = 24 * 3_600_000

/** The audit chain: when an unsealed entry is a failure, and how often a signed checkpoint is written after changes. */
export const auditSeal = { overdueSeconds: 10, checkpointMillis: 60_000 } as const

/** YAML documents. */
export const yamlDocument = { aliases: 1_000 } as const

/** How much one answer tells: mistakes of a definition, violations of a contract, warnings. */
export const answerItems = { details: 200, violations: 20, warnings: 200 } as const
