/** Use cases of customers: list, create, change, and delete, which leaves a tombstone. Contract: customer record. */
import { Effect, Option, Schema } from "effect"
import { liveStatuses } from "../../../domain/connection/Connection.js"
import {
  type CreateCustomer,
  Customer,
  customerTombstone,
  newCustomer,
  type UpdateCustomer,
  CustomerStatus
} from "../../../domain/organisation/Customer.js"
import { suffixedSlug } from "../../../domain/Slug.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { checkVersion, type CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { findCustomer } from "./CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"

export const CustomerList = listQuery({ status: Schema.optional(CustomerStatus), tag: optionalText })
type CustomerList = typeof CustomerList.Type

/** Counts each customer's connections that are not disconnected. */
const countConnections = (tx: Tx, customers: ReadonlyArray<Customer>) =>
  tx.connections.countBy("customerId", { customerId: customers.map(({ id }) => id), status: liveStatuses })

const viewOf = (tx: Tx, customer: Customer) =>
  Effect.map(countConnections(tx, [customer]), (counts) =>
    Customer.show(customer, { connectionCount: counts.get(customer.id) ?? 0 })
  )

/** Adds a suffix to a slug that was derived from the name if another customer has it. */
const withFreeSlug = Effect.fnUntraced(function* (tx: Tx, customer: Customer) {
  // Serialises creations under the same slug.
  yield* tx.lockKey(`customer_slug|${customer.slug}`)
  const holder = yield* tx.customers.find({ slug: customer.slug, deletedAt: null })
  return Option.isNone(holder) ? customer : { ...customer, slug: suffixedSlug(customer.slug, customer.id) }
})

const resourceOf = ({ id, name }: Customer) => ({ id, name, customerId: id })

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  /** The customers that the caller reaches, newest first. */
  const list = (context: CallContext, params: CustomerList) =>
    read(context, function* (tx) {
      const { customers } = context.caller
      const { status, tag } = params
      const page = yield* pages.list(tx.customers, params, {
        where: { deletedAt: null, ...(customers === "all" ? {} : { id: [...customers] }) },
        filters: { status },
        ...(tag === undefined ? {} : { some: [{ member: "tags", part: "items", among: [tag] }] }),
        searchIn: ["name", "slug", "externalRef"]
      })
      const counts = yield* countConnections(tx, page.data)
      return {
        ...page,
        data: page.data.map((one) => Customer.show(one, { connectionCount: counts.get(one.id) ?? 0 }))
      }
    })

  const create = (context: CallContext, input: CreateCustomer) =>
    change(context, function* (tx) {
      const now = yield* currentTimestamp
      const draft = newCustomer(context.caller.organisationId, identifiers.next("cus"), input, now)
      const customer = input.slug === undefined ? yield* withFreeSlug(tx, draft) : draft
      yield* tx.customers.insert(customer)
      const value = Customer.show(customer, { connectionCount: 0 })
      return { value, resource: resourceOf(customer), after: value }
    })

  /** `idOrReference`: an id, or `ref:<externalRef>`. */
  const get = (context: CallContext, idOrReference: string) =>
    read(context, (tx) =>
      Effect.flatMap(findCustomer(tx, context.caller, idOrReference), (customer) => viewOf(tx, customer))
    )

  const update = (context: CallContext, idOrReference: string, input: UpdateCustomer) =>
    change(context, function* (tx) {
      const now = yield* currentTimestamp
      const before = yield* findCustomer(tx, context.caller, idOrReference, true)
      yield* checkVersion(context, input.version, before.version)
      const view = yield* viewOf(tx, before)
      const changes = yield* pickChanges(Customer.Update, input, view, ["connectionCount"])
      const after = Customer.change(before, changes, now)
      yield* tx.customers.update(after)
      const value = Customer.show(after, { connectionCount: view.connectionCount })
      return { value, resource: resourceOf(after), before: view, after: value }
    })

  /** Leaves a tombstone with the id only; maintenance erases the customer's data within 24 hours. */
  const remove = (context: CallContext, idOrReference: string) =>
    change(context, function* (tx) {
      const now = yield* currentTimestamp
      const before = yield* findCustomer(tx, context.caller, idOrReference, true)
      yield* checkVersion(context, undefined, before.version)
      const after = customerTombstone(before, now)
      yield* tx.customers.update(after)
      const value = yield* viewOf(tx, after)
      return {
        value,
        resource: resourceOf(before),
        before: Customer.show(before, { connectionCount: value.connectionCount }),
        after: null
      }
    })

  return { list, create, get, update, remove }
})

export class Customers extends Effect.Service<Customers>()("svc/Customers", { effect: make }) {}
