/** The port `CustomerReads`, cached for less than a second and never beyond a change that this node commits. */
import { Effect, Layer, Option } from "effect"
import { CustomerReads, type KnownCustomer } from "../../actors/ports/CustomerReads.js"
import type { Unavailable } from "../../domain/Failure.js"
import { makeReadCache, organisationOfKey } from "./ReadCache.js"
import { WriterSql } from "./Pools.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"

const maxAgeMillis = 800
const maxCachedCustomers = 10_000

export const layer = Layer.effect(
  CustomerReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const customers = yield* makeReadCache<KnownCustomer, Unavailable>({
      maxAgeMillis,
      maxEntries: maxCachedCustomers,
      organisationOf: organisationOfKey
    })

    return CustomerReads.of({
      find: (organisation, reference) => {
        const [column, value] = "id" in reference ? ["id", reference.id] : ["external_ref", reference.ref]
        const load = sql<KnownCustomer>`
          SELECT id, external_ref AS "externalRef", status, plan, limits FROM customers
          WHERE org = ${organisation} AND deleted_at IS NULL AND ${sql(column)} = ${value}`.pipe(
          Effect.map(([customer]) => customer),
          Effect.mapError(databaseUnavailable)
        )
        return Effect.map(customers.get(`${organisation}|${column}|${value}`, load), Option.fromNullable)
      }
    })
  })
)
