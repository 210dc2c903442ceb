/** Actions of Shopify on customers. */
import {
  args,
  type ActionManifest,
  nestedPairs,
  type EntityManifest,
  flag,
  fromArgs,
  id,
  list,
  nullable,
  pairs,
  record,
  text,
  time,
  upTo
} from "../SchemaShorthands.js"
import {
  defineShopifyCreate,
  defineShopifyDelete,
  defineShopifyGet,
  defineShopifyUpdate,
  shopifyListArgs
} from "./Requests.js"

const address = record({
  id,
  address1: nullable("string"),
  address2: nullable("string"),
  city: nullable("string"),
  province: nullable("string"),
  province_code: nullable("string"),
  zip: nullable("string"),
  country_code: nullable("string"),
  company: nullable("string"),
  phone: nullable("string")
})

const customer = record(
  {
    id,
    email: nullable("string"),
    first_name: nullable("string"),
    last_name: nullable("string"),
    phone: nullable("string"),
    tags: text,
    note: nullable("string"),
    currency: text,
    created_at: time,
    updated_at: time,
    addresses: list(address),
    default_address: address
  },
  "id"
)

const writable = {
  email: text,
  first_name: text,
  last_name: text,
  phone: text,
  tags: text,
  note: text,
  tax_exempt: flag,
  addresses: list(record())
}

const ada = {
  id: 207119551,
  email: "ada@example.com",
  first_name: "Ada",
  last_name: "Byron",
  phone: "+15142546011",
  tags: "vip",
  note: null,
  currency: "USD",
  created_at: "2026-09-01T10:00:00-04:00",
  updated_at: "2026-10-01T10:00:00-04:00",
  addresses: [
    {
      id: 1,
      address1: "12 Mill St",
      address2: null,
      city: "Ottawa",
      province_code: "ON",
      zip: "K1N",
      country_code: "CA"
    }
  ]
}

const resource = {
  name: "Customer",
  nameWithArticle: "a customer",
  schema: customer,
  mock: { name: "ada", output: ada }
}

export const shopifyCustomerActions: ReadonlyArray<ActionManifest> = [
  {
    name: "listCustomers",
    title: "List customers",
    request: {
      method: "GET",
      path: "/customers.json",
      query: { limit: "{{args.limit ?? 250}}", ...fromArgs("ids", "created_at_min", "updated_at_min") },
      queryStyle: "comma"
    },
    pagination: { type: "link", items: "$.customers" },
    inputSchema: args({ limit: upTo(250), ids: list(id), created_at_min: time, updated_at_min: time }),
    outputSchema: record({ customers: list(customer) }, "customers"),
    mocks: [{ name: "one", output: { customers: [ada] } }]
  },
  {
    name: "searchCustomers",
    title: "Search customers",
    description: "The query is Shopify's search language, for example email:ada@example.com.",
    request: {
      method: "GET",
      path: "/customers/search.json",
      query: { limit: "{{args.limit ?? 250}}", ...fromArgs("query", "order") }
    },
    pagination: { type: "link", items: "$.customers" },
    inputSchema: args({ query: text, order: text, limit: upTo(250) }, "query"),
    outputSchema: record({ customers: list(customer) }, "customers"),
    mocks: [{ name: "one", output: { customers: [ada] } }]
  },
  defineShopifyGet(resource),
  defineShopifyCreate(resource, args(writable)),
  defineShopifyUpdate(resource, writable),
  defineShopifyDelete(resource)
]

/** The field map of an address: Shopify's member → common member. */
export const addressFields = {
  address1: "line1",
  address2: "line2",
  city: "city",
  province_code: "state",
  zip: "postalCode",
  country_code: "country",
  company: "company"
}

export const customerEntity: EntityManifest = {
  name: "customer",
  cdm: "CDMContact",
  unified: "crm/contact",
  read: "listCustomers",
  get: "getCustomer",
  create: "createCustomer",
  update: "updateCustomer",
  delete: "deleteCustomer",
  args: { read: shopifyListArgs },
  fields: [
    ...pairs({
      id: "id",
      email: "email",
      first_name: "firstName",
      last_name: "lastName",
      phone: "phone",
      "addresses[0].company": "company",
      created_at: "createdAt",
      updated_at: "updatedAt"
    }),
    { from: "tags", to: "tags", split: "," },
    ...nestedPairs("addresses[*]", "addresses[*]", addressFields)
  ],
  fieldsOut: [
    { from: "tags", to: "tags", split: "," },
    ...pairs({ id: "id", email: "email", firstName: "first_name", lastName: "last_name", phone: "phone" }),
    ...pairs({
      "addresses[*].line1": "addresses[*].address1",
      "addresses[*].line2": "addresses[*].address2",
      "addresses[*].city": "addresses[*].city",
      "addresses[*].state": "addresses[*].province_code",
      "addresses[*].postalCode": "addresses[*].zip",
      "addresses[*].country": "addresses[*].country_code",
      "addresses[*].company": "addresses[*].company"
    })
  ]
}
