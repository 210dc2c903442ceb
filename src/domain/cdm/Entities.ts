/** The entities of the common data model with their required and optional members. Specification: Common data model; contract: CDM types. */

/** The name of an entity. */
export type CdmEntity = "CDMContact" | "CDMProduct" | "CDMOrder" | "CDMInvoice" | "CDMInventoryLevel" | "CDMFulfillment"

/** The members of an entity. */
export interface CdmFields {
  readonly required: ReadonlyArray<string>
  /** In the order of the contract. */
  readonly optional: ReadonlyArray<string>
}

/** Members of every record, set by the service and the provider, and therefore not counted in coverage. */
export const commonFields = ["remote", "createdAt", "updatedAt"] as const

/** By the name of the entity. */
export const cdmEntities: { readonly [entity in CdmEntity]: CdmFields } = {
  CDMContact: {
    required: ["id"],
    optional: ["email", "firstName", "lastName", "company", "phone", "addresses", "tags", "customFields"]
  },
  CDMProduct: {
    required: ["id", "name"],
    optional: ["sku", "description", "variants", "pricingTiers", "category", "status", "inventory"]
  },
  CDMOrder: {
    required: ["id", "lineItems", "totals", "status"],
    optional: ["contact", "payments", "shippingAddress", "billingAddress", "currency"]
  },
  CDMInvoice: {
    required: ["id", "lineItems", "totals", "status", "currency"],
    optional: ["contact", "dueDate", "payments", "invoiceNumber"]
  },
  CDMInventoryLevel: {
    required: ["productId", "available"],
    optional: ["variantId", "locationId", "onHand", "committed", "reserved"]
  },
  CDMFulfillment: {
    required: ["id", "orderId", "status"],
    optional: ["trackingNumber", "carrier", "lineItems", "shippedAt", "deliveredAt"]
  }
}

/** Whether the name is that of an entity. */
export const isCdmEntity = (name: string): name is CdmEntity => Object.hasOwn(cdmEntities, name)

/** The members that a field map of the entity can fill. */
export const cdmFields = (entity: CdmEntity): ReadonlyArray<string> => [
  ...cdmEntities[entity].required,
  ...cdmEntities[entity].optional
]
