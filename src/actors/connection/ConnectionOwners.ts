/**
 * Reads and changes connections. Each change is decided, committed and only then cached; a change that another owner
 * overtook is decided again on what that owner wrote.
 */
import { didYouMean } from "../../domain/ClosestName.js"
import { InvalidState, invalid, refuseWith } from "../../domain/Failure.js"
import { Clock, Effect, Either, Option } from "effect"
import {
  outboundEventType,
  type ConnectionStateCommand,
  decide,
  evolve
} from "../../domain/connection/ConnectionStates.js"
import { type Credential, credentialLifetime } from "../../domain/connection/Credential.js"
import { coolDownMillis, nextCheckAt } from "../../domain/connection/Refresh.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Connection } from "../../domain/connection/Connection.js"
import { ConnectionStore } from "../ports/connection/ConnectionStore.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { makeSharedLoads } from "../SharedLoads.js"
import type { CommandRefusal } from "./Protocol.js"
import {
  isRenewable,
  marginOf,
  type ConnectionOwner,
  type OpenConnection,
  busy,
  notFound,
  type ChangeOptions,
  withWriteLock
} from "./ConnectionOwner.js"
import { makeCredentialSeal } from "./credential/CredentialSeal.js"
import { makeChangeRecords } from "./ChangeRecords.js"

/** When the sweep must next look at the connection, in Unix milliseconds; `null`: never. */
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

/** Whether nothing is left to do for a refresh in flight: this is its end, or another credential takes the place. */
const isEndOfRefresh = ({ _tag }: ConnectionStateCommand, { credential }: ChangeOptions): boolean =>
  credential !== undefined || _tag === "NoteRefresh" || _tag === "NoteRefreshFailure"

/** The auth method with this id; `null`: the default one. */
const methodOf = (definition: ConnectorDefinition, id: string | null): Effect.Effect<AuthMethod, CommandRefusal> => {
  const found =
    id === null
      ? (definition.auth.find((method) => method.default) ?? definition.auth[0])
      : definition.auth.find((method) => method.id === id)
  return found === undefined
    ? invalid(
        "authMethod",
        "INVALID_VALUE",
        `is none of the connector's: ${definition.auth.map((method) => method.id).join(", ")}`
      )
    : Effect.succeed(found)
}

export const make = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const { auditOf, eventsOf } = yield* makeChangeRecords
  const { openSealed, openStored, sealCredential, vaultOf } = yield* makeCredentialSeal

  /** Reads the connection from the store and caches it. */
  const load = Effect.fnUntraced(function* (self: ConnectionOwner): Effect.fn.Return<OpenConnection, CommandRefusal> {
    const found = yield* Effect.mapError(store.load(self.id), ({ reason }) => busy(reason))
    if (Option.isNone(found)) return yield* notFound()
    const open = yield* openStored(found.value)
    self.open = open
    return open
  })

  const loads = makeSharedLoads<ConnectionOwner, OpenConnection, CommandRefusal>()

  /** The connection, from memory or the store; `NotFound` for another organisation. */
  const read = (self: ConnectionOwner, organisation: string): Effect.Effect<OpenConnection, CommandRefusal> =>
    Effect.flatMap(self.open === undefined ? loads(self, load(self)) : Effect.succeed(self.open), (open) =>
      open.connection.organisationId === organisation ? Effect.succeed(open) : notFound()
    )

  /** The connector in this version, else in its latest one. */
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
      onNone: () =>
        Effect.flatMap(
          Effect.mapError(connectors.slugs(organisation), ({ reason }) => busy(reason)),
          (slugs) =>
            invalid(
              "connector",
              "NOT_FOUND",
              `names no connector.${didYouMean(slug, slugs)} GET /api/v1/connectors lists them`
            )
        ),
      onSome: Effect.succeed
    })
  })

  /** Decides a change on the state in memory and commits it. Fails with `Stale` when another owner wrote in between. */
  const tryChange = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    command: ConnectionStateCommand,
    extras: ChangeOptions
  ) {
    const open = yield* read(self, organisation)
    yield* refuseWith(extras.precondition?.(open))
    const now = yield* Clock.currentTimeMillis
    const at = new Date(now).toISOString()
    const decided = decide(open.connection, command, now)
    if (Either.isLeft(decided))
      return yield* new InvalidState({ state: decided.left.status, message: decided.left.message })
    const event = decided.right
    const after = evolve(open.connection, event, at)
    const definition = yield* Effect.option(definitionOf(after.organisationId, after.connector, after.connectorVersion))
    const method = Option.flatMap(definition, ({ auth }) =>
      Option.fromNullable(auth.find(({ id }) => id === after.authMethod))
    )
    const row =
      extras.credential === undefined
        ? undefined
        : yield* sealCredential(organisation, open.credential, extras.credential)
    const isWiped = event._tag === "Disconnected"
    const endsRefresh = isWiped || isEndOfRefresh(command, extras)
    const plain = isWiped ? null : (extras.credential?.value ?? open.plain)
    const revision = yield* store.save({
      connection: after,
      revision: open.revision,
      credential: isWiped ? "wipe" : (row ?? "keep"),
      endsRefresh,
      nextLookAt: Option.match(method, {
        onNone: () => null,
        onSome: (found) => nextCheckOf(after, found, plain, self.usedSinceRefresh, now)
      }),
      events: eventsOf(outboundEventType(open.connection, event), after, at),
      audit: auditOf(extras.audit, open.connection, after, at),
      ...(extras.session === undefined ? {} : { session: extras.session }),
      ...(extras.makesDefault === true ? { makesDefault: true } : {})
    })
    const next: OpenConnection = {
      connection: extras.makesDefault === true ? { ...after, isDefault: true } : after,
      revision,
      credential: isWiped ? null : row === undefined ? open.credential : { id: row.id, number: row.number },
      intent: endsRefresh ? null : open.intent,
      plain
    }
    self.open = next
    self.connector = undefined
    return next
  })

  /** Decides a change, commits it and caches the result. When another owner wrote in between, reads and decides again. */
  const change = (
    self: ConnectionOwner,
    organisation: string,
    command: ConnectionStateCommand,
    extras: ChangeOptions = {}
  ): Effect.Effect<OpenConnection, CommandRefusal> =>
    withWriteLock(
      self,
      tryChange(self, organisation, command, extras).pipe(
        Effect.tapErrorTag("Stale", () =>
          Effect.sync(() => {
            self.open = undefined
          })
        ),
        Effect.retry({ times: 3, while: ({ _tag }) => _tag === "Stale" }),
        Effect.catchTag("Stale", () => busy("the connection is being changed elsewhere"))
      )
    )

  return { read, load, change, openSealed, sealCredential, definitionOf, methodOf, eventsOf, auditOf, vaultOf }
})

/** Reads and changes connections for all parts of the actor. One per node, so that an idle actor costs little memory. */
export class ConnectionOwners extends Effect.Service<ConnectionOwners>()("svc/connection/ConnectionOwners", {
  effect: make
}) {}
