/**
 * The state of a connection in its owner's memory, a cache of the store. Each change is decided, committed and only then
 * cached; a change that another owner overtook is decided again on what that owner wrote.
 */
import { Clock, Context, type Deferred, Effect, Either, Layer, Option, Redacted } from "effect"
import type { AuditActor } from "../../domain/Audit.js"
import { changesBetween } from "../../domain/Audit.js"
import { connectionView } from "../../domain/connection/Connection.js"
import {
  outboundEventType,
  type ConnectionStateCommand,
  decide,
  evolve
} from "../../domain/connection/ConnectionStates.js"
import {
  type Credential,
  credentialOf,
  credentialText,
  credentialFingerprint,
  credentialLifetime,
  credentialMembers
} from "../../domain/connection/Credential.js"
import { idleLimiter, type LimiterState } from "../../domain/connection/RateLimiter.js"
import { coolDownMillis, nextCheckAt } from "../../domain/connection/Refresh.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { ConnectionId, CredentialId, OrganisationId } from "../../domain/Ids.js"
import type { Connection } from "../../domain/connection/Connection.js"
import type { Initiator } from "../ports/Connections.js"
import {
  type ConnectionChange,
  ConnectionStore,
  type CredentialRow,
  type DomainEvent,
  type OwnedConnection
} from "../ports/ConnectionStore.js"
import { Connectors } from "../ports/Connectors.js"
import { Digests } from "../ports/Digests.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type OrganisationVault, Vault } from "../ports/Vault.js"
import type { CallLimits } from "../../domain/connection/RateLimiter.js"
import type { SharedPermits } from "./SharedPermits.js"
import type { CommandRefusal } from "./Protocol.js"

/** A connection with its credential in the clear (`plain`). */
export interface OpenConnection extends Omit<OwnedConnection, "credential"> {
  readonly credential: { readonly id: CredentialId; readonly number: number } | null
  readonly plain: Credential | null
}

/** The connector's parts that calls need. Cached until `until`, in Unix milliseconds. */
export interface CachedConnector {
  readonly until: number
  readonly definition: ConnectorDefinition
  readonly method: AuthMethod
  readonly origins: ReadonlyArray<string>
  /** CallLimits that the provider counts for this connection alone. */
  readonly limits: CallLimits
  /** Permits of limits that the provider counts over all connections of the connector. */
  readonly shared: SharedPermits | null
  readonly vault: OrganisationVault
}

/** One connection's state on the node that owns its shard. */
export interface ConnectionOwner {
  readonly id: ConnectionId
  /** The cluster's shard that the connection is in. */
  readonly shard: number
  /** Held while a change is decided and committed, never during a request to a provider. Created on first use. */
  writeLock: Effect.Semaphore | undefined
  open: OpenConnection | undefined
  connector: CachedConnector | undefined
  limiter: LimiterState
  /** Completes with the refresh in progress, if there is one; all callers that need a new token wait for it. */
  pendingRefresh: Deferred.Deferred<void> | undefined
  /** Whether a call used the credential since the last refresh. */
  usedSinceRefresh: boolean
  /** Number of the last credential that the token endpoint issued to this owner. */
  issuedNumber: number | undefined
  /** How often in a row the provider refused the credential. */
  refusalsInARow: number
  /** Permits given so far; part of the next permit's name. */
  permitCount: number
}

/** The owner of a connection that is not yet loaded. */
export const newOwner = (id: ConnectionId, shard: number): ConnectionOwner => ({
  id,
  shard,
  writeLock: undefined,
  open: undefined,
  connector: undefined,
  limiter: idleLimiter,
  pendingRefresh: undefined,
  usedSinceRefresh: false,
  issuedNumber: undefined,
  refusalsInARow: 0,
  permitCount: 0
})

/** Serialises changes of one connection. */
export const withWriteLock = <A, E, R>(self: ConnectionOwner, change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => (self.writeLock ??= Effect.unsafeMakeSemaphore(1)).withPermits(1)(change))

