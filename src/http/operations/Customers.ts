/** The operations on customers. Specification: Surface C. */
import { Schema } from "effect"
import { Customer, CustomerStatus } from "../../domain/organisation/Customer.js"
import { auditAction, auditRead } from "../operation/Contract.js"
import { operation } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { listParams } from "../Shapes.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { Customers } from "../../actors/management/organisation/Customers.js"
import { record, newRecord, acceptedRecord, page } from "../operation/Output.js"

/** The operations of the group `customers`, in the order of the documents. */
export const customersOperations = [
  operation({
    name: "customers.list",
    summary: "List customers",
    description: "Lists the customers that the key reaches, newest first.",
    answers: { 200: "A page of customers." },
    route: "GET /api/v1/customers",
    query: Schema.Struct({
      ...listParams,
      status: Schema.optional(CustomerStatus),
      tag: Schema.optional(Schema.String)
    }),
    output: page(Customer.View),
    permit: "users:read",
    audit: auditRead("customer"),
    sharing: "customers",
    scoped: {},
    with: Customers,
    use: (customers, { context, query }) => customers.list(context, query)
  }),
  operation({
    name: "customers.create",
    summary: "Create a customer",
    description:
      "Creates a customer of the organisation. Runs act for customers; only those with the status `active` can run.",
    answers: { 201: "The customer is created." },
    example: { name: "Globex", externalRef: "crm-4711", metadata: { region: "eu" }, tags: ["trial"] },
    route: "POST /api/v1/customers",
    body: strictPayload(Customer.Create),
    output: newRecord(Customer.View),
    permit: "users:create",
    audit: auditAction("customer.create"),
    sharing: "change",
    scoped: {},
    with: Customers,
    use: (customers, { context, body }) => customers.create(context, body)
  }),
  operation({
    name: "customers.get",
    summary: "Read a customer",
    description: "Reads one customer, by id or as `ref:` with the external reference.",
    answers: { 200: "The customer." },
    route: "GET /api/v1/customers/:cid",
    output: record(Customer.View),
    permit: "users:read",
    audit: auditRead("customer"),
    sharing: "customers",
    scoped: {},
    with: Customers,
    use: (customers, { context, path }) => customers.get(context, path.cid)
  }),
  operation({
    name: "customers.update",
    summary: "Change a customer",
    description: "Changes the members that are sent; the others stay. `limits` bound what the customer may use.",
    answers: { 200: "The customer after the change." },
    example: { name: "Globex Corporation", limits: { api_calls_per_minute: 600 } },
    route: "PUT /api/v1/customers/:cid",
    body: putPayload(Customer.Update, Customer.View),
    output: record(Customer.View),
    permit: "users:update",
    audit: auditAction("customer.update"),
    sharing: "customers",
    scoped: {},
    with: Customers,
    use: (customers, { context, path, body }) => customers.update(context, path.cid, body)
  }),
  operation({
    name: "customers.delete",
    summary: "Delete a customer",
    description:
      "Revokes the customer's connections and erases its data within 24 hours. The id stays listed as deleted for 30 days.",
    answers: { 202: "The deletion has begun." },
    route: "DELETE /api/v1/customers/:cid",
    output: acceptedRecord(Customer.View),
    permit: "users:remove",
    audit: auditAction("customer.delete"),
    sharing: "customers",
    scoped: closedToNarrowedKeys,
    with: Customers,
    use: (customers, { context, path }) => customers.remove(context, path.cid)
  })
] as const
