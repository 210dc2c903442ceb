/** The port `Sessions`, cached for less than a second. As the writer's role: sessions belong to no organisation. */
import { Effect, Layer, Schema } from "effect"
import { type KnownSession, type OrganisationMember, Sessions } from "../../../actors/ports/access/Sessions.js"
import { Role, User } from "../../../domain/access/Person.js"
import { Session, sessionLimits } from "../../../domain/access/Session.js"
import { SpaceId } from "../../../domain/Ids.js"
import { StoredObject } from "../../../domain/Json.js"
import { databaseUnavailable, recordsOf, rowsOf } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { rowDecoder, selectColumns, tableOf } from "../record/Table.js"
import { decodeKnownOrganisation, knownOrganisationSql } from "./KnownOrganisation.js"
import { makeHashPrefixes } from "./HashPrefixes.js"
import { makeLastUses } from "./LastUses.js"

/** An ended session may work for a second; the rest is for requests in flight. */
const maxAgeMillis = 800
/** Uses sooner after the last one are not written. */
const writeAfterMillis = 60_000

export const sessionsTable = tableOf("sessions", Session.stored)

const decodeSession = sessionsTable.decode
const decodeEmail = rowDecoder("identities", { email: Schema.String })
const decodeUser = rowDecoder("users", User.stored.pick("id", "email", "name", "customerIds"))
const decodeRole = rowDecoder("roles", Role.stored.pick("id", "name", "permissions"))
const decodeMembership = rowDecoder("users", {
  user: StoredObject,
  role: StoredObject,
  organisation: StoredObject,
  spaces: Schema.NonEmptyArray(SpaceId)
})

const ofSession = selectColumns(sessionsTable).replaceAll(/"(\w+)" AS/g, `s."$1" AS`)

const sessionSql = `SELECT ${ofSession}, i.email FROM sessions s JOIN identities i ON i.id = s.identity_id
  WHERE s.token_hash = $1`

/** `$1`: the identity. */
const membershipsSql = `SELECT
    json_build_object('id', u.id, 'email', u.email, 'name', u.name, 'customerIds', u.customer_ids) AS user,
    json_build_object('id', r.id, 'name', r.name, 'permissions', r.permissions) AS role,
    ${knownOrganisationSql} AS organisation,
    w.spaces
  FROM users u JOIN roles r ON r.id = u.role_id JOIN organisations o ON o.id = u.org
    CROSS JOIN LATERAL (SELECT array_agg(w.id ORDER BY w.created_at, w.id) AS spaces FROM workspaces w WHERE w.org = u.org) w
  WHERE u.identity_id = $1 AND u.status = 'active' AND w.spaces IS NOT NULL
  ORDER BY u.created_at, u.id LIMIT ${sessionLimits.organisations}`

const writeUsesSql = `WITH used AS (
    SELECT u.id, u.at FROM json_to_recordset($1::json) AS u(id text, at timestamptz)
  ), seen AS (
    UPDATE sessions s SET last_seen_at = used.at FROM used WHERE s.id = used.id AND s.last_seen_at < used.at
    RETURNING s.identity_id, s.last_seen_at
  )
  UPDATE users u SET last_active_at = seen.at
  FROM (SELECT identity_id, max(last_seen_at) AS at FROM seen GROUP BY 1) AS seen
  WHERE u.identity_id = seen.identity_id AND (u.last_active_at IS NULL OR u.last_active_at < seen.at)`

const membershipOf = (row: object): OrganisationMember => {
  const { organisation, role, spaces, user } = decodeMembership(row)
  return {
    user: decodeUser(user),
    role: decodeRole(role),
    organisation: decodeKnownOrganisation(organisation),
    spaces
  }
}

export const layer = Layer.scoped(
  Sessions,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    // Unknown tokens are not cached: guesses must not evict the sessions in use.
    const cache = yield* makeReadCache<KnownSession>({ maxAgeMillis, organisationOf: noOrganisation })
    const mayExist = yield* makeHashPrefixes(sql, "sessions", ["token_hash"])
    const uses = yield* makeLastUses(sql, "sessions.uses", writeUsesSql)

    const load = Effect.fnUntraced(function* (hash: string) {
      const [row] = yield* sql.unsafe(sessionSql, [hash])
      if (row === undefined) return undefined
      const session = decodeSession(row)
      const rows = yield* sql.unsafe(membershipsSql, [session.identityId])
      const [first, ...others] = rows.map(membershipOf)
      if (first === undefined) return undefined
      return { session, email: decodeEmail(row).email, memberships: [first, ...others] } satisfies KnownSession
    }, Effect.mapError(databaseUnavailable))

    const seenAt = ({ id, lastSeenAt }: Session) => uses.get(id) ?? Date.parse(lastSeenAt)

    return Sessions.of({
      find: (hash) => cache.find(hash, () => load(hash)),
      findCached: cache.peek,
      mayExist,
      seenAt,
      recordUse: (session, now) => {
        if (now - seenAt(session) >= writeAfterMillis) uses.record(session.id, now)
      },
      list: (identity) =>
        recordsOf(
          sql.unsafe(
            `SELECT ${selectColumns(sessionsTable)} FROM sessions WHERE identity_id = $1 ORDER BY id DESC LIMIT ${sessionLimits.ofIdentity}`,
            [identity]
          ),
          decodeSession
        ),
      end: (identity, id) =>
        Effect.map(
          rowsOf(sql`DELETE FROM sessions WHERE identity_id = ${identity} AND id = ${id} RETURNING id`),
          (rows) => rows.length > 0
        )
    })
  })
)
