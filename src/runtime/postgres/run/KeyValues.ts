/**
 * The port `KeyValues` (`svc.state`) on Postgres: a write and the journal entry that records it are one transaction. The
 * node reads, opens, changes, seals and writes a value while it holds the lock of its key.
 */
import { Effect, Layer, Schema } from "effect"
import { Fenced } from "../../../actors/ports/run/Journal.js"
import { KeyValues, StateRefused, type StateWrite, type Store } from "../../../actors/execution/calls/StateCalls.js"
import { type OrganisationVault, Vault } from "../../../actors/ports/Vault.js"
import { canonicalJson, type Json } from "../../../domain/Json.js"
import { selectOwned } from "../journal/Fence.js"
import { encodeEntry } from "../journal/JournalRow.js"
import { journal } from "../journal/FlushTables.js"
import { WriterSql } from "../database/Pools.js"
import { readState, sealState, type StateKey, stateKeyOwner, stateKeyText } from "./StateRow.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"

/** Locks the run and then the key `$3`, as every transaction here does: two writes never deadlock. */
const lockSql = `WITH owned AS MATERIALIZED (${selectOwned("$1", "$2")})
  SELECT pg_advisory_xact_lock(hashtextextended($3, 0))::text FROM owned`
const insertEntry = journal.insert("$1", () => false)

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

const rowKeyOf = ({ environment, organisationId, owner, scope, spaceId }: Store, key: string): StateKey => ({
  org: organisationId,
  space: spaceId,
  scope,
  environment,
  owner,
  key
})

const decode = rowDecoder("key_values", {
  clear: Schema.NullOr(Schema.String),
  sealed: Schema.NullOr(Schema.Uint8ArrayFromSelf)
})

export const layer = Layer.effect(
  KeyValues,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault

    const where = ({ environment, key, org, owner, scope, space }: StateKey) =>
      sql.and([
        sql`org = ${org}`,
        sql`space = ${space}`,
        sql`scope = ${scope}`,
        sql`environment = ${environment}`,
        sql`owner = ${owner}`,
        sql`key = ${key}`
      ])

    /** The value of a key; `undefined` if there is none. */
    const find = (vault: OrganisationVault, key: StateKey) =>
      sql`SELECT value::text AS clear, sealed FROM key_values
     WHERE ${where(key)} AND (expires_at IS NULL OR expires_at > now())`.pipe(
        Effect.flatMap(([row]) =>
          row === undefined
            ? Effect.succeed(undefined)
            : Effect.try({ try: () => readState(vault, key, decode(row)), catch: journalUnavailable })
        )
      )

    const get = (store: Store, name: string) =>
      Effect.gen(function* () {
        const key = rowKeyOf(store, name)
        return (yield* find(yield* vault.of(stateKeyOwner(key)), key)) ?? null
      }).pipe(Effect.mapError(journalUnavailable))

    const put = (vault: OrganisationVault, key: StateKey, { expiresAt, nextValue }: StateChange) =>
      nextValue === undefined
        ? sql`DELETE FROM key_values WHERE ${where(key)}`
        : sql`INSERT INTO key_values (org, space, scope, environment, owner, key, sealed, expires_at)
      VALUES (${key.org}, ${key.space}, ${key.scope}, ${key.environment}, ${key.owner}, ${key.key},
        ${sealState(vault, key, JSON.stringify(nextValue))}, ${expiresAt === null ? null : new Date(expiresAt)})
      ON CONFLICT (org, space, scope, environment, owner, key)
      DO UPDATE SET value = NULL, sealed = excluded.sealed, expires_at = excluded.expires_at, updated_at = now()`

    /** The vaults of the run's journal and of the value, read before the transaction, which would hold a connection. */
    const vaultsOf = (key: StateKey) =>
      Effect.mapError(Effect.all([vault.of(key.org), vault.of(stateKeyOwner(key))]), journalUnavailable)

    const write: KeyValues["Type"]["write"] = Effect.fnUntraced(function* (store, write, run, entry) {
      const key = rowKeyOf(store, write.key)
      const [sealer, values] = yield* vaultsOf(key)
      return yield* Effect.gen(function* () {
        const owned = yield* sql.unsafe(lockSql, [[run.id], [run.epoch], stateKeyText(key)])
        if (owned.length === 0) return yield* new Fenced({ id: run.id })
        const change = applyWrite(write, yield* find(values, key))
        if (change instanceof StateRefused) return yield* change
        yield* put(values, key, change)
        yield* sql.unsafe(insertEntry, [JSON.stringify([encodeEntry(sealer, run, entry(change.result))])])
        return change.result
      }).pipe(
        sql.withTransaction,
        Effect.mapError((error) =>
          error._tag === "StateRefused" || error._tag === "Fenced" ? error : journalUnavailable(error)
        )
      )
    })

    return KeyValues.of({ get, write })
  })
)
