/** The people of teams: those whose `teams` name one. Bounded in Postgres, however many people there are. */
import { Effect, Schema } from "effect"
import type { Tx } from "../../../actors/ports/Records.js"
import { UserId } from "../../../domain/Ids.js"
import type { Sql } from "../database/Sql.js"
import { readError } from "./RecordErrors.js"
import { rowDecoder } from "./Table.js"

const decode = rowDecoder("users", { team: Schema.String, ids: Schema.Array(UserId) })

export const makeTeams = (sql: Sql): Pick<Tx, "teamMembers" | "setTeamMembers"> => ({
  teamMembers: (names, most) =>
    sql`SELECT m.team, array_agg(m.id ORDER BY m.id) AS ids FROM (
        SELECT u.id, t.team, row_number() OVER (PARTITION BY t.team ORDER BY u.id) AS nth
        FROM users u CROSS JOIN LATERAL unnest(u.teams) AS t (team)
        WHERE u.teams && ${names}::text[] AND t.team = ANY(${names}::text[])) m
      WHERE m.nth <= ${most} GROUP BY m.team`.pipe(
      Effect.map((rows) => new Map(rows.map(decode).map(({ ids, team }) => [team, ids]))),
      Effect.catchAll(readError)
    ),
  setTeamMembers: (name, ids, now) =>
    sql`UPDATE users SET teams = array_remove(teams, ${name}), version = version + 1, updated_at = ${now}
      WHERE teams @> ARRAY[${name}]::text[] AND id <> ALL(${ids})`.pipe(
      Effect.zipRight(
        sql`UPDATE users SET teams = teams || ${name}::text, version = version + 1, updated_at = ${now}
          WHERE id = ANY(${ids}) AND NOT teams @> ARRAY[${name}]::text[]`
      ),
      Effect.asVoid,
      Effect.catchAll(readError)
    )
})
