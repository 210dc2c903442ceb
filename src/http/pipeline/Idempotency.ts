/**
 * Requests that happen once for each Idempotency-Key: the request's whole work and the memory of its reply are one
 * transaction, so that a repetition gets the first reply, and none repeats the work. Starts and re-runs of workflows
 * have a claim of their own, which commits with the run's first row. Contract: conventions, idempotency.
 */
import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Records, type Tx } from "../../actors/ports/Records.js"
import { Vault } from "../../actors/ports/Vault.js"
import { type Failure, IdempotencyInProgress, InvalidRequest, Unavailable } from "../../domain/Failure.js"
import { idempotencyKeyLength, idempotencyLifetime } from "../../domain/Limits.js"
import { keyReused } from "../../domain/RunClaim.js"
import { makeShares } from "./Shares.js"
import { type RawReply, type RawRequest, targetMark } from "../Wire.js"

/** What a key makes a request of once: a DELETE is one anyway. */
const methods: ReadonlySet<string> = new Set(["POST", "PUT"])

/** Each of them keeps a connection of the database until its work is done, which may be to ask a provider. */
const concurrent = { perOrganisation: 2, perNode: 4 }

/** A reply as it is remembered, sealed since it may hold a secret. */
const Remembered = Schema.parseJson(
  Schema.Struct({
    status: Schema.Int,
    headers: Schema.Record({ key: Schema.String, value: Schema.String }),
    body: Schema.String
  })
)

const placeOf = (organisation: string, key: string) => ({
  organisation,
  table: "idempotent_replies",
  column: "sealed",
  row: key
})

const vaultClosed = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

/** The key that a request was sent with; fails when it is too long. */
export const idempotencyKey = ({ headers }: Pick<RawRequest, "headers">): string | undefined | InvalidRequest => {
  const text = headers["idempotency-key"]
  if (text === undefined || text === "") return undefined
  return text.length <= idempotencyKeyLength
    ? text
    : new InvalidRequest({
        code: "INVALID_REQUEST",
        message: `Idempotency-Key has at most ${idempotencyKeyLength} characters`
      })
}

interface Answered {
  readonly reply: RawReply
  /** The reply is that of an earlier request. */
  readonly isRepeated: boolean
}

const answeredFirst = (reply: RawReply): Answered => ({ reply, isRepeated: false })

export const make = Effect.gen(function* () {
  const records = yield* Records
  const digests = yield* Digests
  const vault = yield* Vault
  const shares = makeShares(concurrent.perOrganisation, concurrent.perNode)

  /** By what the body of a repetition is known: under the pepper, since a body may hold secrets that could be guessed. */
  const bodyMark = (request: RawRequest): string => digests.keyHash(digests.sha256Hex(request.body))

  const firstReply = Effect.fnUntraced(function* (
    tx: Tx,
    organisation: string,
    row: string,
    mark: string
  ): Effect.fn.Return<Option.Option<RawReply>, Failure> {
    if (!(yield* tx.tryHold(row))) return yield* new IdempotencyInProgress()
    const found = yield* tx.remembered(row)
    if (Option.isNone(found)) return Option.none()
    if (found.value.hash !== mark) return yield* keyReused()
    const text = yield* vault.open(placeOf(organisation, row), found.value.sealed).pipe(Effect.mapError(vaultClosed))
    const reply = yield* Effect.orDie(Schema.decode(Remembered)(Redacted.value(text)))
    return Option.some({ ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } })
  })

  const remember = Effect.fnUntraced(function* (
    tx: Tx,
    organisation: string,
    row: string,
    mark: string,
    { body, headers, status }: RawReply
  ): Effect.fn.Return<void, Failure> {
    const text =
      typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : undefined
    // What streams is asked for again.
    if (text === undefined) return
    const sealed = yield* vault
      .seal(placeOf(organisation, row), Redacted.make(JSON.stringify({ status, headers, body: text })))
      .pipe(Effect.mapError(vaultClosed))
    const now = yield* DateTime.now
    const expiresAt = DateTime.formatIso(DateTime.addDuration(now, idempotencyLifetime))
    yield* tx
      .remember({ key: row, hash: mark, sealed, expiresAt })
      .pipe(Effect.catchTag("AlreadyExists", () => new IdempotencyInProgress()))
  })

  /** Handles the request, or answers as the first request with its Idempotency-Key was answered. Failures are not kept. */
  const once = <E>(
    caller: Principal,
    request: RawRequest,
    handle: Effect.Effect<RawReply, E>
  ): Effect.Effect<Answered, E | Failure> => {
    const key = methods.has(request.method) ? idempotencyKey(request) : undefined
    if (key === undefined) return Effect.map(handle, answeredFirst)
    if (key instanceof InvalidRequest) return Effect.fail(key)
    const { organisationId } = caller
    const row = `${caller.key.id}|${request.method} ${targetMark(request.target, digests.sha256Hex)}|${key}`
    const mark = bodyMark(request)
    return shares.withShare(
      organisationId,
      records.transact(organisationId, (tx) =>
        Effect.flatMap(
          firstReply(tx, organisationId, row, mark),
          Option.match({
            onSome: (reply) => Effect.succeed({ reply, isRepeated: true }),
            onNone: () =>
              Effect.map(
                Effect.tap(handle, (reply) => remember(tx, organisationId, row, mark, reply)),
                answeredFirst
              )
          })
        )
      )
    )
  }

  return { once }
})
