/**
 * The port `Connections`: sends requests to the connection's actor on whichever node owns it, each with a time limit; creates
 * connections on this node.
 */
import { Cause, Context, Duration, Effect, Either, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { InvalidState, type NotFound, Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, ConnectSessionId } from "../../domain/Ids.js"
import {
  ConnectionNotActive,
  Connections,
  type OpenedSession,
  type ConnectionRequestFailure
} from "../ports/connection/Connections.js"
import { Identifiers } from "../ports/Identifiers.js"
import { makeOwnerReach, OwnerUnreachable } from "../OwnerReach.js"
import { makeActorClient } from "./ActorClient.js"
import { ConnectionCreation } from "./ConnectionCreation.js"
import { Connection, CommandRefusal, type ConnectSessionLink } from "./Protocol.js"
import { LocalOwners } from "./LocalOwners.js"

/** Of an owner that can be reached: a refresh may wait for a dead owner's request and then take as long itself. */
const commandTimeout = Duration.seconds(75)
const shortTimeout = Duration.seconds(5)

const ownerUnreachable = () =>
  new Unavailable({ reason: "the connection's owner does not answer now", retryAfterSeconds: 1 })

const isRefusal = Schema.is(CommandRefusal)

/** A command is refused as the record's state does not allow it. */
const commandFailure = (refusal: CommandRefusal): ConnectionRequestFailure =>
  refusal._tag === "ConnectionNotActive"
    ? new InvalidState({ state: refusal.status, message: refusal.message })
    : refusal

/** A call that is refused for another reason cannot use the connection: its connector is gone, or has no such origin. */
const callFailure =
  (connectionId: ConnectionId) =>
  (refusal: CommandRefusal): ConnectionNotActive | NotFound | Unavailable => {
    if (refusal._tag === "ConnectionNotActive" || refusal._tag === "NotFound" || refusal._tag === "Unavailable")
      return refusal
    const [detail = refusal] = refusal._tag === "ValidationFailed" ? refusal.details : []
    return new ConnectionNotActive({ connectionId, status: "active", message: detail.message })
  }

/** Between questions to the owners that follow each other, while nodes stop or shards move. */
const nextOwner = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.upTo("15 seconds")
)

/** Whether the owner ended with the message in hand: its node stops, or has given the shard up. */
const isOwnerGone = (cause: Cause.Cause<unknown>): boolean =>
  !Option.exists(
    Cause.failureOption(cause),
    (failure) => isRefusal(failure) || failure instanceof OwnerUnreachable || Cause.isTimeoutException(failure)
  )

/** Sends a message, once. An actor on a dying node does not answer, or answers with a defect: `Unavailable`. */
const askActor = <A, E, F>(
  effect: Effect.Effect<A, E>,
  limit: Duration.Duration,
  translate: (refusal: CommandRefusal) => F
): Effect.Effect<A, F | Unavailable> =>
  effect.pipe(
    // Without the sender's context: an actor that the message wakes would keep it, the sender's transaction included.
    Effect.mapInputContext<never, never>(() => Context.empty()),
    Effect.timeout(limit),
    Effect.catchAllCause((cause) => {
      const failure = Option.getOrUndefined(Cause.failureOption(cause))
      return Effect.fail(isRefusal(failure) ? translate(failure) : ownerUnreachable())
    })
  )

/** Sends a message that may be carried out twice, and again to the next owner if one ends before it answers. */
const askOwners = <A, E, F>(
  effect: Effect.Effect<A, E>,
  limit: Duration.Duration,
  translate: (refusal: CommandRefusal) => F
): Effect.Effect<A, F | Unavailable> =>
  askActor(
    Effect.unsandbox(Effect.retry(Effect.sandbox(effect), { while: isOwnerGone, schedule: nextOwner })),
    limit,
    translate
  )

const runCommand = <A, E>(effect: Effect.Effect<A, E>) => askActor(effect, commandTimeout, commandFailure)
/** A command that replaces nothing: a refresh that one owner has begun is the one that the next waits for. */
const repeatCommand = <A, E>(effect: Effect.Effect<A, E>) => askOwners(effect, commandTimeout, commandFailure)

const openedSession = ({ expiresAt, id, token }: ConnectSessionLink): OpenedSession => ({
  // The actor made it.
  id: id as ConnectSessionId,
  token,
  expiresAt
})

export const layer = Layer.effect(
  Connections,
  Effect.gen(function* () {
    const actor = yield* Connection.client
    const identifiers = yield* Identifiers
    const localOwners = yield* LocalOwners
    const creation = yield* ConnectionCreation
    const withinReach = yield* makeOwnerReach

    const clientOf = (id: ConnectionId) =>
      makeActorClient({ Execute: (payload) => withinReach(id, actor(id).Execute(payload)) })

    return Connections.of({
      // Calls through a connection, in process when its owner lives on this node.
      authorize: ({ connectionId, ...request }) =>
        Effect.flatMap(localOwners.tryGrant(connectionId, request), (answer) =>
          answer === undefined
            ? askOwners(
                withinReach(connectionId, actor(connectionId).Authorize(request)),
                commandTimeout,
                callFailure(connectionId)
              )
            : Either.mapLeft(answer, callFailure(connectionId))
        ),
      settle: ({ connectionId, ...settlement }) =>
        Effect.flatMap(localOwners.trySettle(connectionId, settlement), (settled) =>
          settled
            ? Effect.void
            : actor(connectionId).Settle(settlement).pipe(Effect.timeout(shortTimeout), Effect.sandbox, Effect.ignore)
        ),
      renewRefused: ({ connectionId, ...refused }) =>
        askOwners(clientOf(connectionId).renewRefused(refused), commandTimeout, callFailure(connectionId)),
      sign: ({ connectionId, ...request }) =>
        askOwners(clientOf(connectionId).sign(request), shortTimeout, callFailure(connectionId)),
      // Commands of users.
      connect: (request) => {
        const id = identifiers.next("conn")
        return Effect.map(runCommand(creation.create(id, request)), (link) => ({
          id,
          session: link === null ? null : openedSession(link)
        }))
      },
      storeCredential: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).storeCredential(request)),
      reconnect: ({ connectionId, ...request }) =>
        Effect.map(runCommand(clientOf(connectionId).reconnect(request)), openedSession),
      test: ({ connectionId, ...request }) => repeatCommand(clientOf(connectionId).test(request)),
      refresh: ({ connectionId, ...request }) => repeatCommand(clientOf(connectionId).refresh(request)),
      refreshDue: ({ connectionId, organisationId }) =>
        repeatCommand(clientOf(connectionId).checkDue({ organisationId })),
      enable: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).enable(request)),
      disable: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).disable(request)),
      edit: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).edit(request)),
      reveal: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).reveal(request)),
      disconnect: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).disconnect(request)),
      // The steps of a connect session.
      submit: ({ connectionId, ...request }) =>
        Effect.map(runCommand(clientOf(connectionId).submit(request)), (outcome) =>
          outcome._tag === "Redirect" ? outcome : { ...outcome, connectionId }
        ),
      complete: ({ connectionId, params, ...request }) =>
        Effect.map(
          runCommand(
            clientOf(connectionId).complete({
              ...request,
              params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, Redacted.make(value)]))
            })
          ),
          (outcome) => (outcome._tag === "Redirect" ? outcome : { ...outcome, connectionId })
        )
    })
  })
)
