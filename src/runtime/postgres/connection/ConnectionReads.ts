/** The port `ConnectionReads`: finds the connection of a call, cached for less than a second. */
import { Effect, Layer } from "effect"
import {
  ConnectionReads,
  type ConnectionQuery,
  type CallableConnection
} from "../../../actors/ports/connection/ConnectionReads.js"
import { Connection } from "../../../domain/connection/Connection.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow, recordsOf } from "../database/DatabaseUnavailable.js"

const columns = `id, customer_id AS "customerId", user_id AS "userId", label, status, connector,
  connector_version AS "connectorVersion", config, is_default AS "isDefault"`

/**
 * Looks up the index of accounts alone, so that the planner does not read all connections of an organisation instead. Its
 * keys contain the organisation: accounts that others have, too, cost nothing.
 */
const accountSql = `WITH found AS MATERIALIZED (SELECT id, org, connector, customer_id, config, account_label, status,
    credential_fingerprint FROM connections WHERE disconnected_at IS NULL
      AND svc_account_keys(org, connector, config, account_label) @> ARRAY[md5($1 || '|' || $2 || '|' || $3)])
  SELECT id, customer_id AS "customerId", config, account_label AS "accountLabel" FROM found
  WHERE org = $1 AND connector = $2 AND status <> 'pending' AND credential_fingerprint IS NOT NULL ORDER BY id`

const { stored } = Connection
const decode = rowDecoder(
  "connections",
  stored.pick("id", "customerId", "userId", "label", "status", "connector", "connectorVersion", "config", "isDefault")
)
const decodeAccount = rowDecoder("connections", stored.pick("id", "customerId", "config", "accountLabel"))

export const layer = Layer.effect(
  ConnectionReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<CallableConnection>({
      // Connection actors write connections, and their commits are not in the commit log.
      organisationOf: noOrganisation
    })

    const lists = yield* makeReadCache<ReadonlyArray<CallableConnection>>({ organisationOf: noOrganisation })

    const load = ({ customerId, named, organisationId, slug, userId }: ConnectionQuery) =>
      firstRow(
        sql.unsafe(
          `SELECT ${columns} FROM connections
           WHERE org = $1 AND customer_id = $2 AND connector = $3 AND disconnected_at IS NULL
             AND (user_id IS NULL OR user_id = $4) AND ($5::text IS NULL OR id = $5 OR label = $5)
           ORDER BY id = $5 DESC NULLS LAST, status = 'active' DESC, user_id IS NULL, is_default DESC, id LIMIT 1`,
          [organisationId, customerId, slug, userId, named]
        ),
        decode
      )

    const active = (organisation: string, customer: string, userId: string | null) =>
      recordsOf(
        sql.unsafe(
          `SELECT ${columns} FROM connections
           WHERE org = $1 AND customer_id = $2 AND disconnected_at IS NULL AND status = 'active'
             AND (user_id IS NULL OR user_id = $3)
           ORDER BY user_id IS NULL, is_default DESC, id LIMIT 200`,
          [organisation, customer, userId]
        ),
        decode
      )

    return ConnectionReads.of({
      find: (wanted) =>
        wanted.customerId === null
          ? Effect.succeedNone
          : cache.find(
              JSON.stringify([wanted.organisationId, wanted.customerId, wanted.userId, wanted.slug, wanted.named]),
              () => load(wanted)
            ),
      activeOf: (organisation, customer, userId, isFresh) =>
        isFresh
          ? active(organisation, customer, userId)
          : Effect.map(
              lists.get(JSON.stringify([organisation, customer, userId]), () => active(organisation, customer, userId)),
              (found = []) => found
            ),
      byId: (organisation, id) =>
        cache.find(`${organisation}|${id}`, () =>
          firstRow(
            sql.unsafe(`SELECT ${columns} FROM connections WHERE org = $1 AND id = $2 AND disconnected_at IS NULL`, [
              organisation,
              id
            ]),
            decode
          )
        ),
      withAccount: (organisation, slug, account) =>
        recordsOf(sql.unsafe(accountSql, [organisation, slug, account]), decodeAccount)
    })
  })
)
