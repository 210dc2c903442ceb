/** The room of places as a condition of SQL, so that no statement finds work that would get no place. See `Places`. */
import type { PlaceBounds, Room } from "../../actors/Places.js"

/** Due rows that one statement considers. */
const mostConsidered = 1_000

/** Columns of due work: its organisation, its partner, and the time since which it is due. */
interface DueColumns {
  readonly org: string
  readonly partner: string
  readonly at: string
}

/** The parameters of the condition, from `$1`. */
export const roomValues = (room: Room): ReadonlyArray<unknown> => [
  room.fullOrganisations,
  room.closedPartners,
  room.isReserved,
  room.reservedFor,
  room.answering
]

const hasRoom = ({ org, partner }: DueColumns): string =>
  `NOT ${org} = ANY($1::text[]) AND NOT ${partner} = ANY($2::text[])
    AND (${partner} = ANY($5::text[]) OR NOT ($3::boolean OR ${org} = ANY($4::text[])))`

/**
 * The common table expressions `due` and `placed`: the rows of `from` (a FROM with its conditions) that may get a place, at
 * most those of one node, organisations in turn, the longest due first. `columns`: further ones to select.
 */
export const placedCtes = (columns: string, from: string, due: DueColumns, limits: PlaceBounds): string => `
  due AS MATERIALIZED (
    SELECT ${columns}, ${due.org} AS org, ${due.partner} AS partner, ${due.at} AS due_at
    FROM ${from} AND ${hasRoom(due)} ORDER BY ${due.at} LIMIT ${mostConsidered}
  ), placed AS (
    SELECT r.* FROM (
      SELECT n.*, row_number() OVER (PARTITION BY n.org ORDER BY n.due_at, n.partner) AS place FROM (
        SELECT due.*, row_number() OVER (PARTITION BY due.partner ORDER BY due.due_at) AS nth FROM due
      ) n WHERE n.nth <= ${limits.perPartner}
    ) r WHERE r.place <= ${limits.perOrganisation}
    ORDER BY r.place, r.due_at LIMIT ${limits.perNode}
  )`
