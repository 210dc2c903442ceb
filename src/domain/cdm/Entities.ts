/** The six entities of the common data model. Specification: Common data model; contract: CDM types. */
import {
  allVerbs,
  country,
  currency,
  dateTime,
  email,
  type ModelFields,
  identifiers,
  json,
  listOf,
  type Model,
  money,
  number,
  objectOf,
  oneOf,
  optional,
  phone,
  readOnly,
  required,
  text
} from "../model/FieldType.js"

/** The name of an entity. */
export type CdmEntity = "CDMContact" | "CDMProduct" | "CDMOrder" | "CDMInvoice" | "CDMInventoryLevel" | "CDMFulfillment"

const address = objectOf({
  line1: text,
  line2: text,
  city: text,
  state: text,
  postalCode: text,
  country,
  company: text
})

const lineItem = objectOf({
  productId: text,
  name: text,
  quantity: number,
  unitPrice: money,
  totalPrice: money,
  sku: text,
  variantId: text,
  tax: money,
  discount: money
})

const totals = objectOf({ subtotal: money, tax: money, shipping: money, discount: money, total: money })

const payment = objectOf({
  id: text,
  amount: money,
  currency,
  method: text,
  status: oneOf("pending", "authorized", "paid", "failed", "refunded"),
  paidAt: dateTime,
  reference: text
})

const inventory = objectOf({ available: number, onHand: number })

const variant = objectOf({ id: text, name: text, sku: text, price: money, currency, options: json, inventory })

const pricingTier = objectOf({ name: text, price: money, currency, minQuantity: number })

const contactMembers = {
  email,
  firstName: text,
  lastName: text,
  company: text,
  phone,
  addresses: listOf(address),
  tags: listOf(text),
  customFields: json
}

const contact = objectOf({ id: text, ...contactMembers })

/** Members of every record, set by the service and the provider, and therefore not counted in coverage. */
export const commonFields = readOnly({
  remote: objectOf({ connector: text, id: text, updatedAt: dateTime }),
  createdAt: dateTime,
  updatedAt: dateTime
})

const entity = (name: CdmEntity, fields: ModelFields): Model => ({
  name,
  fields: { ...fields, ...commonFields },
  anyOf: [],
  verbs: allVerbs
})

/** By the name of the entity. */
export const cdmEntities: { readonly [entity in CdmEntity]: Model } = {
  CDMContact: entity("CDMContact", { ...identifiers({ id: text }), ...optional(contactMembers) }),
  CDMProduct: entity("CDMProduct", {
    ...identifiers({ id: text }),
    ...required({ name: text }),
    ...optional({
      sku: text,
      description: text,
      variants: listOf(variant),
      pricingTiers: listOf(pricingTier),
      category: text,
      status: oneOf("active", "draft", "archived"),
      inventory
    })
  }),
  CDMOrder: entity("CDMOrder", {
    ...identifiers({ id: text }),
    ...required({
      lineItems: listOf(lineItem),
      totals,
      status: oneOf("pending", "processing", "completed", "cancelled", "refunded")
    }),
    ...optional({ contact, payments: listOf(payment), shippingAddress: address, billingAddress: address, currency })
  }),
  CDMInvoice: entity("CDMInvoice", {
    ...identifiers({ id: text }),
    ...required({
      lineItems: listOf(lineItem),
      totals,
      status: oneOf("draft", "submitted", "authorised", "paid", "voided"),
      currency
    }),
    ...optional({ contact, dueDate: dateTime, payments: listOf(payment), invoiceNumber: text })
  }),
  CDMInventoryLevel: entity("CDMInventoryLevel", {
    ...required({ productId: text, available: number }),
    ...optional({ variantId: text, locationId: text, onHand: number, committed: number, reserved: number })
  }),
  CDMFulfillment: entity("CDMFulfillment", {
    ...identifiers({ id: text }),
    ...required({
      orderId: text,
      status: oneOf("pending", "in_transit", "delivered", "failed", "cancelled")
    }),
    ...optional({
      trackingNumber: text,
      carrier: text,
      lineItems: listOf(lineItem),
      shippedAt: dateTime,
      deliveredAt: dateTime
    })
  })
}

/** Whether the name is that of an entity. */
export const isCdmEntity = (name: string): name is CdmEntity => Object.hasOwn(cdmEntities, name)
