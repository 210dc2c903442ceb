/**
 * Calls of methods with one answer: encoded, sent, and sent again after a lost connection if that is safe. An answer that says
 * that nothing was changed, since the node is not available, is followed by another call.
 */
import { type Clock, Either, Effect, type ParseResult, Predicate, Schema } from "effect"
import { rpcLimits } from "../../../domain/rpc/RpcLimits.js"
import { formatIssues } from "../../../domain/SchemaIssues.js"
import {
  connectionLost,
  Failures,
  localRefusal,
  type RpcFailure,
  ServiceFailure,
  unexpectedAnswer
} from "./Failures.js"
import type { ServiceLink, Loss } from "./ServiceLink.js"
import { lastingMethods, type Repetition } from "./Methods.js"
import type { ClientSettings } from "./Options.js"
import type { RpcSocket } from "./Upgrade.js"

/** A method as its group declares it. */
export interface ClientMethod {
  readonly name: string
  readonly repetition: Repetition
  readonly payload: Schema.Schema.AnyNoContext
  readonly success: Schema.Schema.AnyNoContext
}

/** The largest frame of a method that the service reads, in bytes. */
export const frameBytes = (name: string): number =>
  name === "connections.call" ? rpcLimits.callFrame : rpcLimits.frame

/** How often a call is sent at most. What lasts as long as a run is sent until it is answered. */
const mostSent = 5

const refuse = (name: string, error: ParseResult.ParseError) => {
  const details = formatIssues(error).map(({ message, path }) => ({
    path: path.join("."),
    code: "INVALID",
    message
  }))
  return new Failures.ValidationFailed({
    ...localRefusal("VALIDATION_FAILED", 422, `${name}: ${details[0]?.path ?? ""} ${details[0]?.message ?? ""}`),
    details
  })
}

/** The payload as it is sent. Fails with `ValidationFailed` or `PayloadTooLarge`. */
export const encodePayload = (
  { name, payload }: ClientMethod,
  call: object,
  customer: string | undefined
): Effect.Effect<unknown, RpcFailure> =>
  Effect.gen(function* () {
    const members = customer === undefined ? call : { customer, ...call }
    const encoded = yield* Effect.mapError(Schema.encodeUnknown(payload)(members), (error) => refuse(name, error))
    const limit = frameBytes(name)
    if (new TextEncoder().encode(JSON.stringify(encoded)).byteLength > limit - 1_024)
      return yield* new Failures.PayloadTooLarge(
        localRefusal("PAYLOAD_TOO_LARGE", 413, `the payload of ${name} is larger than ${limit} bytes`)
      )
    return encoded
  })

const decodeFailure = Schema.decodeUnknownEither(ServiceFailure)

/** The typed failure of a cause as the library encodes it; `undefined`: the service gave the call up. */
const failureIn = (cause: unknown): unknown => {
  if (!Predicate.isRecord(cause)) return undefined
  if (cause["_tag"] === "Fail") return cause["error"]
  if (cause["_tag"] === "Die") return { _tag: "InternalError" }
  return failureIn(cause["left"]) ?? failureIn(cause["right"])
}

/** The failure of a failed exit. `lost`: the service gave the call up, as if its connection had broken. */
export const failureOf = (name: string, exit: unknown): RpcFailure | "lost" => {
  const found = Predicate.isRecord(exit) && exit["_tag"] === "Failure" ? failureIn(exit["cause"]) : null
  if (found === undefined) return "lost"
  const { code, message } = Predicate.isRecord(found) ? found : {}
  return Either.getOrElse(decodeFailure(found), () =>
    unexpectedAnswer(
      name,
      typeof message === "string" ? `${String(code)}: ${message}` : "the service answered with an unknown failure"
    )
  )
}

type Reply =
  | { readonly _tag: "Exit"; readonly exit: unknown }
  | ({ readonly _tag: "Lost" } & Loss)
  | { readonly _tag: "NotSent" }

const ask = (link: ServiceLink, socket: RpcSocket, name: string, payload: unknown): Effect.Effect<Reply> =>
  Effect.async((resume) => {
    const sent = link.send(socket, name, payload, {
      onValues: () => {},
      onExit: (exit) => resume(Effect.succeed({ _tag: "Exit", exit })),
      onLost: (loss) => resume(Effect.succeed({ _tag: "Lost", ...loss }))
    })
    if (sent === undefined) return resume(Effect.succeed({ _tag: "NotSent" }))
    return Effect.sync(sent.cancel)
  })

const mayRepeat = ({ repetition }: ClientMethod, payload: unknown): boolean => {
  const { idempotencyKey, method } = Predicate.isRecord(payload) ? payload : {}
  return repetition === "read" || typeof idempotencyKey === "string" || (repetition === "request" && method === "GET")
}

/** Whether the same call may be sent again at once or a little later, and how much later in milliseconds. */
export const pauseOf = (failure: RpcFailure, isRepeated: boolean): number | undefined =>
  failure._tag === "Unavailable" || (failure._tag === "IdempotencyInProgress" && isRepeated)
    ? (failure.retryAfterSeconds ?? 1) * 1_000
    : undefined

/** Makes calls of a method. */
export const callOf =
  (link: ServiceLink, settings: ClientSettings, clock: Clock.Clock, method: ClientMethod) =>
  (call: object): Effect.Effect<unknown, RpcFailure> =>
    Effect.gen(function* () {
      const { name } = method
      const payload = yield* encodePayload(method, withKey(method, call), settings.customer)
      const isLasting = lastingMethods.has(name)
      const decode = Schema.decodeUnknownEither(method.success)
      const deadlineNow = () => clock.unsafeCurrentTimeMillis() + (isLasting ? settings.outage : settings.patience)
      let deadline = deadlineNow()
      for (let sent = 0; ;) {
        const socket = yield* link.connected(name, deadline)
        const reply = yield* ask(link, socket, name, payload)
        if (reply._tag === "NotSent") continue
        sent += 1
        const exit = reply._tag === "Exit" ? reply.exit : undefined
        if (Predicate.isRecord(exit) && exit["_tag"] === "Success")
          return yield* Either.mapLeft(decode(exit["value"]), () =>
            unexpectedAnswer(name, "the answer is not as this client expects it")
          )
        const failure = reply._tag === "Exit" ? failureOf(name, exit) : (reply.failure ?? "lost")
        if (failure === "lost") {
          if (!mayRepeat(method, payload) || (sent >= mostSent && !isLasting))
            return yield* connectionLost(name, "unknown", reply._tag === "Lost" ? reply.reason : "the node stopped")
          if (isLasting) deadline = deadlineNow()
          continue
        }
        const pause = pauseOf(failure, sent > 1)
        if (pause === undefined || clock.unsafeCurrentTimeMillis() + pause >= deadline) return yield* failure
        yield* Effect.sleep(pause)
      }
    })

/** A key for a call that the caller gave none: so that it can be sent again. `null`: the caller wants none. */
const withKey = ({ repetition }: ClientMethod, call: object): object => {
  const { idempotencyKey, ...members } = { idempotencyKey: undefined, ...call }
  const key = idempotencyKey ?? (idempotencyKey === undefined && repetition === "ownKey" ? crypto.randomUUID() : null)
  return key === null ? members : { ...members, idempotencyKey: key }
}
