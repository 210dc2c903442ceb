/**
 * Handles a request once for each Idempotency-Key: its changes and its sealed reply commit in one transaction, and a
 * repetition gets the first reply. Endpoints that call external systems lease the key instead, so that a slow provider
 * holds no database connection. Starts and re-runs of workflows claim the key with the run's first row instead
 * (`RunClaim.ts`). Contract: conventions, idempotency.
 */
import { DateTime, Duration, Effect, Either, Option, Redacted, Schema } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Records, type StoredReply, type Tx } from "../../actors/ports/Records.js"
import { Vault, vaultClosed } from "../../actors/ports/Vault.js"
import { type Failure, IdempotencyInProgress, InvalidRequest } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { idempotencyKeyLength, idempotencyLifetime } from "../../domain/Limits.js"
import { idempotencyKeyReused } from "../../domain/run/RunClaim.js"
import { makeFairPermits } from "../../domain/share/FairPermits.js"
import { type RawReply, type RawRequest, targetIndexKey } from "../Wire.js"
import { ownerOfAccount, type ShareOwner } from "../../domain/share/ShareOwner.js"

/** Methods for which the key is read; DELETE is idempotent without one. */
const idempotentByKey: ReadonlySet<string> = new Set(["POST", "PUT"])

/** Concurrent transactions with a key: each holds a database connection until its handler has finished. */
const transactionLimits = { perAccount: 2, perNode: 4 }

/** Longer than the longest call to an external system. */
const leaseTime = Duration.minutes(2)

/** The row in `idempotent_replies` that a request claims, and the hash that repetitions must match. */
interface Claim {
  readonly organisation: OrganisationId
  readonly owner: ShareOwner
  readonly row: string
  readonly bodyHash: string
}

/** A stored reply; it is sealed since it may hold a secret. */
const StoredReply = Schema.parseJson(
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

/** The request's Idempotency-Key; `undefined` without one. Left: it is too long. */
export const idempotencyKey = ({
  headers
}: Pick<RawRequest, "headers">): Either.Either<string | undefined, InvalidRequest> => {
  const key = headers["idempotency-key"] === "" ? undefined : headers["idempotency-key"]
  return key === undefined || key.length <= idempotencyKeyLength
    ? Either.right(key)
    : Either.left(
        new InvalidRequest({
          code: "INVALID_REQUEST",
          message: `Idempotency-Key must have at most ${idempotencyKeyLength} characters`
        })
      )
}

interface IdempotentReply {
  readonly reply: RawReply
  /** Whether the reply is that of an earlier request. */
  readonly isRepeated: boolean
}

const asFirstReply = (reply: RawReply): IdempotentReply => ({ reply, isRepeated: false })
const asRepeatedReply = (reply: RawReply): IdempotentReply => ({ reply, isRepeated: true })

const expiryAfter = (time: Duration.Duration): Effect.Effect<string> =>
  Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, time)))

const insertReply = (tx: Tx, reply: StoredReply): Effect.Effect<void, Failure> =>
  Effect.catchTag(tx.saveReply(reply), "AlreadyExists", () => new IdempotencyInProgress())

/** Opens and seals stored replies. */
const makeReplySeal = (vault: Vault["Type"]) => {
  const openReply = Effect.fnUntraced(function* ({ organisation, row }: Claim, sealed: Uint8Array) {
    const text = yield* vault.open(placeOf(organisation, row), sealed).pipe(Effect.mapError(vaultClosed))
    const reply = yield* Effect.orDie(Schema.decode(StoredReply)(Redacted.value(text)))
    return { ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } }
  })

  /** The sealed reply; `undefined` for a streamed one, which is not stored. */
  const sealReply = Effect.fnUntraced(function* (
    { bodyHash, organisation, row }: Claim,
    { body, headers, status }: RawReply
  ): Effect.fn.Return<StoredReply | undefined, Failure> {
    const text =
      typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : undefined
    if (text === undefined) return undefined
    const sealed = yield* vault
      .seal(placeOf(organisation, row), Redacted.make(JSON.stringify({ status, headers, body: text })))
      .pipe(Effect.mapError(vaultClosed))
    return { key: row, hash: bodyHash, sealed, expiresAt: yield* expiryAfter(idempotencyLifetime) }
  })

  return { openReply, sealReply }
}

