/** Customers of an organisation, on whose behalf runs act. Contract: customer record. */
import { Record as Records, Schema } from "effect"
import { InvalidState } from "../Failure.js"
import { CustomerId, OrganisationId } from "../Ids.js"
import { derivedValue, generatedValue, hidden, nextVersion, optional, owner, recordOf, required } from "../Record.js"
import { AnsweredTime } from "../Time.js"
import { JsonObject } from "../Json.js"
import { type Dimension, dimensions, planCeiling, PlanName, plans } from "./Plan.js"
import { Slug, slugOfRecord } from "../Slug.js"
import { Counter } from "../Scalars.js"

/** Only an `active` customer has runs; the events of a suspended one are held. */
export const CustomerStatus = Schema.Literal("active", "pending_admin_activation", "suspended", "deleted")
export type CustomerStatus = typeof CustomerStatus.Type

/** The refusal to run for a customer that is not active. */
export const customerRefusal = ({ status }: { readonly status: CustomerStatus }): InvalidState | undefined =>
  status === "active"
    ? undefined
    : new InvalidState({ state: status, message: `the customer is ${status}: runs need an active customer` })

const Limit = Schema.optionalWith(Schema.NullOr(Counter), { exact: true })

/** The customer's own limits, which replace those of its plan; `null`: no limit. */
const CustomerLimits = Schema.Struct(Records.map(dimensions, () => Limit))

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
const Reference = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128))
const Tags = Schema.Array(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64))).pipe(
  Schema.maxItems(20),
  Schema.filter((tags) => new Set(tags).size === tags.length || "must name each tag once")
)
const Email = Schema.String.pipe(
  Schema.pattern(/^[^\s@]+@[^\s@]+$/, { message: () => "must be an e-mail address" }),
  Schema.maxLength(254)
)

/** A customer: its record, bodies and view. Times are RFC 3339. */
export const Customer = recordOf(
  "Customer",
  {
    id: generatedValue(CustomerId),
    organisationId: owner(OrganisationId),
    name: required(Schema.String, Name),
    slug: optional(Schema.String, undefined, Slug),
    externalRef: optional(Schema.NullOr(Schema.String), null, Schema.NullOr(Reference)),
    status: optional(CustomerStatus, "active", Schema.Literal("active", "pending_admin_activation", "suspended")),
    plan: optional(Schema.NullOr(PlanName), null),
    adminEmail: optional(Schema.NullOr(Schema.String), null, Schema.NullOr(Email)),
    metadata: optional(JsonObject, {}),
    tags: optional(Schema.Array(Schema.String), [], Tags),
    limits: optional(Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.Number) }), {}, CustomerLimits),
    connectionCount: derivedValue(Schema.Number),
    createdAt: generatedValue(AnsweredTime),
    updatedAt: generatedValue(AnsweredTime),
    deletedAt: hidden(Schema.NullOr(AnsweredTime)),
    version: generatedValue(Schema.Number)
  },
  ["name", "slug", "externalRef", "adminEmail", "metadata", "tags", "limits", "plan", "status"]
)
/** The stored customer. */
export type Customer = typeof Customer.stored.Type
export type CreateCustomer = typeof Customer.Create.Type
export type UpdateCustomer = typeof Customer.Update.Type

/**
 * The customer's ceiling: its own limit, or else that of its plan; `null`: none. The organisation's plan limits all
 * customers together and applies in addition.
 */
export const customerCeiling = (
  { limits, plan }: Pick<Customer, "limits" | "plan">,
  dimension: Dimension
): number | null => {
  const own = limits[dimension]
  if (own !== undefined) return own
  return plan === null ? null : planCeiling(plans[plan], dimension)
}

/** The record of a new customer. `now`: RFC 3339. */
export const newCustomer = (
  organisationId: OrganisationId,
  id: CustomerId,
  input: CreateCustomer,
  now: string
): Customer => Customer.create(input, { id, organisationId, slug: slugOfRecord(input.name, "customer", id) }, now)

/** What a deleted customer has instead of its data. */
export const erasedMembers = {
  name: "",
  externalRef: null,
  plan: null,
  adminEmail: null,
  metadata: {},
  tags: [],
  limits: {}
} satisfies Partial<Customer>

/** The record of a deleted customer, kept for thirty days: its id and the time of deletion. */
export const customerTombstone = (customer: Customer, now: string): Customer => ({
  ...customer,
  ...erasedMembers,
  slug: customer.id.slice(4),
  status: "deleted",
  deletedAt: now,
  ...nextVersion(customer, now)
})
