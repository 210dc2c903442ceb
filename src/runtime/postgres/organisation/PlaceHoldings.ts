/** The port `PlaceHoldings`: `svc_hold_places` of the migrations decides, under a lock. */
import { Effect, Layer, Schema } from "effect"
import { PlaceHoldings } from "../../../actors/ports/organisation/PlaceHoldings.js"
import { firstRow } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

const decode = rowDecoder("place_leases", { held: Schema.NullOr(Schema.Number) })

export const layer = Layer.effect(
  PlaceHoldings,
  Effect.map(WriterSql, (sql) => ({
    hold: ({ kind, most, organisation, seat, turn, used, wanted }) =>
      Effect.map(
        firstRow(
          sql`SELECT svc_hold_places(${kind}, ${organisation}, ${seat}, ${turn}, ${used}, ${wanted}, ${most}) AS held`,
          decode
        ),
        (row) => row?.held ?? null
      )
  }))
)