/** Makes `handleOnce`. One instance per node, since it bounds the node's concurrent transactions. */
export const make = Effect.gen(function* () {
  const records = yield* Records
  const digests = yield* Digests
  const { openReply, sealReply } = makeReplySeal(yield* Vault)
  const permits = makeFairPermits(transactionLimits.perAccount, transactionLimits.perNode)

  /** Hashed under the pepper, since a body may hold secrets that are short enough to guess. */
  const hashBody = (request: RawRequest): string => digests.keyHash(digests.sha256Hex(request.body))

  /** The stored reply; fails while the first request is in progress, or if it had another body. */
  const firstReply = Effect.fnUntraced(function* (tx: Tx, claim: Claim) {
    if (!(yield* tx.tryLockKey(claim.row))) return yield* new IdempotencyInProgress()
    const found = yield* tx.findReply(claim.row)
    if (Option.isNone(found)) return Option.none()
    if (found.value.hash !== claim.bodyHash) return yield* idempotencyKeyReused()
    if (found.value.sealed.length === 0) return yield* new IdempotencyInProgress()
    return Option.some(yield* openReply(claim, found.value.sealed))
  })

  /** Commits the handler's changes and its reply in one transaction. */
  const handleInTransaction = <E>(claim: Claim, handle: Effect.Effect<RawReply, E>) =>
    permits.withPermit(
      claim.owner,
      records.transact(claim.organisation, (tx) =>
        Effect.flatMap(
          firstReply(tx, claim),
          Option.match({
            onSome: (reply) => Effect.succeed(asRepeatedReply(reply)),
            onNone: () =>
              handle.pipe(
                Effect.tap((reply) =>
                  Effect.flatMap(sealReply(claim, reply), (sealed) =>
                    sealed === undefined ? Effect.void : insertReply(tx, sealed)
                  )
                ),
                Effect.map(asFirstReply)
              )
          })
        )
      )
    )

  /** Commits a lease of the key, handles the request outside of any transaction, then stores the reply. */
  const handleUnderLease = <E>(claim: Claim, handle: Effect.Effect<RawReply, E>) => {
    const { bodyHash, organisation, row } = claim
    const transact = <A>(body: (tx: Tx) => Effect.Effect<A, Failure>) => records.transact(organisation, body)
    const claimKey = transact((tx) =>
      Effect.tap(
        firstReply(tx, claim),
        Option.match({
          onSome: () => Effect.void,
          onNone: () =>
            Effect.flatMap(expiryAfter(leaseTime), (expiresAt) =>
              insertReply(tx, { key: row, hash: bodyHash, sealed: new Uint8Array(0), expiresAt })
            )
        })
      )
    )
    const storeReply = (reply: RawReply) =>
      Effect.flatMap(sealReply(claim, reply), (sealed) =>
        transact((tx) => (sealed === undefined ? tx.deleteReply(row) : tx.replaceReply(sealed)))
      )
    // The changes are committed, so the caller gets its reply; repetitions are refused until the lease expires.
    const storeReplyOrWarn = (reply: RawReply) =>
      Effect.catchAllCause(storeReply(reply), (cause) => Effect.logWarning("idempotency.reply_not_stored", cause))
    // After a failure the next request need not wait until the lease expires.
    const release = Effect.ignore(transact((tx) => tx.deleteReply(row)))
    return Effect.flatMap(
      claimKey,
      Option.match({
        onSome: (reply): Effect.Effect<IdempotentReply, E | Failure> => Effect.succeed(asRepeatedReply(reply)),
        onNone: () =>
          handle.pipe(
            Effect.onError(() => release),
            Effect.tap(storeReplyOrWarn),
            Effect.map(asFirstReply)
          )
      })
    )
  }

  /** Handles the request, or answers with the first reply to its Idempotency-Key. Failures are not stored. */
  const handleOnce = <E>(
    caller: Principal,
    request: RawRequest,
    mode: "reply" | "lease",
    handle: Effect.Effect<RawReply, E>
  ): Effect.Effect<IdempotentReply, E | Failure> => {
    const once = Effect.map(handle, asFirstReply)
    if (!idempotentByKey.has(request.method)) return once
    return Effect.flatMap(idempotencyKey(request), (key): Effect.Effect<IdempotentReply, E | Failure> => {
      if (key === undefined) return once
      const claim = {
        organisation: caller.organisationId,
        owner: ownerOfAccount(caller),
        row: `${caller.id}|${request.method} ${targetIndexKey(request.target, digests.sha256Hex)}|${key}`,
        bodyHash: hashBody(request)
      }
      return mode === "reply" ? handleInTransaction(claim, handle) : handleUnderLease(claim, handle)
    })
  }

  return { handleOnce }
})
