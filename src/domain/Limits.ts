/** Limits of the service that clients or operators can meet, each with its unit. Specification: Limits; contract: limits left open. */
import { Duration } from "effect"

const KiB = 1024
const MiB = 1024 * KiB

/** Largest request bodies, in bytes, by the kind of endpoint. */
export const bodyBytes = { management: 1 * MiB, execute: 2 * MiB, unified: 6 * MiB, webhook: 1 * MiB } as const

/** Largest body of a webhook in bytes, for plans that have none of the plan limits; other plans have that of `bodyBytes`. */
export const largeWebhookBytes = 5 * MiB

/** Fields of a form, and recorded refusals of one trigger in a minute on one node. */
export const webhookForm = { fields: 1_000 } as const
export const rejectionsPerMinute = 10

/** How many times larger than it was sent a compressed body may become. */
export const inflationRatio = 20

/** Limits of a request's body while it is received. */
export const incomingBody = {
  /** Bytes that are read before the request's caller is recognised. */
  unrecognisedBytes: 64 * KiB,
  /** Bodies of fewer bytes do not count against the node's budget once they are received. */
  countedBytes: 4 * KiB,
  /** The longest time until the body is complete. */
  deadline: Duration.seconds(30)
} as const

/** What is discarded of a request that was answered before it ended, so that its client can read the answer. */
export const refusedBody = {
  bytes: 2 * bodyBytes.unified,
  /** The longest time without a byte. */
  idle: Duration.seconds(2),
  deadline: Duration.seconds(10)
} as const

/** All request headers together, in bytes. */
export const headerBytes = 32 * KiB
/** The longest time until the headers are complete. */
export const headerDeadline = Duration.seconds(10)

/** The deepest nesting of a JSON document; deeper ones could exhaust the stack when they are serialised. */
export const jsonDepth = 64

/**
 * The most values in a JSON text, where an object or array counts five, a text two, a member three, a long integer sixteen,
 * each different name about twenty, and each different short text about ten. Parsing more would block the main loop.
 */
export const jsonWeight = 1_000_000

/** Records on a page of a list. */
export const pageSize = { default: 50, max: 200 } as const

/** The time for which a list cursor is valid. */
export const cursorLifetime = Duration.hours(24)

/** The time for which the reply to an Idempotency-Key is stored. */
export const idempotencyLifetime = Duration.hours(24)
/** Characters of an Idempotency-Key. */
export const idempotencyKeyLength = 255

/** Limits of one run's guest. */
export const guest = {
  /** Bytes of a workflow's source. */
  sourceBytes: 512 * KiB,
  inputBytes: 2 * MiB,
  outputBytes: 4 * MiB,
  memoryBytes: 128 * MiB,
  /** Host calls in the journal of one run. */
  calls: 10_000,
  /** Host calls of one run in flight, without timers; further calls wait in order. */
  callsAtOnce: 64,
  /** Characters of JSON of the arguments of all calls of one run that have not ended. */
  pendingArguments: 64 * MiB,
  /** The deepest nesting of a host call's argument. */
  argumentDepth: 256,
  /** The longest timer, which is the longest time of a run. */
  timer: Duration.hours(36),
  /** CPU time between two host calls. */
  cpuPerStep: Duration.seconds(2),
  /** Bytes of a response of `fetch`, and of its request's body. */
  fetchBytes: 4 * MiB,
  /** Characters of the URL and the headers of a `fetch`. */
  fetchHead: 64 * KiB,
  /** Characters of one line of `console`, and lines of one run. */
  logLine: 8 * KiB,
  logLines: 10_000
} as const

/**
 * Places for work that waits for partners outside, by use: of a node, an account, and a partner; and the time after which a
 * partner is slow.
 */