/** Fails with a refusal. */
export const failWith = (refusal: CommandRefusal): Effect.Effect<never, CommandRefusal> => Effect.fail(refusal)
export const busy = (reason: string, retryAfterSeconds = 1): CommandRefusal => ({
  _tag: "Busy",
  reason,
  retryAfterSeconds
})
/** Maps a store that does not answer to `Busy`. */
export const orBusy = <A>(effect: Effect.Effect<A, { readonly reason: string }>): Effect.Effect<A, CommandRefusal> =>
  Effect.mapError(effect, ({ reason }) => busy(reason))
const notFound: CommandRefusal = { _tag: "NotFound" }

/** The initiator of changes that the service makes by itself. */
export const system: Initiator = {
  actor: {
    id: "system",
    ip: null,
    name: "svc",
    onBehalfOf: null,
    type: "system",
    userAgent: null
  } satisfies AuditActor,
  requestId: null
}

/** Associated data of a sealed credential: it can be opened in its own row and under its own number only. */
const sealPlace = (id: CredentialId, number: number) => ({
  table: "credentials",
  column: "sealed",
  row: `${id}/${number}`
})

/** What is committed together with a change of a connection. */
export interface ChangeOptions {
  /** Replaces the credential. */
  readonly credential?: { readonly value: Credential; readonly rotated: boolean }
  readonly audit?: { readonly action: string; readonly by: Initiator }
  readonly session?: ConnectionChange["session"]
  readonly makesDefault?: boolean
  /** Called with the state on which the change is decided; a refusal stops the change. */
  readonly precondition?: (open: OpenConnection) => CommandRefusal | undefined
}

/** Whether the credential can be renewed without a person. */
export const isRenewable = (method: AuthMethod, credential: Credential | null): boolean =>
  method.type === "oauth2" &&
  credential?._tag === "Tokens" &&
  (credential.refreshToken !== null || method.grant === "client_credentials")

/** How long before its end a token is renewed, in seconds. */
export const marginOf = (method: AuthMethod) => (method.type === "oauth2" ? method.refresh.marginSeconds : 0)

const nextCheckOf = (
  connection: Connection,
  method: AuthMethod,
  credential: Credential | null,
  used: boolean,
  now: number
) => {
  if (connection.status !== "active" || credential === null) return null
  if (connection.refreshFailedAt !== null) return now + coolDownMillis(connection.health.consecutiveFailures)
  const renewable = isRenewable(method, credential)
  return nextCheckAt({ ...credentialLifetime(credential), renewable }, marginOf(method), used, now)
}

/** What sealing and opening stored credentials needs. */
interface CredentialSealContext {
  readonly vault: Vault["Type"]
  readonly identifiers: Identifiers["Type"]
  readonly digests: Digests["Type"]
}

interface OwnerContext extends CredentialSealContext {
  readonly store: ConnectionStore["Type"]
  readonly connectors: Connectors["Type"]
}

const vaultOf = ({ vault }: CredentialSealContext, organisation: string) =>
  Effect.mapError(vault.of(organisation), () => busy("the vault cannot be opened", 5))

/** The stored connection with its credential in the clear. */
const openStored = Effect.fnUntraced(function* (
  context: CredentialSealContext,
  stored: OwnedConnection
): Effect.fn.Return<OpenConnection, CommandRefusal> {
  const { connection, intent, revision } = stored
  if (stored.credential === null) return { connection, intent, revision, credential: null, plain: null }
  const { id, number, sealed } = stored.credential
  const doors = yield* vaultOf(context, stored.connection.organisationId)
  const text = yield* Effect.try({
    try: () => Redacted.make(Buffer.from(doors.open(sealPlace(id, number), sealed)).toString("utf8")),
    catch: () => busy("the stored credential does not open", 60)
  })
  const credential = credentialOf(text)
  if (Option.isNone(credential)) return yield* failWith(busy("the stored credential is damaged", 60))
  return { connection, intent, revision, credential: { id, number }, plain: credential.value }
})

/** Reads the connection from the store and caches it. */
const load = Effect.fnUntraced(function* (
  context: OwnerContext,
  self: ConnectionOwner
): Effect.fn.Return<OpenConnection, CommandRefusal> {
  const found = yield* Effect.mapError(context.store.load(self.id), ({ reason }) => busy(reason))
  if (Option.isNone(found)) return yield* failWith(notFound)
  const open = yield* openStored(context, found.value)
  self.open = open
  return open
})

