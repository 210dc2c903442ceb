/** The operations on customers. Specification: Surface C. */
import { Customer } from "../../domain/organisation/Customer.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { CustomerList, Customers } from "../../actors/management/organisation/Customers.js"
import { record, newRecord, acceptedRecord, page } from "../operation/Output.js"

const ofCustomers = operationsOf({
  parameters: { cid: "The id of the customer, or `ref:` with its external reference." },
  with: Customers,
  resource: "customer",
  sharing: "customers",
  scoped: {}
})

/** The operations of the group `customers`, in the order of the documents. */
export const customersOperations = [
  ofCustomers({
    name: "customers.list",
    summary: "List customers",
    description: "Lists the customers that the key reaches, newest first.",
    answers: { 200: "A page of customers." },
    parameters: { tag: "Only records with this tag." },
    route: "GET /api/v1/customers",
    query: CustomerList,
    output: page(Customer.View),
    permit: "users:read",
    use: (customers, { context, query }) => customers.list(context, query)
  }),
  ofCustomers({
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
    sharing: "change",
    use: (customers, { context, body }) => customers.create(context, body)
  }),
  ofCustomers({
    name: "customers.get",
    summary: "Read a customer",
    description: "Reads one customer, by id or as `ref:` with the external reference.",
    answers: { 200: "The customer." },
    route: "GET /api/v1/customers/:cid",
    output: record(Customer.View),
    permit: "users:read",
    use: (customers, { context, path }) => customers.get(context, path.cid)
  }),
  ofCustomers({
    name: "customers.update",
    summary: "Change a customer",
    description: "Changes the members that are sent; the others stay. `limits` bound what the customer may use.",
    answers: { 200: "The customer after the change." },
    example: { name: "Globex Corporation", limits: { api_calls_per_minute: 600 } },
    route: "PUT /api/v1/customers/:cid",
    body: putPayload(Customer.Update, Customer.View),
    output: record(Customer.View),
    permit: "users:update",
    use: (customers, { context, path, body }) => customers.update(context, path.cid, body)
  }),
  ofCustomers({
    name: "customers.delete",
    summary: "Delete a customer",
    description:
      "Revokes the customer's connections and erases its data within 24 hours. The id stays listed as deleted for 30 days.",
    answers: { 202: "The deletion has begun." },
    route: "DELETE /api/v1/customers/:cid",
    output: acceptedRecord(Customer.View),
    permit: "users:remove",
    scoped: closedToNarrowedKeys,
    use: (customers, { context, path }) => customers.remove(context, path.cid)
  })
] as const