export const outwardPlaces = {
  deliveries: { perNode: 64, perAccount: 16, perPartner: 2, slowAfter: Duration.seconds(5) },
  /** E-mails and chats: a mail server that hangs keeps no callback or event waiting. */
  notifications: { perNode: 16, perAccount: 4, perPartner: 2, slowAfter: Duration.seconds(5) },
  polls: { perNode: 16, perAccount: 4, perPartner: 2, slowAfter: Duration.seconds(15) },
  subscriptions: { perNode: 16, perAccount: 4, perPartner: 2, slowAfter: Duration.seconds(5) },
  refreshes: { perNode: 32, perAccount: 8, perPartner: 1, slowAfter: Duration.seconds(5) },
  tests: { perNode: 64, perAccount: 16, perPartner: 16, slowAfter: Duration.seconds(5) }
} as const

/** How long the caller of an Instant flow on surface B waits: by default, and at most. */
export const flowCall = { defaultMillis: 60_000, mostMillis: 120_000 } as const

/** Bytes of one value in a trace or callback; a larger value is stored as a blob and referred to. */
export const traceValueBytes = 256 * KiB

/** Steps that the record of a run shows, and bytes of steps in one answer; the list of its steps has all of them, in pages. */
export const shownSteps = { most: 1_000, bytes: 8 * MiB } as const

/** Bytes of a run's metadata. */
export const metadataBytes = 4 * KiB

/** Limits of `svc.db`: of a statement, a workspace, an account, an organisation and a node. */
export const workspaceDb = {
  statementMillis: 30_000,
  /** The longest time that a transaction may be idle, and that it may take. */
  idleMillis: 30_000,
  transactionMillis: 300_000,
  /** Bytes of a statement with its parameters. */
  requestBytes: 8 * MiB,
  parameters: 65_535,
  rows: 10_000,
  resultBytes: 8 * MiB,
  /** Values in a result, including those inside JSON and arrays; and in one JSON value or array. */
  values: 200_000,
  valuesInOne: 100_000,
  /** Like `jsonWeight`, of one JSON value. */
  jsonWeight: 1_400_000,
  /** Characters of each part of a Postgres error that are returned. */
  messageLength: 2_000,
  /** Bytes of a workspace's schema. */
  bytes: 1024 * MiB,
  /** Bytes of temporary files of one statement. */
  temporaryBytes: 256 * MiB,
  /** Memory of the statement's server process; enforced only if Postgres runs on the same Linux machine. */
  memoryBytes: 256 * MiB,
  connectionsPerAccount: 4,
  transactionsPerAccount: 2,
  /** Statements and transactions of an organisation that may wait for a connection; further ones are refused. */
  waitingPerOrganisation: 64,
  /** The longest wait for a connection. */
  waitMillis: 30_000,
  /** Connections in use, those of them in transactions, and open connections including idle ones. */
  connectionsPerNode: 16,
  transactionsPerNode: 8,
  openPerNode: 24,
  /** An empty database is dropped after this time without use. */
  emptyMillis: 3_600_000
} as const

/** Configuration: bytes of JSON of one value, and values of one workflow, integration, customer or organisation. */
export const configurationValues = { valueBytes: 64 * KiB, valuesPerScope: 2_000 } as const

/** Limits of `svc.kv`. */
export const keyValue = { keyBytes: 512, valueBytes: 256 * KiB, lifetime: Duration.days(3_650) } as const

/** The time for which a run's journal and invocation state are kept after its end, so that it can be resumed. */
export const resumeWindow = Duration.days(7)

/** The time after which a queued run times out. */
export const queueTimeout = Duration.hours(24)

/** Process deaths without a new journal row after which a run is poisoned and fails. */
export const poisonAfter = 5
/** Process deaths without a new journal row after which a run is retried alone in its own runner. */
export const suspectAfter = 3

/** Leases of an event that ended with their process after which the event is given up: it ends the processes that take it. */
export const eventPoisonAfter = 10

/** The time after which a run that an event started, and that could not begin, times out. */
export const eventQueueTimeout = Duration.days(30)

/** Events: characters of a type and of keys, and replays of many dead letters. */
export const eventLimits = {
  typeLength: 200,
  deduplicationLength: 500,
  routeIdLength: 64,
  routes: 50,
  /** Dead letters of one replay, and how many of them a second. */
  replayed: 100_000,
  replaysPerSecond: 100,
  /** Replays of one workspace that run at once. */
  replays: 10
} as const

