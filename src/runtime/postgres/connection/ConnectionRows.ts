/** Rows of `connections`: the statements that read and write them, and the compact record that an owner keeps in memory. */
import type { OwnedConnection } from "../../../actors/ports/connection/ConnectionStore.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import { memoize } from "../../../domain/RecentMap.js"
import { Schema } from "effect"
import { CredentialId } from "../../../domain/Ids.js"
import { AnsweredTime } from "../../../domain/Time.js"
import { columnOf, rowDecoder, selectColumns } from "../record/Table.js"
import { tables } from "../record/RecordTables.js"

const { connections } = tables

/** Members that the statement of a change does not write. */
const separatelyWritten: ReadonlySet<string> = new Set(["id", "isDefault", "lastUsedAt"])
export const updatedMembers = connections.members.filter((member) => !separatelyWritten.has(member))

export const insertSql = `INSERT INTO connections (${connections.members.map((member) => `"${columnOf(member)}"`).join(", ")},
    next_look_at)
  VALUES (${connections.members.map((_, i) => `$${i + 1}`).join(", ")}, $${connections.members.length + 1})
  ON CONFLICT (id) DO NOTHING RETURNING 1`

export const updateSql = `UPDATE connections SET ${updatedMembers
  .map((member, i) => `"${columnOf(member)}" = $${i + 1}`)
  .join(
    ", "
  )}, next_look_at = $${updatedMembers.length + 1}, revision = revision + 1, is_default = is_default AND $${updatedMembers.length + 4},
    disconnected_at = CASE WHEN $${updatedMembers.length + 4} THEN NULL ELSE COALESCE(disconnected_at, now()) END
  WHERE id = $${updatedMembers.length + 2} AND revision = $${updatedMembers.length + 3}
  RETURNING revision`

export const loadSql = `SELECT ${selectColumns(connections)
  .split(", ")
  .map((part) => `c.${part}`)
  .join(", ")}, c.revision AS held_revision, k.id AS credential_id, k.number AS credential_number,
    k.sealed AS credential_sealed, i.refresh_seq, i.token_hash, i.attempt, i.process AS intent_process, i.at AS intent_at
  FROM connections c LEFT JOIN credentials k ON k.connection_id = c.id LEFT JOIN refresh_intents i ON i.connection_id = c.id
  WHERE c.id = $1`

const decodeLoad = rowDecoder("connections", {
  held_revision: Schema.Number,
  credential_id: Schema.NullOr(CredentialId),
  credential_number: Schema.NullOr(Schema.Number),
  credential_sealed: Schema.NullOr(Schema.Uint8ArrayFromSelf),
  refresh_seq: Schema.NullOr(Schema.Number),
  token_hash: Schema.NullOr(Schema.String),
  attempt: Schema.NullOr(Schema.Number),
  intent_process: Schema.NullOr(Schema.String),
  intent_at: Schema.NullOr(AnsweredTime)
})

/** One copy of a text: very many connections in memory share it. */
const internText = memoize((text) => text, 10_000)
// The same text.
const intern = <Text extends string | null>(text: Text): Text => (text === null ? text : (internText(text) as Text))
const emptyObject = {}
const emptyList: ReadonlyArray<never> = []
// Both have no members.
const internEmpty = <A extends object>(value: A): A => (Object.keys(value).length === 0 ? (emptyObject as A) : value)

/**
 * Copies a connection into an object literal. Owners keep it in memory while they are idle, and an object that is built
 * member by member takes six times as much in V8.
 */
const compactConnection = (read: Connection): Connection => ({
  id: read.id,
  organisationId: intern(read.organisationId),
  connector: intern(read.connector),
  connectorVersion: intern(read.connectorVersion),
  customerId: read.customerId,
  userId: read.userId,
  label: intern(read.label),
  accountLabel: read.accountLabel,
  authMethod: intern(read.authMethod),
  authProvider: intern(read.authProvider),
  status: read.status,
  health: read.health,
  config: internEmpty(read.config),
  scopes: read.scopes.length === 0 ? emptyList : read.scopes,
  isDefault: read.isDefault,
  expiresAt: read.expiresAt,
  lastRefreshAt: read.lastRefreshAt,
  refreshFailedAt: read.refreshFailedAt,
  lastUsedAt: read.lastUsedAt,
  metadata: internEmpty(read.metadata),
  tags: internEmpty(read.tags),
  credentialFingerprint: read.credentialFingerprint,
  createdBy: intern(read.createdBy),
  createdAt: read.createdAt,
  updatedAt: read.updatedAt,
  version: read.version
})

/** What the owner of a connection holds, from a row of `loadSql`. */
export const ownedConnection = (row: object): OwnedConnection => {
  const {
    attempt,
    credential_id,
    credential_number,
    credential_sealed,
    held_revision,
    intent_at,
    intent_process,
    refresh_seq,
    token_hash
  } = decodeLoad(row)
  return {
    connection: compactConnection(connections.decode(row)),
    revision: held_revision,
    credential:
      credential_id === null || credential_number === null || credential_sealed === null
        ? null
        : { id: credential_id, number: credential_number, sealed: credential_sealed },
    intent:
      refresh_seq === null || token_hash === null || attempt === null || intent_at === null
        ? null
        : {
            refreshSeq: refresh_seq,
            tokenHash: token_hash,
            attempt,
            process: intent_process,
            at: Date.parse(intent_at)
          }
  }
}
