/** The port `Connections` on any node: asks the connection's actor, wherever it is, and never waits for ever. */
import { Context, Duration, Effect, Either, Layer, Redacted } from "effect"
import { Conflict, InvalidState, invalid, NotFound, Unavailable, ValidationFailed } from "../../domain/Failure.js"
import type { ConnectionId, ConnectSessionId } from "../../domain/Ids.js"
import {
  ConnectionNotActive,
  Connections,
  type OpenedSession,
  type ConnectionRequestFailure
} from "../ports/Connections.js"
import { Identifiers } from "../ports/Identifiers.js"
import { makeActorClient } from "./ActorClient.js"
import { Connection, type CommandRefusal, type ConnectSessionLink } from "./Protocol.js"
import { LocalOwners } from "./LocalOwners.js"
import { connectedCall } from "../../domain/Limits.js"

/** A refresh may wait for a dead owner's request, and then take as long itself. */
const patience = Duration.seconds(75)
const briefPatience = Duration.seconds(5)

const gone = () => new NotFound({ what: "connection" })
const unreachable = () =>
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

/** A refusal of an order as the failure that surfaces answer. */
const failureOf = (refusal: CommandRefusal): ConnectionRequestFailure => {
  switch (refusal._tag) {
    case "NotFound":
      return gone()
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

/** Calls know fewer failures than orders. */
const callFailure =
  (connectionId: ConnectionId) =>
  (refusal: CommandRefusal): ConnectionNotActive | NotFound | Unavailable => {
    switch (refusal._tag) {
      case "NotFound":
        return gone()
      case "NotActive":
        return new ConnectionNotActive({ connectionId, status: refusal.status, message: refusal.reason })
      case "Busy":
        return new Unavailable({ reason: refusal.reason, retryAfterSeconds: refusal.retryAfterSeconds })
      default:
        // The connector is gone, or does not send there: nothing that the call could do about it.
        return new ConnectionNotActive({
          connectionId,
          status: "active",
          message: "message" in refusal ? refusal.message : "the connection cannot be used"
        })
    }
  }

export const layer = Layer.effect(
  Connections,
  Effect.gen(function* () {
    const actor = yield* Connection.client
    const identifiers = yield* Identifiers
    const residents = yield* LocalOwners

    /** An actor on a node that dies is silent, or answers with a defect. */
    const asked = <A, E, F>(
      effect: Effect.Effect<A, E>,
      limit: Duration.Duration,
      translate: (refusal: CommandRefusal) => F
    ): Effect.Effect<A, F | Unavailable> =>
      effect.pipe(
        // A message takes nothing of its sender along: least of all the transaction that it is in. An actor that it
        // wakes would keep what comes with it.
        Effect.mapInputContext<never, never>(() => Context.empty()),
        Effect.timeout(limit),
        Effect.catchAllCause((cause) => {
          const failure = cause._tag === "Fail" ? cause.error : undefined
          return Effect.fail(isRefusal(failure) ? translate(failure) : unreachable())
        })
      )

    const order = <A, E>(effect: Effect.Effect<A, E>) => asked(effect, patience, failureOf)

    const ordered = (id: ConnectionId) => makeActorClient(actor(id))

    const session = ({ expiresAt, id, token }: ConnectSessionLink): OpenedSession => ({
      // The actor made it.
      id: id as ConnectSessionId,
      token,
      expiresAt
    })

    return Connections.of({
      authorize: ({
        connectionId,
        executionId,
        organisationId,
        origin,
        timeoutMillis = connectedCall.defaultMillis
      }) => {
        const request = { organisationId, origin, executionId, timeoutMillis }
        return Effect.flatMap(residents.authorize(connectionId, request), (answer) =>
          answer === undefined
            ? asked(actor(connectionId).Authorize(request), patience, callFailure(connectionId))
            : Either.mapLeft(answer, callFailure(connectionId))
        )
      },
      settle: ({ connectionId, ...settlement }) =>
        Effect.flatMap(residents.settle(connectionId, settlement), (settled) =>
          settled
            ? Effect.void
            : actor(connectionId).Settle(settlement).pipe(Effect.timeout(briefPatience), Effect.sandbox, Effect.ignore)
        ),
      renewRefused: ({ connectionId, ...refused }) =>
        asked(ordered(connectionId).renewRefused(refused), patience, callFailure(connectionId)),
      sign: ({ connectionId, ...request }) =>
        asked(ordered(connectionId).sign(request), briefPatience, callFailure(connectionId)),

      connect: (request) => {
        const id = identifiers.next("conn")
        return Effect.map(order(ordered(id).create(request)), (opened) => ({
          id,
          session: opened === null ? null : session(opened)
        }))
      },
      storeCredential: ({ connectionId, ...asked }) => order(ordered(connectionId).storeCredential(asked)),
      reconnect: ({ connectionId, ...asked }) => Effect.map(order(ordered(connectionId).reconnect(asked)), session),
      test: ({ connectionId, ...asked }) => order(ordered(connectionId).test(asked)),
      refresh: ({ connectionId, ...asked }) => order(ordered(connectionId).refresh(asked)),
      enable: ({ connectionId, ...asked }) => order(ordered(connectionId).enable(asked)),
      disable: ({ connectionId, ...asked }) => order(ordered(connectionId).disable(asked)),
      edit: ({ connectionId, ...asked }) => order(ordered(connectionId).edit(asked)),
      reveal: ({ connectionId, ...asked }) => order(ordered(connectionId).reveal(asked)),
      disconnect: ({ connectionId, ...asked }) => order(ordered(connectionId).disconnect(asked)),

      submit: ({ connectionId, ...asked }) =>
        Effect.map(order(ordered(connectionId).submit(asked)), (outcome) =>
          outcome._tag === "Redirect" ? outcome : { ...outcome, connectionId }
        ),
      complete: ({ connectionId, params, ...asked }) =>
        Effect.map(
          order(
            ordered(connectionId).complete({
              ...asked,
              params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, Redacted.make(value)]))
            })
          ),
          (outcome) => (outcome._tag === "Redirect" ? outcome : { ...outcome, connectionId })
        )
    })
  })
)
