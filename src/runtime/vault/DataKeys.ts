/** The store of the organisations' data keys, each wrapped by a master key. */
import { describe } from "../telemetry/SafeError.js"
import { operatorText } from "../../domain/OperatorText.js"
import type { SqlError } from "@effect/sql"
import { Context, Data, Effect, Layer, Schema } from "effect"
import { rowDecoder } from "../postgres/record/Table.js"
import { outsideTransaction } from "../postgres/database/OutsideTransaction.js"
import { WriterSql } from "../postgres/database/Pools.js"

export interface DataKey {
  readonly org: string
  readonly id: string
  readonly wrapped: Uint8Array
  /** The master key that wraps it. */
  readonly masterKeyId: string
  /** Whether it seals. An organisation has at most one active key; the others only open. */
  readonly active: boolean
}

/** The keys cannot be read or written at the moment; a retry may succeed. */
export class DataKeysUnavailable extends Data.TaggedError("DataKeysUnavailable")<{ readonly reason: string }> {
  get [operatorText]() {
    return this.reason
  }
}

export class DataKeys extends Context.Tag("svc/DataKeys")<
  DataKeys,
  {
    /** All keys of an organisation. */
    readonly load: (org: string) => Effect.Effect<ReadonlyArray<DataKey>, DataKeysUnavailable>
    /** Stores the key unless the organisation has an active one; of two concurrent inserts one succeeds. */
    readonly insertIfAbsent: (key: DataKey) => Effect.Effect<void, DataKeysUnavailable>
    /**
     * Replaces the wrapping of keys in one transaction, except of those that another process has replaced since: `from`
     * is the master key that wrapped the key when it was read. Returns how many were replaced.
     */
    readonly rewrap: (
      all: ReadonlyArray<{ readonly key: DataKey; readonly from: string }>
    ) => Effect.Effect<number, DataKeysUnavailable>
    /**
     * Up to `limit` keys wrapped by another master key than this, with ids after `after`, in the order of their ids.
     */
    readonly wrappedByOthers: (
      masterKeyId: string,
      after: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DataKey>, DataKeysUnavailable>
  }
>() {}

/** Decodes a row with `dataKeyColumns`. */
export const decodeDataKey = rowDecoder("data_keys", {
  org: Schema.String,
  id: Schema.String,
  wrapped: Schema.Uint8ArrayFromSelf,
  masterKeyId: Schema.String,
  active: Schema.Boolean
})
/** The columns of a data key. */
export const dataKeyColumns = `org, id, wrapped, master_key_id AS "masterKeyId", active`

const unavailable = (error: SqlError.SqlError) => new DataKeysUnavailable({ reason: describe(error) })

const keys = (rows: Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>) =>
  Effect.mapBoth(outsideTransaction(rows), { onFailure: unavailable, onSuccess: (found) => found.map(decodeDataKey) })

/** Over the table `data_keys`, as the role that sees every organisation. */
export const layerPostgres: Layer.Layer<DataKeys, never, WriterSql> = Layer.effect(
  DataKeys,
  Effect.map(WriterSql, (sql) =>
    DataKeys.of({
      load: (org) => keys(sql.unsafe(`SELECT ${dataKeyColumns} FROM data_keys WHERE org = $1 ORDER BY id`, [org])),
      insertIfAbsent: (key) =>
        sql`INSERT INTO data_keys (org, id, wrapped, master_key_id, active)
            VALUES (${key.org}, ${key.id}, ${key.wrapped}, ${key.masterKeyId}, ${key.active}) ON CONFLICT DO NOTHING`.pipe(
          outsideTransaction,
          Effect.mapError(unavailable),
          Effect.asVoid
        ),
      rewrap: (all) =>
        // Locks in one order, so that two rotations never deadlock.
        sql
          .unsafe(
            `WITH anew AS (SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[]) AS t(id, wrapped, master, before)),
                  locked AS (SELECT id FROM data_keys WHERE id = ANY($1::text[]) ORDER BY id COLLATE "C" FOR UPDATE)
             UPDATE data_keys k SET wrapped = anew.wrapped, master_key_id = anew.master
             FROM anew JOIN locked USING (id) WHERE k.id = anew.id AND k.master_key_id = anew.before RETURNING k.id`,
            [
              all.map(({ key }) => key.id),
              all.map(({ key }) => Buffer.from(key.wrapped)),
              all.map(({ key }) => key.masterKeyId),
              all.map(({ from }) => from)
            ]
          )
          .pipe(outsideTransaction, Effect.mapBoth({ onFailure: unavailable, onSuccess: (rows) => rows.length })),
      wrappedByOthers: (masterKeyId, after, limit) =>
        keys(
          sql.unsafe(
            `SELECT ${dataKeyColumns} FROM data_keys WHERE master_key_id <> $1 AND id COLLATE "C" > $2 ORDER BY id COLLATE "C" LIMIT $3`,
            [masterKeyId, after, limit]
          )
        )
    })
  )
)
