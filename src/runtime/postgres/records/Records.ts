/**
 * The port `Records` on Postgres: management records, as the request role. Each transaction first sets the organisation
 * that row-level security admits.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Effect, FiberRef, Layer, Option } from "effect"
import {
  AlreadyExists,
  Changed,
  type ListQuery,
  type MemberFilter,
  Records,
  type StoredReply,
  type Repository,
  type Tx,
  type Where
} from "../../../actors/ports/Records.js"
import type { DomainEvent } from "../../../actors/ports/ConnectionStore.js"
import type { AuditEntry } from "../../../domain/Audit.js"
import { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { connections, credentials, installations } from "../connections/ConnectionTables.js"
import { Commits, transactionWrites } from "../CommitLog.js"
import { AppSql } from "../Pools.js"
import { columnOf, parameterOf, recordOf, selectColumns, type Table } from "./Table.js"
import * as tables from "./RecordTables.js"

const databaseError = (error: unknown): { readonly code?: string; readonly constraint?: string } =>
  error instanceof SqlError && typeof error.cause === "object" && error.cause !== null ? error.cause : {}

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })

/**
 * A unique violation is the client's error, a lost connection is `Unavailable`, any other error of Postgres is a
 * defect.
 */
const writeError = (error: SqlError): Effect.Effect<never, AlreadyExists | Unavailable> => {
  const { code, constraint } = databaseError(error)
  if (code === "23505") return new AlreadyExists({ index: constraint ?? "" })
  return code === undefined || code.startsWith("08") || code.startsWith("57") ? unavailable() : Effect.die(error)
}
const readError = (error: SqlError): Effect.Effect<never, Unavailable> =>
  Effect.catchTag(writeError(error), "AlreadyExists", () => Effect.die(error))

const noteWrite = Effect.map(FiberRef.get(transactionWrites), (state) => {
  if (state !== undefined) state.isWritten = true
})

/** Collects the parameters of a statement; `add` returns the placeholder of a value. */
const makeParameters = () => {
  const values: Array<unknown> = []
  return { values, add: (value: unknown) => `$${values.push(value)}` }
}