/** The connection, from memory or the store; `NotFound` for another organisation. */
const read = (
  context: OwnerContext,
  self: ConnectionOwner,
  organisation: string
): Effect.Effect<OpenConnection, CommandRefusal> =>
  Effect.flatMap(self.open === undefined ? load(context, self) : Effect.succeed(self.open), (open) =>
    open.connection.organisationId === organisation ? Effect.succeed(open) : failWith(notFound)
  )

/** The connector in this version, else in its latest one. */
const definitionOf = Effect.fnUntraced(function* (
  { connectors }: OwnerContext,
  organisation: OrganisationId,
  slug: string,
  version: string | undefined
): Effect.fn.Return<ConnectorDefinition, CommandRefusal> {
  const find = (wanted?: string) =>
    Effect.mapError(connectors.find(organisation, slug, wanted), ({ reason }) => busy(reason))
  const found = version === undefined ? Option.none<ConnectorDefinition>() : yield* find(version)
  const latest = Option.isSome(found) ? found : yield* find()
  return yield* Option.match(latest, {
    onNone: () => failWith({ _tag: "Invalid", path: "connector", code: "NOT_FOUND", message: "names no connector" }),
    onSome: Effect.succeed
  })
})

/** The auth method with this id; `null`: the default one. */
const methodOf = (definition: ConnectorDefinition, id: string | null): Effect.Effect<AuthMethod, CommandRefusal> => {
  const found =
    id === null
      ? (definition.auth.find((method) => method.default) ?? definition.auth[0])
      : definition.auth.find((method) => method.id === id)
  return found === undefined
    ? failWith({
        _tag: "Invalid",
        path: "authMethod",
        code: "INVALID_VALUE",
        message: `is none of the connector's: ${definition.auth.map((method) => method.id).join(", ")}`
      })
    : Effect.succeed(found)
}

/** Seals a credential under the number after the one before. */
const sealCredential = Effect.fnUntraced(function* (
  context: CredentialSealContext,
  organisation: string,
  before: { readonly id: CredentialId; readonly number: number } | null,
  { rotated, value }: { readonly value: Credential; readonly rotated: boolean }
): Effect.fn.Return<CredentialRow, CommandRefusal> {
  const doors = yield* vaultOf(context, organisation)
  const id = before?.id ?? context.identifiers.next("cred")
  const number = (before?.number ?? 0) + 1
  const { expiresAt } = credentialLifetime(value)
  return {
    id,
    number,
    rotated,
    sealed: doors.seal(sealPlace(id, number), Redacted.value(credentialText(value))),
    members: credentialMembers(value),
    fingerprint: credentialFingerprint(value, context.digests.sha256Hex),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString()
  }
})

/** The event that tells others of a change; none without a type. */
const eventsOf = (
  { identifiers }: Pick<OwnerContext, "identifiers">,
  type: string | null,
  { connector, customerId, id, organisationId, health, status }: Connection,
  at: string
) =>
  type === null
    ? []
    : [
        {
          id: identifiers.next("evt"),
          organisationId,
          type,
          subject: id,
          customerId,
          payload: {
            connectionId: id,
            connector,
            customerId,
            status,
            reason: health.lastError,
            reconnect: `/api/v1/connections/${id}/reconnect`
          },
          at
        } satisfies DomainEvent
      ]

/** The audit entry of a change; none if no one asked for it. */
const auditOf = (
  { identifiers }: Pick<OwnerContext, "identifiers">,
  entry: ChangeOptions["audit"],
  before: Connection | null,
  after: Connection,
  at: string
): ConnectionChange["audit"] =>
  entry === undefined
    ? []
    : [
        {
          id: identifiers.next("aud"),
          organisationId: after.organisationId,
          at,
          actor: entry.by.actor,
          action: entry.action,
          resource: { type: entry.action.split(".")[0] ?? "connection", id: after.id, name: after.label },
          customerId: after.customerId,
          outcome: "success",
          requestId: entry.by.requestId,
          changes: changesBetween(before === null ? null : connectionView(before), connectionView(after)),
          count: 1
        }
      ]

