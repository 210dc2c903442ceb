/** Statements on stored replies and locks of keys, in the caller's transaction. */
import type { Sql } from "../database/Sql.js"
import { Effect, Option, Schema } from "effect"
import type { StoredReply, Tx } from "../../../actors/ports/Records.js"
import { AnsweredTime } from "../../../domain/Time.js"
import { rowDecoder } from "./Table.js"
import { readError, writeError } from "./RecordErrors.js"

const decodeReply = rowDecoder("idempotent_replies", {
  key: Schema.String,
  hash: Schema.String,
  sealed: Schema.Uint8ArrayFromSelf,
  expiresAt: AnsweredTime
})

/** The replies of requests with an Idempotency-Key. */
export const makeReplies = (sql: Sql): Pick<Tx, "saveReply" | "findReply" | "replaceReply" | "deleteReply"> => {
  const saveReply = (reply: StoredReply) =>
    sql`INSERT INTO idempotent_replies (org, key, hash, sealed, expires_at)
    VALUES (current_setting('svc.org'), ${reply.key}, ${reply.hash}, ${reply.sealed}, ${reply.expiresAt})
    ON CONFLICT (org, key) DO UPDATE SET hash = excluded.hash, sealed = excluded.sealed, expires_at = excluded.expires_at
      WHERE idempotent_replies.expires_at < now()`.pipe(Effect.asVoid, Effect.catchAll(writeError))

  const findReply = (key: string) =>
    sql`
    SELECT key, hash, sealed, expires_at AS "expiresAt" FROM idempotent_replies WHERE key = ${key} AND expires_at > now()`.pipe(
      Effect.map(([row]) => Option.map(Option.fromNullable(row), decodeReply)),
      Effect.catchAll(readError)
    )

  const replaceReply = ({ expiresAt, key, sealed }: StoredReply) =>
    sql`UPDATE idempotent_replies SET sealed = ${sealed}, expires_at = ${expiresAt} WHERE key = ${key}`.pipe(
      Effect.asVoid,
      Effect.catchAll(readError)
    )

  const deleteReply = (key: string) =>
    sql`DELETE FROM idempotent_replies WHERE key = ${key}`.pipe(Effect.asVoid, Effect.catchAll(readError))

  return { saveReply, findReply, replaceReply, deleteReply }
}

/** Locks of keys, held until the transaction ends. */
export const makeKeyLocks = (sql: Sql): Pick<Tx, "lockKey" | "lockKeyOfAccount" | "tryLockKey"> => {
  const tryLockKey = (key: string) =>
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(current_setting('svc.org') || ${key}, 1)) AS held`.pipe(
      Effect.map(([row]) => row?.["held"] === true),
      Effect.catchAll(readError)
    )

  const lockKey = (key: string) =>
    sql`SELECT pg_advisory_xact_lock(hashtextextended(current_setting('svc.org') || ${key}, 3))`.pipe(
      Effect.asVoid,
      Effect.catchAll(readError)
    )

  const lockKeyOfAccount = (key: string) =>
    sql`SELECT pg_advisory_xact_lock(hashtextextended(svc_account(current_setting('svc.org')) || ${key}, 3))`.pipe(
      Effect.asVoid,
      Effect.catchAll(readError)
    )

  return { lockKey, lockKeyOfAccount, tryLockKey }
}
