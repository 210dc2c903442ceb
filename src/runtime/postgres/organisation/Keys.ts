/**
 * The port `Keys`: looks API keys up by their hash, cached for less than a second. As the writer's role, since the
 * organisation of a request is unknown until its key is found.
 */
import { Effect, Layer, Redacted } from "effect"
import { Keys, type KnownKey } from "../../../actors/ports/organisation/Keys.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder, selectColumns } from "../record/Table.js"
import { tables } from "../record/RecordTables.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { StoredObject } from "../../../domain/Json.js"
import { decodeKnownOrganisation, knownOrganisationSql } from "../access/KnownOrganisation.js"
import { makeHashPrefixes } from "../access/HashPrefixes.js"
import { makeLastUses } from "../access/LastUses.js"

const { apiKeys } = tables

/** Revocation may take a second; the rest is for requests in flight. */
const maxAgeMillis = 800

const writeUsesSql = `UPDATE api_keys k SET last_used_at = u.at
  FROM json_to_recordset($1::json) AS u(id text, at timestamptz)
  WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`

/** The place that a key's identity secret is sealed to. */
export const identityPlace = (organisation: string, keyId: string) => ({
  organisation,
  table: "api_keys",
  column: "hmac_secret",
  row: keyId
})

const decodeJoined = rowDecoder("organisations", { organisation: StoredObject })

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
    const load = Effect.fnUntraced(function* (hash: string) {
      const [row] = yield* sql.unsafe(
        `SELECT ${selectColumns(apiKeys)
          .split(", ")
          .map((part) => `k.${part}`)
          .join(", ")}, ${knownOrganisationSql} AS organisation
   FROM api_keys k JOIN organisations o ON o.id = k.org WHERE k.hash = $1 OR k.hash_before = $1`,
        [hash]
      )
      if (row === undefined) return undefined
      const key = apiKeys.decode(row)
      return {
        key,
        rotated: key.hash !== hash,
        organisation: decodeKnownOrganisation(decodeJoined(row).organisation)
      } satisfies KnownKey
    }, Effect.mapError(databaseUnavailable))

    const mayExist = yield* makeHashPrefixes(sql, "api_keys", ["hash", "hash_before"])
    const uses = yield* makeLastUses(sql, "keys.uses", writeUsesSql)

    const find = (hash: string) => cache.find(hash, () => load(hash))

    return Keys.of({
      find,
      findCached: cache.peek,
      mayExist,
      recordUse: (key, now) => uses.record(key.id, now),
      identitySecret: (organisation, key) =>
        key.hmacSecret === null
          ? Effect.succeed("")
          : vault
              .open(identityPlace(organisation, key.id), key.hmacSecret)
              .pipe(Effect.map(Redacted.value), Effect.mapError(databaseUnavailable))
    })
  })
)
