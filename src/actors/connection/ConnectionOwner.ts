/**
 * What a connection's owner holds in memory, and the one way in which it changes: decided, committed, then held.
 * Everything here can be rebuilt from the store; a revision that somebody else wrote is noticed and read again.
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
import type { By } from "../ports/Connections.js"
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

/** What is held of a connection. The sealed form of the credential is not: what is open needs it no more. */
export interface Open extends Omit<OwnedConnection, "credential"> {
  readonly credential: { readonly id: CredentialId; readonly number: number } | null
  readonly plain: Credential | null
}

/** What calls need of the connector, read a moment ago. */
export interface Means {
  readonly until: number
  readonly definition: ConnectorDefinition
  readonly method: AuthMethod
  readonly origins: ReadonlyArray<string>
  /** What the provider counts of this connection alone. */
  readonly limits: CallLimits
  /** What it counts over all connections of the connector. */
  readonly shared: SharedPermits | null
  readonly vault: OrganisationVault
}

export interface ConnectionOwner {
  readonly id: ConnectionId
  /** The cluster's shard that the connection is in. */
  readonly shard: number
  /** Held while a change is decided and committed; never while a provider is asked. Made when it is first needed. */
  writing: Effect.Semaphore | undefined
  open: Open | undefined
  means: Means | undefined
  limiter: LimiterState
  /** The one refresh under way; everybody who needs it waits for it. */
  refreshing: Deferred.Deferred<void> | undefined
  /** Since the last refresh. */
  used: boolean
  /** Number of the credential that the token endpoint gave this owner last. */
  issued: number | undefined
  /** Refusals of the credential in a row. */
  refusals: number
  permits: number
}

export const newOwner = (id: ConnectionId, shard: number): ConnectionOwner => ({
  id,
  shard,
  writing: undefined,
  open: undefined,
  means: undefined,
  limiter: idleLimiter,
  refreshing: undefined,
  used: false,
  issued: undefined,
  refusals: 0,
  permits: 0
})

/** One change at a time. */
export const withWriteLock = <A, E, R>(self: ConnectionOwner, change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => (self.writing ??= Effect.unsafeMakeSemaphore(1)).withPermits(1)(change))

export const failWith = (refusal: CommandRefusal): Effect.Effect<never, CommandRefusal> => Effect.fail(refusal)
export const busy = (reason: string, retryAfterSeconds = 1): CommandRefusal => ({
  _tag: "Busy",
  reason,
  retryAfterSeconds
})
const gone: CommandRefusal = { _tag: "NotFound" }

