/** The port `CustomerReads`, cached for less than a second and never beyond a change that this node commits. */
import { Effect, Layer } from "effect"
import { CustomerReads, type KnownCustomer } from "../../../actors/ports/organisation/CustomerReads.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow } from "../database/DatabaseUnavailable.js"

const decode = rowDecoder("customers", Customer.stored.pick("id", "externalRef", "status", "plan", "limits"))

export const layer = Layer.effect(
  CustomerReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const customers = yield* makeReadCache<KnownCustomer>()

    return CustomerReads.of({
      find: (organisation, reference) => {
        const [column, value] = "id" in reference ? ["id", reference.id] : ["external_ref", reference.ref]
        return customers.find(`${organisation}|${column}|${value}`, () =>
          firstRow(
            sql`SELECT id, external_ref AS "externalRef", status, plan, limits FROM customers
              WHERE org = ${organisation} AND deleted_at IS NULL AND ${sql.literal(column)} = ${value}`,
            decode
          )
        )
      }
    })
  })
)
