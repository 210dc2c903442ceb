/**
 * The port `EmbedSessions`, cached for less than a second. As the writer's role, since the organisation of a request is
 * unknown until its token is found.
 */
import { Effect, Layer, Schema } from "effect"
import { EmbedSessions, type KnownEmbedSession } from "../../../actors/ports/access/EmbedSessions.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { StoredObject } from "../../../domain/Json.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { tables } from "../record/RecordTables.js"
import { rowDecoder, selectColumns } from "../record/Table.js"
import { makeHashPrefixes } from "./HashPrefixes.js"
import { decodeKnownOrganisation, knownOrganisationSql } from "./KnownOrganisation.js"

/** An ended session may work for a second; the rest is for requests in flight. */
const maxAgeMillis = 800

const { apiKeys, embedSessions } = tables

const decodeJoined = rowDecoder("embed_sessions", { customer: StoredObject, organisation: StoredObject })
const decodeCustomer = rowDecoder("customers", Customer.stored.pick("id", "name", "status"))

const ofSession = selectColumns(embedSessions).replaceAll(/"(\w+)" AS/g, `s."$1" AS`)

/** `$1`: the hash of a token. */
const sessionSql = `SELECT ${ofSession}, ${knownOrganisationSql} AS organisation,
    json_build_object('id', c.id, 'name', c.name, 'status', c.status) AS customer
  FROM embed_sessions s JOIN organisations o ON o.id = s.org JOIN customers c ON c.id = s.customer_id
  WHERE s.token_hash = $1 OR s.replaced_hash = $1`

const keySql = `SELECT ${selectColumns(apiKeys)} FROM api_keys WHERE id = $1`

/** `$1`: the origin. What a session may do beyond its own state is asked with its token. */
const originSql = `SELECT EXISTS (SELECT FROM embed_sessions
      WHERE allowed_origins @> ARRAY[$1::text] AND ended_at IS NULL AND expires_at > now())
    OR EXISTS (SELECT FROM widget_versions v JOIN widgets w ON w.id = v.widget_id AND w.published_version = v.number
      WHERE v.allowed_origins @> ARRAY[$1::text]) AS named`

const decodeNamed = rowDecoder("embed_sessions", { named: Schema.Boolean })

export const layer = Layer.scoped(
  EmbedSessions,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    // Unknown tokens are not cached: guesses must not evict the sessions in use.
    const cache = yield* makeReadCache<KnownEmbedSession>({
      maxAgeMillis,
      organisationOf: (_, { organisation }) => organisation.id
    })
    const origins = yield* makeReadCache<boolean>({ maxEntries: 1_000, organisationOf: noOrganisation })
    const mayExist = yield* makeHashPrefixes(sql, "embed_sessions", ["token_hash", "replaced_hash"])

    const load = Effect.fnUntraced(function* (hash: string) {
      const [row] = yield* sql.unsafe(sessionSql, [hash])
      if (row === undefined) return undefined
      const session = embedSessions.decode(row)
      const [keyRow] = yield* sql.unsafe(keySql, [session.keyId])
      if (keyRow === undefined) return undefined
      const { customer, organisation } = decodeJoined(row)
      return {
        session,
        key: apiKeys.decode(keyRow),
        customer: decodeCustomer(customer),
        organisation: decodeKnownOrganisation(organisation)
      } satisfies KnownEmbedSession
    }, Effect.mapError(databaseUnavailable))

    const loadOrigin = (origin: string) =>
      sql.unsafe(originSql, [origin]).pipe(
        Effect.map(([row]) => row !== undefined && decodeNamed(row).named),
        Effect.mapError(databaseUnavailable)
      )

    return EmbedSessions.of({
      find: (hash) => cache.find(hash, () => load(hash)),
      findCached: cache.peek,
      mayExist,
      isOriginNamed: (origin) =>
        Effect.map(
          origins.get(origin, () => loadOrigin(origin)),
          (named) => named === true
        )
    })
  })
)
