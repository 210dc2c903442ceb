/** Enforces a customer's own ceilings on stored records. The organisation's plan limits all customers together. */
import { Effect, Option } from "effect"
import { liveStatuses } from "../../../domain/connection/Connection.js"
import { type Failure, PlanLimitReached } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { customerCeiling } from "../../../domain/organisation/Customer.js"
import type { Tx } from "../../ports/Records.js"

/** Counts the customer's records, by dimension. */
const counts = {
  flows_per_tenant: (tx: Tx, customerId: CustomerId) =>
    tx.workflows.count({ customerId, deletedAt: null, status: ["draft", "published"] }),
  active_integrations: (tx: Tx, customerId: CustomerId) => tx.installations.count({ customerId, status: "active" }),
  triggers: (tx: Tx, customerId: CustomerId) => tx.triggers.count({ customerId, deletedAt: null }),
  api_keys_per_customer: (tx: Tx, customerId: CustomerId) =>
    Effect.map(
      tx.apiKeys.list({ where: { revokedAt: null, customersMode: "subset" }, limit: 10_000 }),
      (keys) => keys.filter(({ customerIds }) => customerIds.includes(customerId)).length
    )
} as const

const ceilingOf = (tx: Tx, customerId: CustomerId, dimension: Parameters<typeof customerCeiling>[1]) =>
  Effect.map(
    tx.customers.find({ id: customerId }),
    Option.match({ onNone: () => null, onSome: (customer) => customerCeiling(customer, dimension) })
  )

/** Serialises creations that count towards a customer's ceiling, so that the count is exact. */
const lock = (tx: Tx, customerId: CustomerId, dimension: string) => tx.lockKey(`${dimension}|${customerId}`)

/** Fails with `PlanLimitReached` if the customer may not have one more. Exact. */
export const checkCustomerLimit = Effect.fnUntraced(function* (
  tx: Tx,
  customerId: CustomerId,
  dimension: keyof typeof counts
): Effect.fn.Return<void, Failure> {
  const limit = yield* ceilingOf(tx, customerId, dimension)
  if (limit === null) return
  yield* lock(tx, customerId, dimension)
  const used = yield* counts[dimension](tx, customerId)
  if (used >= limit) return yield* new PlanLimitReached({ dimension, limit, used })
})

/** The same for connectors: those with a connection of the customer that is not disconnected count. */
export const checkCustomerConnector = Effect.fnUntraced(function* (tx: Tx, customerId: CustomerId, connector: string) {
  const limit = yield* ceilingOf(tx, customerId, "connectors_per_tenant")
  if (limit === null) return
  const used = yield* tx.connections.countBy("connector", { customerId, status: liveStatuses })
  if (!used.has(connector) && used.size >= limit)
    return yield* new PlanLimitReached({ dimension: "connectors_per_tenant", limit, used: used.size })
})
