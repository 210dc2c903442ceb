/** Customers as requests name them, remembered for less than a second. */
import { Clock, Effect, Layer, Option } from "effect"
import { CustomerReads, type KnownCustomer } from "../../actors/ports/CustomerReads.js"
import { Unavailable } from "../../domain/Failure.js"
import { WriterSql } from "./Pools.js"

const freshMillis = 800
const heldCustomers = 10_000

export const layer = Layer.effect(
  CustomerReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = new Map<string, { readonly at: number; readonly customer: KnownCustomer }>()

    const find: CustomerReads["Type"]["find"] = Effect.fnUntraced(function* (organisation, reference) {
      const [column, value] = "id" in reference ? ["id", reference.id] : ["external_ref", reference.ref]
      const key = `${organisation}|${column}|${value}`
      const now = yield* Clock.currentTimeMillis
      const held = cache.get(key)
      if (held !== undefined && now - held.at < freshMillis) return Option.some(held.customer)
      const [customer] = yield* sql<KnownCustomer>`
      SELECT id, external_ref AS "externalRef", status, plan, limits FROM customers
      WHERE org = ${organisation} AND deleted_at IS NULL AND ${sql(column)} = ${value}`.pipe(
        Effect.mapError(() => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 }))
      )
      if (customer === undefined) return Option.none()
      if (cache.size >= heldCustomers) cache.clear()
      cache.set(key, { at: now, customer })
      return Option.some(customer)
    })

    return CustomerReads.of({ find })
  })
)