/** Replays by the service itself. */
export const autoReplays = {
  /** The largest and the usual `maxReplays` of a policy. */
  most: 10,
  standard: 3,
  /** Dead letters a second of one cause. */
  perSecond: 10,
  /** The time from a failure to its first replay on a schedule; each replay multiplies it, up to the longest. */
  pause: Duration.minutes(15),
  pauseFactor: 4,
  longestPause: Duration.days(1)
} as const

/** The longest period that one reconciliation covers. */
export const reconciliationPeriod = Duration.days(31)

/** Events of one delivery to a connector's webhook; one with more is refused. */
export const deliveredEventsLimit = 1_000

/** The longest time for which the sender of a webhook waits for the result of its run. */
export const webhookResultTimeout = Duration.seconds(30)

/** Address ranges of one key. */
export const allowedIps = 100

/** Workspaces of one organisation. */
export const workspacesPerOrganisation = 100

/** Bytes of an OpenAPI document that is imported. */
export const importBytes = 16 * MiB

/** Characters of a secret's value. */
export const secretLength = 64 * KiB

/** The time for which an invitation is valid. */
export const inviteLifetime = Duration.days(7)

/** The time for which callbacks and events are also signed with the old secret after a rotation. */
export const callbackSecretOverlap = Duration.hours(24)

/** Webhook endpoints of one organisation, and event types of one endpoint. */
export const webhookEndpointLimits = { endpoints: 50, events: 50 } as const

/** Deliveries that one request sends again, and how many of them a second. */
export const resendLimits = { deliveries: 100_000, usual: 10_000, perSecond: 100, usualPerSecond: 10 } as const

/** How long before its expiry a key is announced as expiring. */
export const keyExpiryNotice = Duration.days(7)

/** The longest time for which an event is held; then it becomes a dead letter. */
export const longestHold = Duration.days(30)

/** The time for which a webhook is also verified with the value of a secret that was replaced. */
export const webhookSecretOverlap = Duration.hours(24)

/** Refused calls of one address per minute and node, beyond which it is answered 429. */
export const refusalLimits = {
  /** Calls with credentials that do not exist. */
  unknownCredentials: 100,
  /** Calls of one caller whose credential is revoked, expired or wrongly signed. */
  ofOneCaller: 30,
  /** Calls over a limit are answered one after the other with this pause, but none waits longer than `longestWait`. */
  pause: Duration.millis(2),
  longestWait: Duration.seconds(2),
  /** Addresses and keys that are counted at once. */
  entries: 20_000,
  /** Audit entries of one key per minute, by address; further addresses share one more entry. */
  auditedAddresses: 50
} as const

/** Requests without a key by address and minute, and the bytes of their answers that clients have not read. */
export const publicLimits = {
  perMinute: { probe: 12_000, metrics: 600, document: 600, page: 600, missing: 600, preflight: 6_000 },
  /** Addresses that are counted at once. */
  entries: 20_000,
  /** On a node; one address has a quarter. */
  unreadBytes: 64 * MiB
} as const

/** The largest difference of a signed request's timestamp from the current time. */
export const signatureWindow = Duration.minutes(5)
/** The time for which a nonce is stored. */
export const nonceLifetime = Duration.minutes(10)

/** Calls through a connection, in milliseconds. */
export const connectedCall = {
  /** The longest timeout that an action or call may set, and the longest time of a streamed answer. */
  longestMillis: 600_000,
  /** The longest timeout of a request through the proxy (`x-svc-timeout-ms`). */
  proxyMillis: 60_000
} as const

/** Outgoing requests. */
export const egress = {
  redirects: 3,
  connectTimeout: Duration.seconds(10),
  /** Headers of one response; the limit of their bytes alone would allow thousands of tiny ones. */
  responseHeaders: 500,
  /** Connections of the node: an account has at most as many as are free, so one alone has half of them. */
  connections: 1024,
  /** Connections of one organisation to one origin; further requests wait for half of their time at most. */
  connectionsPerOrigin: 128
} as const

/** Connections between nodes: the other nodes, those to each of them, and those in their handshake at a time. */
export const nodePort = { peers: 64, connections: 2, handshakes: 64 } as const

