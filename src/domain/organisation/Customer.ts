/** Customers of an organisation, on whose behalf runs act. Contract: customer record. */
import { Schema } from "effect"
import { InvalidState } from "../Failure.js"
import type { CustomerId, OrganisationId } from "../Ids.js"
import { JsonObject } from "../Json.js"
import { PlanName } from "./Plan.js"
import { slugOf, Slug } from "../workflow/Workflow.js"
import { Counter } from "../Scalars.js"

export const CustomerStatus = Schema.Literal("active", "pending_admin_activation", "suspended", "deleted")
export type CustomerStatus = typeof CustomerStatus.Type

/** The refusal to run for a customer that is not active. */
export const customerRefusal = ({ status }: { readonly status: CustomerStatus }): InvalidState | undefined =>
  status === "active"
    ? undefined
    : new InvalidState({ state: status, message: `the customer is ${status}: runs need an active customer` })

/** The stored customer. Times are RFC 3339. */
export interface Customer {
  readonly id: CustomerId
  readonly organisationId: OrganisationId
  readonly name: string
  readonly slug: string
  readonly externalRef: string | null
  readonly status: CustomerStatus
  readonly plan: PlanName | null
  readonly adminEmail: string | null
  readonly metadata: JsonObject
  readonly limits: { readonly [dimension: string]: number | null }
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
  readonly version: number
}

const Limit = Schema.optionalWith(Schema.NullOr(Counter), { exact: true })

/** The customer's own limits, which replace those of its plan; `null`: no limit. */
const CustomerLimits = Schema.Struct({
  events_per_day: Limit,
  active_integrations: Limit,
  flows_per_tenant: Limit,
  api_calls_per_minute: Limit,
  agent_sessions_per_day: Limit,
  llm_tokens_per_day: Limit,
  connectors_per_tenant: Limit,
  storage_mb: Limit,
  api_keys_per_customer: Limit,
  triggers: Limit
} satisfies { readonly [dimension: string]: typeof Limit })

const fields = {
  externalRef: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128)))),
  adminEmail: Schema.optional(
    Schema.NullOr(
      Schema.String.pipe(
        Schema.pattern(/^[^\s@]+@[^\s@]+$/, { message: () => "must be an e-mail address" }),
        Schema.maxLength(254)
      )
    )
  ),
  metadata: Schema.optional(JsonObject),
  limits: Schema.optional(CustomerLimits),
  plan: Schema.optional(Schema.NullOr(PlanName)),
  status: Schema.optional(Schema.Literal("active", "pending_admin_activation", "suspended"))
}

/** The body that creates a customer. */
export const CreateCustomer = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)),
  slug: Schema.optional(Slug),
  ...fields
}).annotations({ identifier: "CreateCustomer" })
export type CreateCustomer = typeof CreateCustomer.Type

/** The body that changes a customer. */
export const UpdateCustomer = Schema.Struct({
  name: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
  slug: Schema.optional(Slug),
  ...fields,
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateCustomer" })
export type UpdateCustomer = typeof UpdateCustomer.Type

const longestSlug = 63
const suffixLength = 8

/** The slug with the end of the customer's id, which makes it unique. */
export const suffixedSlug = (slug: string, id: CustomerId): string =>
  `${slug.slice(0, longestSlug - suffixLength - 1).replace(/-+$/, "")}-${id.slice(-suffixLength)}`

/** The slug of a name, without accents; `customer` with a suffix for a name without Latin letters or digits. */
export const customerSlug = (name: string, id: CustomerId): string => {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "")
  return /[a-z0-9]/i.test(plain) ? slugOf(plain) : suffixedSlug("customer", id)
}

/** A customer as the API shows it. */
export const customerView = (
  { deletedAt: _deleted, organisationId: _organisation, ...customer }: Customer,
  connectionCount: number
) => ({ ...customer, connectionCount })

/** The record of a new customer. `now`: RFC 3339. */
export const newCustomer = (
  organisationId: OrganisationId,
  id: CustomerId,
  input: CreateCustomer,
  now: string
): Customer => ({
  id,
  organisationId,
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

/** The record after a change. `now`: RFC 3339. */
export const changedCustomer = (customer: Customer, input: UpdateCustomer, now: string): Customer => ({
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

/** The record of a deleted customer, kept for thirty days: its id and the time of deletion. */
export const customerTombstone = (customer: Customer, now: string): Customer => ({
  ...customer,
  name: "",
  slug: customer.id.slice(4),
  externalRef: null,
  status: "deleted",
  plan: null,
  adminEmail: null,
  metadata: {},
  limits: {},
  updatedAt: now,
  deletedAt: now,
  version: customer.version + 1
})
