/**
 * The port `KeyValues` (`svc.state`) on Postgres: a write and the journal entry that records it are one transaction.
 */
import { describe } from "../telemetry/SafeError.js"
import { Effect, Layer } from "effect"
import { Fenced, JournalUnavailable } from "../../actors/ports/Journal.js"
import { KeyValues, StateRefused, type StateWrite, type Store } from "../../actors/ports/KeyValues.js"
import { Vault } from "../../actors/ports/Vault.js"
import { canonicalJson, type Json } from "../../domain/Json.js"
import { selectOwned } from "./journal/Fence.js"
import { encodeEntry } from "./journal/JournalRow.js"
import { insertRows } from "./journal/Statement.js"
import { WriterSql } from "./Pools.js"

const unavailable = (error: unknown) => new JournalUnavailable({ reason: describe(error) })

const lockOwned = selectOwned("$1", "$2")
const insertEntry = insertRows("journal", 1)

/** What a write does to the stored value; `undefined` removes it. */
interface StateChange {
  readonly nextValue: Json | undefined
  readonly result: Json
  readonly expiresAt: number | null
}

const applyWrite = (write: StateWrite, before: Json | undefined): StateChange | StateRefused => {
  switch (write._tag) {
    case "Set":
      return { nextValue: write.value, result: null, expiresAt: write.expiresAt }
    case "Delete":
      return { nextValue: undefined, result: before !== undefined, expiresAt: null }
    case "Increment": {
      const from = before ?? 0
      if (typeof from !== "number") {
        return new StateRefused({ message: `svc.state.increment: the value of "${write.key}" is not a number` })
      }
      const sum = from + write.by
      return Number.isFinite(sum)
        ? { nextValue: sum, result: sum, expiresAt: null }
        : new StateRefused({
            message: `svc.state.increment: the value of "${write.key}" would be too large for a number`
          })
    }
    case "CompareAndSet": {
      const isExpected = canonicalJson(before ?? null) === canonicalJson(write.expected)
      return { nextValue: isExpected ? write.next : before, result: isExpected, expiresAt: null }
    }
  }
}

/** What reading and writing values needs. */
interface KeyValuesContext {
  readonly sql: WriterSql["Type"]
  readonly vault: Vault["Type"]
}

const where = ({ sql }: KeyValuesContext, { environment, organisationId, owner, scope, spaceId }: Store, key: string) =>
  sql.and([
    sql`org = ${organisationId}`,
    sql`space = ${spaceId}`,
    sql`scope = ${scope}`,
    sql`environment = ${environment}`,
    sql`owner = ${owner}`,
    sql`key = ${key}`
  ])

const find = (context: KeyValuesContext, store: Store, key: string) =>
  context.sql<{
    value: Json
  }>`SELECT value FROM key_values WHERE ${where(context, store, key)} AND (expires_at IS NULL OR expires_at > now())`

const get = (context: KeyValuesContext, store: Store, key: string) =>
  find(context, store, key).pipe(
    Effect.map(([row]) => row?.value ?? null),
    Effect.mapError(unavailable)
  )

const put = (context: KeyValuesContext, store: Store, key: string, { expiresAt, nextValue }: StateChange) =>
  nextValue === undefined
    ? context.sql`DELETE FROM key_values WHERE ${where(context, store, key)}`
    : context.sql`INSERT INTO key_values (org, space, scope, environment, owner, key, value, expires_at)
      VALUES (${store.organisationId}, ${store.spaceId}, ${store.scope}, ${store.environment}, ${store.owner}, ${key},
        ${JSON.stringify(nextValue)}::json, ${expiresAt === null ? null : new Date(expiresAt)})
      ON CONFLICT (org, space, scope, environment, owner, key)
      DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at, updated_at = now()`

const write =
  (context: KeyValuesContext): KeyValues["Type"]["write"] =>
  (store, write, run, entry) =>
    Effect.gen(function* () {
      const sealer = yield* context.vault.of(store.organisationId)
      // Locks the run before the key, as every transaction here does: two writes never deadlock.
      const owned = yield* context.sql.unsafe(lockOwned, [[run.id], [run.epoch]])
      if (owned.length === 0) return yield* new Fenced({ id: run.id })
      const lock = canonicalJson([
        store.organisationId,
        store.spaceId,
        store.scope,
        store.environment,
        store.owner,
        write.key
      ])
      yield* context.sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`
      const [row] = yield* find(context, store, write.key)
      const change = applyWrite(write, row?.value)
      if (change instanceof StateRefused) return yield* change
      yield* put(context, store, write.key, change)
      yield* context.sql.unsafe(insertEntry, [JSON.stringify([encodeEntry(sealer, run, entry(change.result))])])
      return change.result
    }).pipe(
      context.sql.withTransaction,
      Effect.mapError((error) =>
        error._tag === "StateRefused" || error._tag === "Fenced" ? error : unavailable(error)
      )
    )

export const layer = Layer.effect(
  KeyValues,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault

    const context: KeyValuesContext = { sql, vault }

    return KeyValues.of({ get: (store: Store, key: string) => get(context, store, key), write: write(context) })
  })
)