/** Connections of clients to a node, fewer where the process may not open as many files; requests of one without an answer. */
export const incomingConnections = 10_000
export const pipelinedRequests = 64

/** Connections in `x-svc-connections`, and bytes of `x-svc-installation-config`. */
export const headerValues = { connections: 50, configBytes: 8 * KiB } as const

/** Workflows and connections of one installation. */
export const installationLimits = { workflows: 100, connections: 50 } as const

/**
 * Patterns of conditions: different ones in the filters of one trigger and of all triggers of an organisation, those that
 * one computation compiles, and the memory of those that are compiled.
 */
export const patternLimits = { trigger: 50, organisation: 500, batch: 16, cachedBytes: 64 * MiB } as const

/** Limits of one trigger. */
export const triggerLimits = {
  nameLength: 200,
  descriptionLength: 10_000,
  routes: 50,
  /** Headers that a route adds, and characters of each value. */
  headers: 50,
  headerValueLength: 2_048,
  /** Bytes of JSON of a route's payload, and of an app event's arguments. */
  payloadBytes: 256 * KiB,
  argumentBytes: 16 * KiB,
  /** Bytes of JSON, nesting and comparisons of a route's filter. */
  filterBytes: 16 * KiB,
  filterDepth: 16,
  comparisons: 200,
  pathLength: 500,
  timeZoneLength: 64,
  cronLength: 200,
  eventTypeLength: 200,
  /** The time for which a trigger that the service has disabled cannot be enabled. */
  coolDown: Duration.minutes(10),
  /** Consecutive failed runs after which a schedule is disabled. */
  failures: 20
} as const

/** Pages and items of one poll of a connected system. */
export const pollLimits = { pages: 200, items: 20_000 } as const

/** Schedules. */
export const scheduleLimits = {
  /** The longest interval between two ticks, in units of the mode. */
  every: 10_000,
  delayMinutes: 1_440,
  /** A tick that fires later than this was missed. */
  grace: Duration.seconds(60),
  /** Missed ticks that the catch-up `all` fires. */
  catchUp: 1_000,
  /** A schedule must have a tick within this time. */
  horizon: Duration.days(366 * 28)
} as const

/** Notifications of runs: of one run, those in the application of an organisation in an hour, and targets that one names. */
export const runNotifications = { perRun: 100, inAppPerHour: 2_000, targets: 20 } as const

/**
 * Approvals: those that may be open of one run and one organisation, people who are asked by one, and mails an hour of an
 * organisation and to one address.
 */
export const approvalLimits = {
  openPerRun: 50,
  openPerOrganisation: 10_000,
  approvers: 20,
  messageLength: 4_000,
  commentLength: 2_000,
  asked: 50,
  mailsPerHour: 500,
  mailsToAddress: 20
} as const

/** Confirmations of addresses: mails an hour by organisation, and addresses of one organisation. */
export const mailConfirmations = { perHour: 20, addresses: 500 } as const

/** A message by SMTP: recipients that every server must accept (RFC 5321), and bytes that large providers accept. */
export const mail = { recipients: 100, messageBytes: 25 * MiB } as const

/** The lifetime of a connect session and its link. */
export const connectSessionLifetime = Duration.minutes(15)

/** Refreshes of access tokens. */
export const tokenRefresh = {
  /** A connection whose refreshes fail for this time becomes `expired`. */
  giveUpAfter: Duration.days(4),
  /** An unused connection is refreshed at this interval, so that the provider does not end its grant. */
  idleInterval: Duration.hours(24)
} as const

/** The longest time for which a provider's headers can block a connection. */
export const longestProviderBlockMillis = 24 * 3_600_000

/** The audit chain: the age at which an unsealed entry fails verification, and the interval of signed checkpoints. */
export const auditSeal = { overdueSeconds: 10, checkpointMillis: 60_000 } as const

/** YAML documents. `merged`: members that merge keys bring. */
export const yamlDocument = { aliases: 1_000, merged: 1_000_000 } as const

/** Items in one answer: mistakes of a definition, violations of a contract, warnings. */
export const answerItems = { details: 200, violations: 20, warnings: 200 } as const
