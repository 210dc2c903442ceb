/** The common entities: their members, and which of them every record must have. Specification: Common data model; contract: CDM types. */

export type CdmEntity = "CDMContact" | "CDMProduct" | "CDMOrder" | "CDMInvoice" | "CDMInventoryLevel" | "CDMFulfillment"

export interface CdmFields {
  readonly required: ReadonlyArray<string>
  /** In the order of the contract. */
  readonly optional: ReadonlyArray<string>
}

/** What every record has beside its own: set by the service and the provider, and so in no coverage. */
export const commonFields = ["remote", "createdAt", "updatedAt"] as const

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

export const isCdmEntity = (name: string): name is CdmEntity => Object.hasOwn(cdmEntities, name)

/** Every member that a field map of the entity may fill. */
export const cdmFields = (entity: CdmEntity): ReadonlyArray<string> => [
  ...cdmEntities[entity].required,
  ...cdmEntities[entity].optional
]