/** Decides a change on the state in memory and commits it. Fails with `Stale` when another owner wrote in between. */
const tryChange = Effect.fnUntraced(function* (
  context: OwnerContext,
  self: ConnectionOwner,
  organisation: string,
  command: ConnectionStateCommand,
  extras: ChangeOptions
) {
  const open = yield* read(context, self, organisation)
  const refusal = extras.precondition?.(open)
  if (refusal !== undefined) return yield* failWith(refusal)
  const now = yield* Clock.currentTimeMillis
  const at = new Date(now).toISOString()
  const decided = decide(open.connection, command, now)
  if (Either.isLeft(decided)) return yield* failWith({ _tag: "WrongState", ...decided.left })
  const event = decided.right
  const after = evolve(open.connection, event, at)
  const definition = yield* Effect.option(
    definitionOf(context, after.organisationId, after.connector, after.connectorVersion)
  )
  const method = Option.flatMap(definition, ({ auth }) =>
    Option.fromNullable(auth.find(({ id }) => id === after.authMethod))
  )
  const row =
    extras.credential === undefined
      ? undefined
      : yield* sealCredential(context, organisation, open.credential, extras.credential)
  const isWiped = event._tag === "Disconnected"
  const plain = isWiped ? null : (extras.credential?.value ?? open.plain)
  const revision = yield* context.store.save({
    connection: after,
    revision: open.revision,
    credential: isWiped ? "wipe" : (row ?? "keep"),
    nextLookAt: Option.match(method, {
      onNone: () => null,
      onSome: (found) => nextCheckOf(after, found, plain, self.usedSinceRefresh, now)
    }),
    events: eventsOf(context, outboundEventType(open.connection, event), after, at),
    audit: auditOf(context, extras.audit, open.connection, after, at),
    ...(extras.session === undefined ? {} : { session: extras.session }),
    ...(extras.makesDefault === true ? { makesDefault: true } : {})
  })
  const next: OpenConnection = {
    connection: extras.makesDefault === true ? { ...after, isDefault: true } : after,
    revision,
    credential: isWiped ? null : row === undefined ? open.credential : { id: row.id, number: row.number },
    intent: null,
    plain
  }
  self.open = next
  self.connector = undefined
  return next
})

/** Decides a change, commits it and caches the result. When another owner wrote in between, reads and decides again. */
const change = (
  context: OwnerContext,
  self: ConnectionOwner,
  organisation: string,
  command: ConnectionStateCommand,
  extras: ChangeOptions = {}
): Effect.Effect<OpenConnection, CommandRefusal> =>
  withWriteLock(
    self,
    tryChange(context, self, organisation, command, extras).pipe(
      Effect.tapErrorTag("Stale", () =>
        Effect.sync(() => {
          self.open = undefined
        })
      ),
      Effect.retry({ times: 3, while: ({ _tag }) => _tag === "Stale" }),
      Effect.catchTags({
        Stale: () => failWith(busy("the connection is being changed elsewhere")),
        Unavailable: ({ reason }) => failWith(busy(reason))
      })
    )
  )

export const make = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const vault = yield* Vault

  const context: OwnerContext = { store, connectors, identifiers, digests, vault }

  return {
    read: (self: ConnectionOwner, organisation: string) => read(context, self, organisation),
    load: (self: ConnectionOwner) => load(context, self),
    change: (self: ConnectionOwner, organisation: string, command: ConnectionStateCommand, extras?: ChangeOptions) =>
      change(context, self, organisation, command, extras),
    sealCredential: (
      organisation: string,
      before: { readonly id: CredentialId; readonly number: number } | null,
      next: { readonly value: Credential; readonly rotated: boolean }
    ) => sealCredential(context, organisation, before, next),
    definitionOf: (organisation: OrganisationId, slug: string, version: string | undefined) =>
      definitionOf(context, organisation, slug, version),
    methodOf,
    eventsOf: (type: string | null, connection: Connection, at: string) => eventsOf(context, type, connection, at),
    auditOf: (entry: ChangeOptions["audit"], before: Connection | null, after: Connection, at: string) =>
      auditOf(context, entry, before, after, at),
    vaultOf: (organisation: string) => vaultOf(context, organisation)
  }
})

/** Reads and changes connections for all parts of the actor. One per node, so that an idle actor costs little memory. */
export class ConnectionOwners extends Context.Tag("svc/connection/ConnectionOwners")<
  ConnectionOwners,
  Effect.Effect.Success<typeof make>
>() {}
export const layer = Layer.effect(ConnectionOwners, make)
