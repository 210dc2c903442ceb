/**
 * The port `Keys`: looks API keys up by their hash, cached for less than a second. As the writer's role, since the
 * organisation of a request is unknown until its key is found.
 */
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Keys, type KnownKey } from "../../../actors/ports/organisation/Keys.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { Organisation } from "../../../domain/organisation/Organisation.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder, selectColumns } from "../record/Table.js"
import { tables } from "../record/RecordTables.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { StoredObject } from "../../../domain/Json.js"

const { apiKeys } = tables

/** Revocation may take a second; the rest is for requests in flight. */
const maxAgeMillis = 800
/** Writes when keys were last used; a failed write is repeated with the next. */
const writeUsesInterval = "2 seconds"
/** A set of hash prefixes tells which hashes may be a key's: their length, the set's age, and its size. */
const prefixLength = 10
const prefixesMaxAgeMillis = 1_000
const maxPrefixes = 50_000

/** The place that a key's identity secret is sealed to. */
export const identityPlace = (organisation: string, keyId: string) => ({
  organisation,
  table: "api_keys",
  column: "hmac_secret",
  row: keyId
})

const decodeOrganisation = rowDecoder(
  "organisations",
  Organisation.stored.pick("id", "name", "plan", "status", "defaultEnvironment", "settings", "parentId")
)

const decodeJoined = rowDecoder("organisations", { organisation: StoredObject })
const decodePrefix = rowDecoder("api_keys", { begin: Schema.String })

export const layer = Layer.scoped(
  Keys,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault
    // Unknown keys are not cached: guesses must not evict the keys in use.
    const cache = yield* makeReadCache<KnownKey>({
      maxAgeMillis,
      organisationOf: (_, { organisation }) => organisation.id
    })
    /** When each key was last used, in Unix milliseconds, until that is written. */
    const lastUsed = new Map<string, number>()

    const load = Effect.fnUntraced(function* (hash: string) {
      const [row] = yield* sql.unsafe(
        `SELECT ${selectColumns(apiKeys)
          .split(", ")
          .map((part) => `k.${part}`)
          .join(", ")}, json_build_object('id', o.id, 'name', o.name, 'plan', o.plan, 'status', o.status,
     'defaultEnvironment', o.default_environment, 'settings', o.settings, 'parentId', o.parent_id) AS organisation
   FROM api_keys k JOIN organisations o ON o.id = k.org WHERE k.hash = $1 OR k.hash_before = $1`,
        [hash]
      )
      if (row === undefined) return undefined
      const key = apiKeys.decode(row)
      return {
        key,
        rotated: key.hash !== hash,
        organisation: decodeOrganisation(decodeJoined(row).organisation)
      } satisfies KnownKey
    }, Effect.mapError(databaseUnavailable))

    const loadPrefixes = sql`
  SELECT left(hash, ${prefixLength}::int) AS begin FROM api_keys
  UNION SELECT left(hash_before, ${prefixLength}::int) FROM api_keys WHERE hash_before IS NOT NULL
  LIMIT ${maxPrefixes + 1}`.pipe(
      Effect.map((rows) =>
        rows.length > maxPrefixes ? ("too many" as const) : new Set(rows.map((row) => decodePrefix(row).begin))
      ),
      Effect.mapError(databaseUnavailable)
    )

    /** Writes when keys were last used; a failed write is repeated with the next. */
    const writeUses = Effect.gen(function* () {
      if (lastUsed.size === 0) return
      const uses = [...lastUsed]
      lastUsed.clear()
      const restore = () => {
        for (const [id, at] of uses) if (!lastUsed.has(id)) lastUsed.set(id, at)
      }
      yield* Effect.tapErrorCause(
        sql`UPDATE api_keys k SET last_used_at = u.at FROM json_to_recordset(${JSON.stringify(
          uses.map(([id, at]) => ({ id, at: new Date(at).toISOString() }))
        )}::json) AS u(id text, at timestamptz) WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`,
        () => Effect.sync(restore)
      )
    })

    const find = (hash: string) => cache.find(hash, load(hash))

    /** Used only while some address sends many unknown keys. With more keys than `maxPrefixes` it filters nothing. */
    const hashPrefixes = yield* makeReadCache<ReadonlySet<string> | "too many">({
      maxAgeMillis: prefixesMaxAgeMillis,
      maxEntries: 1,
      organisationOf: noOrganisation
    })
    const mayExist = (hash: string) =>
      Effect.map(
        hashPrefixes.get("all", loadPrefixes),
        (found) => found === undefined || found === "too many" || found.has(hash.slice(0, prefixLength))
      )
    const task = yield* backgroundTask("keys.uses", writeUses)
    const pass = Effect.zipRight(
      task.run,
      Effect.suspend(() => task.reportWaiting(lastUsed.size > 0))
    )
    yield* repeatEvery(writeUsesInterval, pass, "later")
    yield* Effect.addFinalizer(() => task.run)

    return Keys.of({
      find,
      findCached: cache.peek,
      mayExist,
      recordUse: (key, now) => {
        lastUsed.set(key.id, now)
      },
      identitySecret: (organisation, key) =>
        key.hmacSecret === null
          ? Effect.succeed("")
          : vault
              .open(identityPlace(organisation, key.id), key.hmacSecret)
              .pipe(Effect.map(Redacted.value), Effect.mapError(databaseUnavailable))
    })
  })
)
