/** The port `Connections`: sends requests to the connection's actor on whichever node owns it, each with a timeout. */
import { Context, Duration, Effect, Either, Layer, Redacted } from "effect"
import { Conflict, InvalidState, invalid, NotFound, Unavailable, ValidationFailed } from "../../domain/Failure.js"
import type { ConnectionId, ConnectSessionId } from "../../domain/Ids.js"
import {
  ConnectionNotActive,
  Connections,
  type OpenedSession,
  type ConnectionRequestFailure
} from "../ports/connection/Connections.js"
import { Identifiers } from "../ports/Identifiers.js"
import { makeActorClient } from "./ActorClient.js"
import { Connection, type CommandRefusal, type ConnectSessionLink } from "./Protocol.js"
import { LocalOwners } from "./LocalOwners.js"

/** A refresh may wait for a dead owner's request and then take as long itself. */
const commandTimeout = Duration.seconds(75)
const shortTimeout = Duration.seconds(5)

const notFound = () => new NotFound({ what: "connection" })
const ownerUnreachable = () =>
  new Unavailable({ reason: "the connection's owner does not answer now", retryAfterSeconds: 1 })

const isRefusal = (value: unknown): value is CommandRefusal =>
  typeof value === "object" &&
  value !== null &&
  "_tag" in value &&
  typeof value._tag === "string" &&
  tags.has(value._tag)
const tags: ReadonlySet<string> = new Set<CommandRefusal["_tag"]>([
  "NotFound",
  "NotActive",
  "WrongState",
  "Invalid",
  "CredentialRefused",
  "VersionMismatch",
  "Busy"
])

/** Maps the refusal of a command to a failure of the port. */
const failureOf = (refusal: CommandRefusal): ConnectionRequestFailure => {
  switch (refusal._tag) {
    case "NotFound":
      return notFound()
    case "NotActive":
      return new InvalidState({ state: refusal.status, message: refusal.reason })
    case "WrongState":
      return new InvalidState({ state: refusal.status, message: refusal.message })
    case "Invalid":
      return invalid(refusal.path, refusal.code, refusal.message)
    case "CredentialRefused":
      return new ValidationFailed({
        code: "CREDENTIAL_TEST_FAILED",
        message: refusal.message,
        details: [{ path: "credential", code: "CREDENTIAL_TEST_FAILED", message: refusal.message }]
      })
    case "VersionMismatch":
      return new Conflict({
        code: "VERSION_MISMATCH",
        message: "the record has changed since you read it: read it again"
      })
    case "Busy":
      return new Unavailable({ reason: refusal.reason, retryAfterSeconds: refusal.retryAfterSeconds })
  }
}

/** Maps a refusal to the failures that a call can have. */
const callFailure =
  (connectionId: ConnectionId) =>
  (refusal: CommandRefusal): ConnectionNotActive | NotFound | Unavailable => {
    switch (refusal._tag) {
      case "NotFound":
        return notFound()
      case "NotActive":
        return new ConnectionNotActive({ connectionId, status: refusal.status, message: refusal.reason })
      case "Busy":
        return new Unavailable({ reason: refusal.reason, retryAfterSeconds: refusal.retryAfterSeconds })
      default:
        // The connector is gone, or the origin is not one of its own.
        return new ConnectionNotActive({
          connectionId,
          status: "active",
          message: "message" in refusal ? refusal.message : "the connection cannot be used"
        })
    }
  }

/** Sends a message. An actor on a dying node does not answer, or answers with a defect: `Unavailable`. */
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
      const failure = cause._tag === "Fail" ? cause.error : undefined
      return Effect.fail(isRefusal(failure) ? translate(failure) : ownerUnreachable())
    })
  )

const runCommand = <A, E>(effect: Effect.Effect<A, E>) => askActor(effect, commandTimeout, failureOf)

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

    const clientOf = (id: ConnectionId) => makeActorClient(actor(id))

    return Connections.of({
      // Calls through a connection, in process when its owner lives on this node.
      authorize: ({ connectionId, ...request }) =>
        Effect.flatMap(localOwners.tryGrant(connectionId, request), (answer) =>
          answer === undefined
            ? askActor(actor(connectionId).Authorize(request), commandTimeout, callFailure(connectionId))
            : Either.mapLeft(answer, callFailure(connectionId))
        ),
      settle: ({ connectionId, ...settlement }) =>
        Effect.flatMap(localOwners.trySettle(connectionId, settlement), (settled) =>
          settled
            ? Effect.void
            : actor(connectionId).Settle(settlement).pipe(Effect.timeout(shortTimeout), Effect.sandbox, Effect.ignore)
        ),
      renewRefused: ({ connectionId, ...refused }) =>
        askActor(clientOf(connectionId).renewRefused(refused), commandTimeout, callFailure(connectionId)),
      sign: ({ connectionId, ...request }) =>
        askActor(clientOf(connectionId).sign(request), shortTimeout, callFailure(connectionId)),
      // Commands of users.
      connect: (request) => {
        const id = identifiers.next("conn")
        return Effect.map(runCommand(clientOf(id).create(request)), (opened) => ({
          id,
          session: opened === null ? null : openedSession(opened)
        }))
      },
      storeCredential: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).storeCredential(request)),
      reconnect: ({ connectionId, ...request }) =>
        Effect.map(runCommand(clientOf(connectionId).reconnect(request)), openedSession),
      test: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).test(request)),
      refresh: ({ connectionId, ...request }) => runCommand(clientOf(connectionId).refresh(request)),
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
