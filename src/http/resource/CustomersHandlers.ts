/** Customers: created, changed, and deleted down to an id-only tombstone. */
import { DateTime, Effect, Option } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Tx } from "../../actors/ports/Records.js"
import { livingStatuses } from "../../domain/connection/Connection.js"
import {
  type CreateCustomer,
  type Customer,
  customerSlug,
  customerView,
  suffixedSlug,
  type UpdateCustomer
} from "../../domain/Customer.js"
import { NotFound } from "../../domain/Failure.js"
import { Current } from "../auth/Authenticated.js"
import { type Principal, reaches } from "../../actors/management/Caller.js"
import { customerReference } from "../../domain/Tenancy.js"
import { Changes } from "../../actors/management/Changes.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"

const gone = () => new NotFound({ what: "customer" })

/** The customer that a path names, if the caller reaches it: one that it does not reach is one that is not there. */
export const findCustomer = (
  tx: Tx,
  caller: Principal,
  named: string,
  lock = false
): Effect.Effect<Customer, NotFound | Effect.Effect.Error<ReturnType<Tx["customers"]["find"]>>> => {
  const reference = customerReference(named)
  const where = "ref" in reference ? { externalRef: reference.ref } : { id: reference.id as Customer["id"] }
  const found = lock
    ? tx.customers.lock({ ...where, deletedAt: null })
    : tx.customers.find({ ...where, deletedAt: null })
  return Effect.flatMap(
    found,
    Option.match({
      onNone: gone,
      onSome: (customer) => (reaches(caller, customer.id) ? Effect.succeed(customer) : gone())
    })
  )
}

const newCustomer = (caller: Principal, id: Customer["id"], input: CreateCustomer, now: string): Customer => ({
  id,
  organisationId: caller.organisationId,
  name: input.name,
  slug: input.slug ?? customerSlug(input.name, id),
  externalRef: input.externalRef ?? null,
  status: input.status ?? "active",
  plan: input.plan ?? null,
  adminEmail: input.adminEmail ?? null,
  metadata: input.metadata ?? {},
  limits: input.limits ?? {},
  createdAt: now,
  updatedAt: now,
  deletedAt: null,
  version: 1
})

/** A slug that was made of the name gives way to one that is there. */
const withFreeSlug = Effect.fnUntraced(function* (tx: Tx, customer: Customer) {
  // Whoever makes another of this name waits.
  yield* tx.hold(`customer_slug|${customer.slug}`)
  const taken = yield* tx.customers.find({ slug: customer.slug, deletedAt: null })
  return Option.isNone(taken) ? customer : { ...customer, slug: suffixedSlug(customer.slug, customer.id) }
})

const changed = (customer: Customer, input: UpdateCustomer, now: string): Customer => ({
  ...customer,
  name: input.name ?? customer.name,
  slug: input.slug ?? customer.slug,
  externalRef: input.externalRef === undefined ? customer.externalRef : input.externalRef,
  status: input.status ?? customer.status,
  plan: input.plan === undefined ? customer.plan : input.plan,
  adminEmail: input.adminEmail === undefined ? customer.adminEmail : input.adminEmail,
  metadata: input.metadata ?? customer.metadata,
  limits: input.limits ?? customer.limits,
  updatedAt: now,
  version: customer.version + 1
})

/** What remains of a deleted customer for thirty days: nothing but that it was there. */
const tombstone = (customer: Customer, now: string): Customer => ({
  ...customer,
  name: "",
  slug: customer.id.slice(4),
  externalRef: null,
  status: "deleted",
  adminEmail: null,
  metadata: {},
  limits: {},
  updatedAt: now,
  deletedAt: now,
  version: customer.version + 1
})

/** How many connections each of them has that are not disconnected. */
const connectionsOf = (tx: Tx, found: ReadonlyArray<Customer>) =>
  tx.connections.countBy("customerId", { customerId: found.map(({ id }) => id), status: livingStatuses })

const shown = (tx: Tx, customer: Customer) =>
  Effect.map(connectionsOf(tx, [customer]), (counts) => customerView(customer, counts.get(customer.id) ?? 0))

const nowText = Effect.map(DateTime.now, DateTime.formatIso)

export const CustomersLive = group(ResourceApi, "customers", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { customers } = exchange.caller
          const { q, status } = urlParams
          return yield* view(exchange, (tx) =>
            Effect.gen(function* () {
              const page = yield* listing.list(tx.customers, urlParams, {
                where: {
                  deletedAt: null,
                  ...(status === undefined ? {} : { status }),
                  ...(customers === "all" ? {} : { id: [...customers] })
                },
                ...(q === undefined ? {} : { search: { text: q, in: ["name", "slug", "externalRef"] } })
              })
              const counts = yield* connectionsOf(tx, page.data)
              return { ...page, data: page.data.map((one) => customerView(one, counts.get(one.id) ?? 0)) }
            })
          )
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          const asked = newCustomer(exchange.caller, identifiers.next("cus"), payload, now)
          const made = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const customer = payload.slug === undefined ? yield* withFreeSlug(tx, asked) : asked
              yield* tx.customers.insert(customer)
              return {
                value: customerView(customer, 0),
                resource: { id: customer.id, name: customer.name, customerId: customer.id },
                after: customerView(customer, 0)
              }
            })
          )
          return { data: made }
        })
      )
      .handle("get", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          return {
            data: yield* view(exchange, (tx) =>
              Effect.flatMap(findCustomer(tx, exchange.caller, path.cid), (found) => shown(tx, found))
            )
          }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findCustomer(tx, exchange.caller, path.cid, true)
                yield* checkVersion(exchange, payload.version, before.version)
                const after = changed(before, payload, now)
                yield* tx.customers.update(after)
                const value = yield* shown(tx, after)
                return {
                  value,
                  resource: { id: after.id, name: after.name, customerId: after.id },
                  before: customerView(before, value.connectionCount),
                  after: value
                }
              })
            )
          }
        })
      )
      .handle("delete", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findCustomer(tx, exchange.caller, path.cid, true)
                const after = tombstone(before, now)
                yield* tx.customers.update(after)
                const value = yield* shown(tx, after)
                return {
                  value,
                  resource: { id: after.id, name: before.name, customerId: after.id },
                  before: customerView(before, value.connectionCount),
                  after: null
                }
              })
            )
          }
        })
      )
  })
)