export const layer = Layer.effect(
  Records,
  Effect.gen(function* () {
    const sql = yield* AppSql
    const commits = yield* Commits

    const condition = <R>(table: Table<R>, where: Where<R>, add: (value: unknown) => string): ReadonlyArray<string> =>
      table.members.flatMap((member) => {
        const value = where[member]
        if (value === undefined) return []
        const name = `"${columnOf(table, member)}"`
        if (value === null) return [`${name} IS NULL`]
        if (!Array.isArray(value)) return [`${name} = ${add(value)}`]
        const any = `${name} = ANY(${add(value.filter((one) => one !== null))})`
        return [value.includes(null) ? `(${any} OR ${name} IS NULL)` : any]
      })

    const amongCondition = <R>(
      table: Table<R>,
      { among, member, part }: MemberFilter<R>,
      add: (value: unknown) => string
    ): string => {
      const name = `"${columnOf(table, member)}"`
      const values = `${add(among)}::text[]`
      if (part === "items") return `${name} <@ ${values}`
      const item = part === "keys" ? "key" : "value"
      return `NOT EXISTS (SELECT 1 FROM jsonb_each_text(${name}) AS held WHERE held.${item} <> ALL (${values}))`
    }

    const filters = <R>(
      table: Table<R>,
      query: ListQuery<R>,
      add: (value: unknown) => string
    ): ReadonlyArray<string> => {
      const created = `"${columnOf(table, table.createdMember)}"`
      const found = query.search
      const pattern = found === undefined ? "" : add(`%${found.text.replace(/[\\%_]/g, "\\$&")}%`)
      return [
        ...condition(table, query.where ?? {}, add),
        ...(query.only ?? []).map((only) => amongCondition(table, only, add)),
        ...(found === undefined
          ? []
          : [`(${found.in.map((member) => `"${columnOf(table, member)}" ILIKE ${pattern}`).join(" OR ")})`]),
        ...(query.createdAfter === undefined ? [] : [`${created} > ${add(query.createdAfter)}`]),
        ...(query.createdBefore === undefined ? [] : [`${created} < ${add(query.createdBefore)}`]),
        // The API shows milliseconds and Postgres stores microseconds: both sides are truncated to milliseconds.
        ...(query.after === undefined
          ? []
          : [
              `(date_trunc('milliseconds', ${created}), id) < (${add(query.after.createdAt)}::timestamptz, ${add(query.after.id)})`
            ])
      ]
    }

    const where = (conditions: ReadonlyArray<string>) =>
      conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`

    const repository = <R>(table: Table<R>): Repository<R> => {
      const select = (conditions: Where<R>, lock: string) => {
        const { add, values } = makeParameters()
        return sql
          .unsafe<{ [member: string]: unknown }>(
            `SELECT ${selectColumns(table)} FROM ${table.name}${where(condition(table, conditions, add))} LIMIT 1${lock}`,
            values
          )
          .pipe(
            Effect.map(([row]) => Option.map(Option.fromNullable(row), recordOf<R>)),
            Effect.catchAll(readError)
          )
      }
      const list = (query: ListQuery<R>) => {
        const { add, values } = makeParameters()
        const created = `date_trunc('milliseconds', "${columnOf(table, table.createdMember)}")`
        const order =
          table.createdMember === "number"
            ? "number DESC"
            : table.members.includes("id" as keyof R & string)
              ? `${created} DESC, id DESC`
              : `"${columnOf(table, table.createdMember)}" DESC`
        const text = `SELECT ${selectColumns(table)} FROM ${table.name}${where(filters(table, query, add))} ORDER BY ${order} LIMIT ${add(query.limit)}`
        return sql.unsafe<{ [member: string]: unknown }>(text, values).pipe(
          Effect.map((rows) => rows.map((row) => recordOf<R>(row))),
          Effect.catchAll(readError)
        )
      }
      const count = (conditions: Where<R>) => {
        const { add, values } = makeParameters()
        return sql
          .unsafe<{ n: number }>(
            `SELECT count(*)::int AS n FROM ${table.name}${where(condition(table, conditions, add))}`,
            values
          )
          .pipe(
            Effect.map(([row]) => row?.n ?? 0),
            Effect.catchAll(readError)
          )
      }
      const countBy = (member: keyof R & string, conditions: Where<R>) => {
        const { add, values } = makeParameters()
        return sql
          .unsafe<{ value: string; n: number }>(
            `SELECT "${columnOf(table, member)}" AS value, count(*)::int AS n FROM ${table.name}${where(condition(table, conditions, add))} GROUP BY 1`,
            values
          )
          .pipe(
            Effect.map((rows) => new Map(rows.map(({ n, value }) => [value, n]))),
            Effect.catchAll(readError)
          )
      }
      const insert = (record: R) => {
        const { add, values } = makeParameters()
        const columns = table.members.map((member) => `"${columnOf(table, member)}"`).join(", ")
        const places = table.members.map((member) => add(parameterOf(table, member, record[member]))).join(", ")
        return sql
          .unsafe(`INSERT INTO ${table.name} (${columns}) VALUES (${places})`, values)
          .pipe(Effect.zipRight(noteWrite), Effect.catchAll(writeError))
      }
      const update = (record: R) => {
        const { add, values } = makeParameters()
        const sets = table.members
          .filter((member) => !table.key.includes(member))
          .map((member) => `"${columnOf(table, member)}" = ${add(parameterOf(table, member, record[member]))}`)
        const conditions = table.key.map((member) => `"${columnOf(table, member)}" = ${add(record[member])}`)
        const version = table.isVersioned ? Number(record["version" as keyof R]) - 1 : undefined
        const versionedConditions = version === undefined ? conditions : [...conditions, `version = ${add(version)}`]
        return sql
          .unsafe<{ one: number }>(
            `UPDATE ${table.name} SET ${sets.join(", ")}${where(versionedConditions)} RETURNING 1 AS one`,
            values
          )
          .pipe(
            Effect.catchAll(writeError),
            Effect.flatMap((rows) => (rows.length === 0 ? new Changed() : noteWrite))
          )
      }
      const remove = (conditions: Where<R>) => {
        const { add, values } = makeParameters()
        return sql
          .unsafe<{ one: number }>(
            `DELETE FROM ${table.name}${where(condition(table, conditions, add))} RETURNING 1 AS one`,
            values
          )
          .pipe(
            Effect.zipLeft(noteWrite),
            Effect.map((rows) => rows.length),
            Effect.catchAll(readError)
          )
      }
      return {
        find: (conditions) => select(conditions, ""),
        lock: (conditions) => select(conditions, " FOR UPDATE"),
        list,
        count,
        countBy,
        insert,
        update,
        remove
      }
    }

    const audit = (entry: AuditEntry) =>
      sql`INSERT INTO audit_entries (id, org, at, actor_type, actor_id, action, resource_type, resource_id, customer_id, outcome, entry)
      VALUES (${entry.id}, ${entry.organisationId}, ${entry.at}, ${entry.actor.type}, ${entry.actor.id}, ${entry.action},
        ${entry.resource.type}, ${entry.resource.id}, ${entry.customerId}, ${entry.outcome}, ${JSON.stringify(entry)}::json)`.pipe(
        Effect.asVoid,
        Effect.catchAll(readError)
      )

    const remember = (reply: StoredReply) =>
      sql`INSERT INTO idempotent_replies (org, key, hash, sealed, expires_at)
      VALUES (current_setting('svc.org'), ${reply.key}, ${reply.hash}, ${reply.sealed}, ${reply.expiresAt})
      ON CONFLICT (org, key) DO UPDATE SET hash = excluded.hash, sealed = excluded.sealed, expires_at = excluded.expires_at
        WHERE idempotent_replies.expires_at < now()`.pipe(Effect.asVoid, Effect.catchAll(writeError))

    const remembered = (key: string) =>
      sql<{ key: string; hash: string; sealed: Uint8Array; expiresAt: Date }>`
      SELECT key, hash, sealed, expires_at AS "expiresAt" FROM idempotent_replies WHERE key = ${key} AND expires_at > now()`.pipe(
        Effect.map(([row]) =>
          Option.map(Option.fromNullable(row), (found) => ({ ...found, expiresAt: found.expiresAt.toISOString() }))
        ),
        Effect.catchAll(readError)
      )

    const replaceRemembered = ({ expiresAt, key, sealed }: StoredReply) =>
      sql`UPDATE idempotent_replies SET sealed = ${sealed}, expires_at = ${expiresAt} WHERE key = ${key}`.pipe(
        Effect.asVoid,
        Effect.catchAll(readError)
      )

    const forgetRemembered = (key: string) =>
      sql`DELETE FROM idempotent_replies WHERE key = ${key}`.pipe(Effect.asVoid, Effect.catchAll(readError))

    const tryHold = (key: string) =>
      sql<{
        held: boolean
      }>`SELECT pg_try_advisory_xact_lock(hashtextextended(current_setting('svc.org') || ${key}, 1)) AS held`.pipe(
        Effect.map(([row]) => row?.held ?? false),
        Effect.catchAll(readError)
      )

    const hold = (key: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(current_setting('svc.org') || ${key}, 3))`.pipe(
        Effect.asVoid,
        Effect.catchAll(readError)
      )

    const tell = ({ at, customerId, id, payload, subject, type }: DomainEvent) =>
      sql`INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
      VALUES (${id}, current_setting('svc.org'), ${type}, ${subject}, ${customerId}, ${JSON.stringify(payload)}::jsonb, ${at})`.pipe(
        Effect.asVoid,
        Effect.catchAll(readError)
      )

    const tx: Tx = {
      organisations: repository(tables.organisations),
      workspaces: repository(tables.workspaces),
      customers: repository(tables.customers),
      environments: repository(tables.environments),
      apiKeys: repository(tables.apiKeys),
      roles: repository(tables.roles),
      users: repository(tables.users),
      secrets: repository(tables.secrets),
      secretVersions: repository(tables.secretVersions),
      workflows: repository(tables.workflows),
      workflowVersions: repository(tables.workflowVersions),
      deployments: repository(tables.deployments),
      configuration: repository(tables.configuration),
      connectors: repository(tables.connectors),
      connectorVersions: repository(tables.connectorVersions),
      authProviders: repository(tables.authProviders),
      installations: repository(installations),
      connections: repository(connections),
      credentials: repository(credentials),
      audit,
      emit: tell,
      saveReply: remember,
      findReply: remembered,
      replaceReply: replaceRemembered,
      deleteReply: forgetRemembered,
      lockKey: hold,
      tryLockKey: tryHold
    }

    /** Records the commit of a transaction that wrote, so that read caches of this node drop older values. */
    const recordWrites = <A, E, R>(organisation: OrganisationId, transaction: Effect.Effect<A, E, R>) =>
      Effect.flatMap(FiberRef.get(transactionWrites), (outer) => {
        // A nested transaction commits with the outer one.
        if (outer !== undefined) return transaction
        const state = { isWritten: false }
        return Effect.locally(transaction, transactionWrites, state).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              if (state.isWritten) commits.recordCommit(organisation)
            })
          )
        )
      })

    return Records.of({
      transact: (organisation, body) =>
        recordWrites(
          organisation,
          sql.withTransaction(
            Effect.zipRight(
              Effect.catchAll(sql`SELECT set_config('svc.org', ${organisation}, true)`, () => unavailable()),
              body(tx)
            )
          )
        ).pipe(
          Effect.catchIf(
            (error): error is SqlError => error instanceof SqlError,
            () => unavailable()
          )
        )
    })
  })
)