/** The service itself, as the audit trail names it. */
export const system: By = {
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

/** Where a connection's credential is sealed: it opens in its own row and number only. */
const place = (id: CredentialId, number: number) => ({ table: "credentials", column: "sealed", row: `${id}/${number}` })

export interface Extras {
  /** A credential that takes the place of the one before. */
  readonly credential?: { readonly value: Credential; readonly rotated: boolean }
  readonly audit?: { readonly action: string; readonly by: By }
  readonly session?: ConnectionChange["session"]
  readonly makesDefault?: boolean
  /** What must still be so when the change is decided. */
  readonly unless?: (open: Open) => CommandRefusal | undefined
}

/** Whether its token can be renewed without a person. */
export const isRenewable = (method: AuthMethod, credential: Credential | null): boolean =>
  method.type === "oauth2" &&
  credential?._tag === "Tokens" &&
  (credential.refreshToken !== null || method.grant === "client_credentials")

export const marginOf = (method: AuthMethod) => (method.type === "oauth2" ? method.refresh.marginSeconds : 0)

const lookAt = (
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

export const make = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const vault = yield* Vault

  const vaultOf = (organisation: string) =>
    Effect.mapError(vault.of(organisation), () => busy("the vault cannot be opened", 5))

  // --- What is there ---

  const opened = Effect.fnUntraced(function* (held: OwnedConnection): Effect.fn.Return<Open, CommandRefusal> {
    const { connection, intent, revision } = held
    if (held.credential === null) return { connection, intent, revision, credential: null, plain: null }
    const { id, number, sealed } = held.credential
    const doors = yield* vaultOf(held.connection.organisationId)
    const text = yield* Effect.try({
      try: () => Redacted.make(Buffer.from(doors.open(place(id, number), sealed)).toString("utf8")),
      catch: () => busy("the stored credential does not open", 60)
    })
    const credential = credentialOf(text)
    if (Option.isNone(credential)) return yield* failWith(busy("the stored credential is damaged", 60))
    return { connection, intent, revision, credential: { id, number }, plain: credential.value }
  })

  const load = Effect.fnUntraced(function* (self: ConnectionOwner): Effect.fn.Return<Open, CommandRefusal> {
    const found = yield* Effect.mapError(store.load(self.id), ({ reason }) => busy(reason))
    if (Option.isNone(found)) return yield* failWith(gone)
    const open = yield* opened(found.value)
    self.open = open
    return open
  })

  /** The connection, for those of its organisation; for all others it is not there. */
  const current = (self: ConnectionOwner, organisation: string): Effect.Effect<Open, CommandRefusal> =>
    Effect.flatMap(self.open === undefined ? load(self) : Effect.succeed(self.open), (open) =>
      open.connection.organisationId === organisation ? Effect.succeed(open) : failWith(gone)
    )

  // --- Its connector ---

  const definitionOf = Effect.fnUntraced(function* (
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

  /** A method by its id, or the default one. */
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

  // --- Its changes ---

  /** A credential as it is stored under a number. */
  const sealed = Effect.fnUntraced(function* (
    organisation: string,
    before: { readonly id: CredentialId; readonly number: number } | null,
    { rotated, value }: { readonly value: Credential; readonly rotated: boolean }
  ): Effect.fn.Return<CredentialRow, CommandRefusal> {
    const doors = yield* vaultOf(organisation)
    const id = before?.id ?? identifiers.next("cred")
    const number = (before?.number ?? 0) + 1
    const { expiresAt } = credentialLifetime(value)
    return {
      id,
      number,
      rotated,
      sealed: doors.seal(place(id, number), Redacted.value(credentialText(value))),
      members: credentialMembers(value),
      fingerprint: credentialFingerprint(value, digests.sha256Hex),
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString()
    }
  })

  const told = (
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

  const audited = (
    entry: Extras["audit"],
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

  const attempt = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    command: ConnectionStateCommand,
    extras: Extras
  ) {
    const open = yield* current(self, organisation)
    const unfit = extras.unless?.(open)
    if (unfit !== undefined) return yield* failWith(unfit)
    const now = yield* Clock.currentTimeMillis
    const at = new Date(now).toISOString()
    const decided = decide(open.connection, command, now)
    if (Either.isLeft(decided)) return yield* failWith({ _tag: "WrongState", ...decided.left })
    const event = decided.right
    const after = evolve(open.connection, event, at)
    const definition = yield* Effect.option(definitionOf(after.organisationId, after.connector, after.connectorVersion))
    const method = Option.flatMap(definition, ({ auth }) =>
      Option.fromNullable(auth.find(({ id }) => id === after.authMethod))
    )
    const row =
      extras.credential === undefined ? undefined : yield* sealed(organisation, open.credential, extras.credential)
    const wiped = event._tag === "Disconnected"
    const plain = wiped ? null : (extras.credential?.value ?? open.plain)
    const revision = yield* store.save({
      connection: after,
      revision: open.revision,
      credential: wiped ? "wipe" : (row ?? "keep"),
      nextLookAt: Option.match(method, {
        onNone: () => null,
        onSome: (known) => lookAt(after, known, plain, self.used, now)
      }),
      events: told(outboundEventType(open.connection, event), after, at),
      audit: audited(extras.audit, open.connection, after, at),
      ...(extras.session === undefined ? {} : { session: extras.session }),
      ...(extras.makesDefault === true ? { makesDefault: true } : {})
    })
    const next: Open = {
      connection: extras.makesDefault === true ? { ...after, isDefault: true } : after,
      revision,
      credential: wiped ? null : row === undefined ? open.credential : { id: row.id, number: row.number },
      intent: null,
      plain
    }
    self.open = next
    self.means = undefined
    return next
  })

  /** Decides, commits, then holds. Whoever was fenced reads again and decides anew. */
  const change = (
    self: ConnectionOwner,
    organisation: string,
    command: ConnectionStateCommand,
    extras: Extras = {}
  ): Effect.Effect<Open, CommandRefusal> =>
    withWriteLock(
      self,
      attempt(self, organisation, command, extras).pipe(
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

  return { current, load, change, sealed, definitionOf, methodOf, told, audited, vaultOf }
})

/** The parts that all verbs of the actor share; one for all connections of a node, so that an idle one costs little. */
export class ConnectionOwners extends Context.Tag("svc/connection/Owners")<
  ConnectionOwners,
  Effect.Effect.Success<typeof make>
>() {}
export const layer = Layer.effect(ConnectionOwners, make)
