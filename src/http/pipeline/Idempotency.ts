/**
 * Requests that happen once for each Idempotency-Key: the request's whole work and the memory of its reply are one
 * transaction, so that a repetition gets the first reply, and none repeats the work. What may wait for a system outside
 * leases its key instead, so that nobody's slow provider keeps a connection of the database. Starts and re-runs of
 * workflows have a claim of their own, which commits with the run's first row. Contract: conventions, idempotency.
 */
import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Records, type StoredReply, type Tx } from "../../actors/ports/Records.js"
import { Vault } from "../../actors/ports/Vault.js"
import { type Failure, IdempotencyInProgress, InvalidRequest, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { idempotencyKeyLength, idempotencyLifetime } from "../../domain/Limits.js"
import { keyReused } from "../../domain/RunClaim.js"
import { makeShares } from "./Shares.js"
import { type RawReply, type RawRequest, targetMark } from "../Wire.js"

/** What a key makes a request of once: a DELETE is one anyway. */
const methods: ReadonlySet<string> = new Set(["POST", "PUT"])

/** Each of them keeps a connection of the database until its work is done. */
const concurrent = { perOrganisation: 2, perNode: 4 }

/** Longer than any request to a system outside takes. */
const lease = Duration.minutes(2)

/** What a request claims: its row of remembered replies, and what is known of its body. */
interface Claim {
  readonly organisation: OrganisationId
  readonly row: string
  readonly mark: string
}

/** A reply as it is remembered, sealed since it may hold a secret. */
const Remembered = Schema.parseJson(
  Schema.Struct({
    status: Schema.Int,
    headers: Schema.Record({ key: Schema.String, value: Schema.String }),
    body: Schema.String
  })
)

const placeOf = (organisation: OrganisationId, key: string) => ({
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
const answeredAgain = (reply: RawReply): Answered => ({ reply, isRepeated: true })

export const make = Effect.gen(function* () {
  const records = yield* Records
  const digests = yield* Digests
  const vault = yield* Vault
  const shares = makeShares(concurrent.perOrganisation, concurrent.perNode)

  /** By what the body of a repetition is known: under the pepper, since a body may hold secrets that could be guessed. */
  const bodyMark = (request: RawRequest): string => digests.keyHash(digests.sha256Hex(request.body))

  const opened = Effect.fnUntraced(function* (
    { organisation, row }: Claim,
    sealed: Uint8Array
  ): Effect.fn.Return<RawReply, Failure> {
    const text = yield* vault.open(placeOf(organisation, row), sealed).pipe(Effect.mapError(vaultClosed))
    const reply = yield* Effect.orDie(Schema.decode(Remembered)(Redacted.value(text)))
    return { ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } }
  })

  /** The first request's reply; fails where that is under way, or was another request. */
  const firstReply = Effect.fnUntraced(function* (
    tx: Tx,
    claim: Claim
  ): Effect.fn.Return<Option.Option<RawReply>, Failure> {
    if (!(yield* tx.tryLockKey(claim.row))) return yield* new IdempotencyInProgress()
    const found = yield* tx.findReply(claim.row)
    if (Option.isNone(found)) return Option.none()
    if (found.value.hash !== claim.mark) return yield* keyReused()
    if (found.value.sealed.length === 0) return yield* new IdempotencyInProgress()
    return Option.some(yield* opened(claim, found.value.sealed))
  })

  const after = (time: Duration.Duration): Effect.Effect<string> =>
    Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, time)))

  /** The reply as it is stored; `undefined` of one that streams: it is asked for again. */
  const stored = Effect.fnUntraced(function* (
    { mark, organisation, row }: Claim,
    { body, headers, status }: RawReply
  ): Effect.fn.Return<StoredReply | undefined, Failure> {
    const text =
      typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : undefined
    if (text === undefined) return undefined
    const sealed = yield* vault
      .seal(placeOf(organisation, row), Redacted.make(JSON.stringify({ status, headers, body: text })))
      .pipe(Effect.mapError(vaultClosed))
    return { key: row, hash: mark, sealed, expiresAt: yield* after(idempotencyLifetime) }
  })

  const insert = (tx: Tx, reply: StoredReply): Effect.Effect<void, Failure> =>
    Effect.catchTag(tx.saveReply(reply), "AlreadyExists", () => new IdempotencyInProgress())

  /** The work and its reply commit together. */
  const inOneTransaction = <E>(
    claim: Claim,
    handle: Effect.Effect<RawReply, E>
  ): Effect.Effect<Answered, E | Failure> =>
    shares.withShare(
      claim.organisation,
      records.transact(claim.organisation, (tx) =>
        Effect.flatMap(
          firstReply(tx, claim),
          Option.match({
            onSome: (reply) => Effect.succeed(answeredAgain(reply)),
            onNone: () =>
              handle.pipe(
                Effect.tap((reply) =>
                  Effect.flatMap(stored(claim, reply), (one) => (one === undefined ? Effect.void : insert(tx, one)))
                ),
                Effect.map(answeredFirst)
              )
          })
        )
      )
    )

  /** The key is claimed, the work is done, the reply is stored: nothing is held meanwhile. */
  const underLease = <E>(claim: Claim, handle: Effect.Effect<RawReply, E>): Effect.Effect<Answered, E | Failure> => {
    const { mark, organisation, row } = claim
    const transact = <A>(body: (tx: Tx) => Effect.Effect<A, Failure>) => records.transact(organisation, body)
    const claimed = transact((tx) =>
      Effect.tap(
        firstReply(tx, claim),
        Option.match({
          onSome: () => Effect.void,
          onNone: () =>
            Effect.flatMap(after(lease), (expiresAt) =>
              insert(tx, { key: row, hash: mark, sealed: new Uint8Array(0), expiresAt })
            )
        })
      )
    )
    const settle = (reply: RawReply) =>
      Effect.flatMap(stored(claim, reply), (one) =>
        transact((tx) => (one === undefined ? tx.deleteReply(row) : tx.replaceReply(one)))
      )
    // The work is done: who asked hears of it, and a repetition waits for the end of the lease.
    const settled = (reply: RawReply) =>
      Effect.catchAllCause(settle(reply), (cause) => Effect.logWarning("idempotency.reply_not_stored", cause))
    // The next request need not wait for the end of the lease.
    const release = Effect.ignore(transact((tx) => tx.deleteReply(row)))
    return Effect.flatMap(
      claimed,
      Option.match({
        onSome: (reply): Effect.Effect<Answered, E | Failure> => Effect.succeed(answeredAgain(reply)),
        onNone: () =>
          handle.pipe(
            Effect.onError(() => release),
            Effect.tap(settled),
            Effect.map(answeredFirst)
          )
      })
    )
  }

  /** Handles the request, or answers as the first request with its Idempotency-Key was answered. Failures are not kept. */
  const once = <E>(
    caller: Principal,
    request: RawRequest,
    how: "reply" | "lease",
    handle: Effect.Effect<RawReply, E>
  ): Effect.Effect<Answered, E | Failure> => {
    const key = methods.has(request.method) ? idempotencyKey(request) : undefined
    if (key === undefined) return Effect.map(handle, answeredFirst)
    if (key instanceof InvalidRequest) return Effect.fail(key)
    const claim = {
      organisation: caller.organisationId,
      row: `${caller.key.id}|${request.method} ${targetMark(request.target, digests.sha256Hex)}|${key}`,
      mark: bodyMark(request)
    }
    return how === "reply" ? inOneTransaction(claim, handle) : underLease(claim, handle)
  }

  return { once }
})
