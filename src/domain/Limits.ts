/** Every limit of the service with its unit, in one place. Specification: Limits; contract: limits left open. */
import { Duration } from "effect"

const KiB = 1024
const MiB = 1024 * KiB

/** Largest request bodies, in bytes, by the kind of endpoint. */
export const bodyBytes = { management: 1 * MiB, execute: 2 * MiB, unified: 6 * MiB, webhook: 1 * MiB } as const

/** All request headers together, in bytes. */
export const headerBytes = 32 * KiB

/** How deep a JSON document may nest: deeper ones exhaust the stack of whatever serialises them. */
export const jsonDepth = 64

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
export const configuration = { valueBytes: 64 * KiB, valuesPerScope: 2_000 } as const

export const keyValue = { keyBytes: 512, valueBytes: 256 * KiB } as const

/** How long state of one invocation, and the journal that a resume needs, outlive the end of the run. */
export const resumeWindow = Duration.days(7)

/** How long an accepted run may wait for a slot before it times out. */
export const queueTimeout = Duration.hours(24)

/** Activations without a new journal row after which a run counts as poisoned. */
export const poisonAfter = 5
/** Activations after which a run is taken up alone, so that it is not blamed for what another one does to the process. */
export const suspectAfter = 2

export const allowedIps = 100

/** A document that a connector is imported from, in bytes. */
export const importBytes = 16 * MiB

/** The value of a secret, in characters. */
export const secretLength = 64 * KiB

/** How long an invitation can be accepted. */
export const inviteLifetime = Duration.days(7)

/** How long signatures of a rotated callback secret go along with those of the new one. */
export const callbackSecretOverlap = Duration.hours(24)

/** How far a signed request's timestamp may lie from now. */
export const signatureWindow = Duration.minutes(5)
/** How long a nonce of a signed request is remembered. */
export const nonceLifetime = Duration.minutes(10)
