/** Actions of Shopify on products and variants. */
import {
  args,
  decimal,
  type ActionManifest,
  type EntityManifest,
  fromArgs,
  id,
  integer,
  list,
  nullable,
  oneOf,
  pairs,
  record,
  text,
  time,
  upTo
} from "../SchemaShorthands.js"
import { defineShopifyCreate, defineShopifyGet, defineShopifyUpdate, shopifyListArgs } from "./Requests.js"

const variant = record({
  id,
  product_id: id,
  title: text,
  sku: nullable("string"),
  price: decimal,
  compare_at_price: nullable("string"),
  barcode: nullable("string"),
  inventory_item_id: id,
  inventory_quantity: integer,
  option1: nullable("string"),
  option2: nullable("string"),
  option3: nullable("string")
})

const product = record(
  {
    id,
    title: text,
    body_html: nullable("string"),
    vendor: text,
    product_type: text,
    handle: text,
    status: oneOf("active", "archived", "draft", "unlisted"),
    tags: text,
    created_at: time,
    updated_at: time,
    variants: list(variant)
  },
  "id",
  "title"
)

const writable = {
  title: text,
  body_html: text,
  vendor: text,
  product_type: text,
  handle: text,
  status: oneOf("active", "archived", "draft", "unlisted"),
  tags: text,
  options: list(record({ name: text })),
  variants: list(record())
}

const shirt = {
  id: 632910392,
  title: "Linen shirt",
  body_html: "<p>Light</p>",
  vendor: "Acme",
  product_type: "Shirts",
  handle: "linen-shirt",
  status: "active",
  tags: "summer, linen",
  created_at: "2026-10-02T09:00:00-04:00",
  updated_at: "2026-11-01T09:00:00-04:00",
  variants: [{ id: 808950810, product_id: 632910392, title: "M", sku: "LIN-M", price: "49.00", inventory_quantity: 12 }]
}

const resource = {
  name: "Product",
  nameWithArticle: "a product",
  schema: product,
  mock: { name: "shirt", output: shirt }
}

export const shopifyProductActions: ReadonlyArray<ActionManifest> = [
  {
    name: "listProducts",
    title: "List products",
    request: {
      method: "GET",
      path: "/products.json",
      query: {
        limit: "{{args.limit ?? 250}}",
        ...fromArgs("ids", "title", "vendor", "handle", "product_type", "status", "created_at_min", "updated_at_min")
      },
      queryStyle: "comma"
    },
    pagination: { type: "link", items: "$.products" },
    inputSchema: args({
      limit: upTo(250),
      ids: list(id),
      title: text,
      vendor: text,
      handle: text,
      product_type: text,
      status: text,
      created_at_min: time,
      updated_at_min: time
    }),
    outputSchema: record({ products: list(product) }, "products"),
    mocks: [{ name: "one", output: { products: [shirt] } }]
  },
  defineShopifyGet(resource),
  defineShopifyCreate(resource, args(writable, "title")),
  defineShopifyUpdate(resource, writable),
  {
    name: "deleteProduct",
    title: "Delete a product",
    request: { method: "DELETE", path: "/products/{{args.id}}.json" },
    inputSchema: args({ id }, "id"),
    mocks: [{ name: "deleted", output: {} }]
  }
]

export const productEntity: EntityManifest = {
  name: "product",
  cdm: "CDMProduct",
  read: "listProducts",
  get: "getProduct",
  create: "createProduct",
  update: "updateProduct",
  delete: "deleteProduct",
  args: { read: shopifyListArgs },
  fields: [
    ...pairs({
      id: "id",
      title: "name",
      body_html: "description",
      product_type: "category",
      "variants[0].sku": "sku",
      "variants[0].inventory_quantity": "inventory.available",
      created_at: "createdAt",
      updated_at: "updatedAt"
    }),
    {
      from: "status",
      to: "status",
      enum: { active: "active", draft: "draft", archived: "archived", unlisted: "active" }
    },
    ...pairs({
      "variants[*].id": "variants[*].id",
      "variants[*].title": "variants[*].name",
      "variants[*].sku": "variants[*].sku",
      "variants[*].price": "variants[*].price",
      "variants[*].inventory_quantity": "variants[*].inventory.available"
    })
  ],
  fieldsOut: [
    ...pairs({
      id: "id",
      name: "title",
      description: "body_html",
      category: "product_type",
      status: "status",
      "variants[*].id": "variants[*].id",
      "variants[*].name": "variants[*].option1",
      "variants[*].sku": "variants[*].sku",
      "variants[*].price": "variants[*].price"
    })
  ]
}
