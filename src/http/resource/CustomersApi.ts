/** The endpoints of customers. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { CreateCustomer, CustomerStatus, UpdateCustomer } from "../../domain/Customer.js"
import { CustomerId } from "../../domain/Ids.js"
import { JsonObject } from "../../domain/Json.js"
import { PlanName } from "../../domain/Plan.js"
import { Audited, auditAction, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { AcceptedData, CreatedData, Data, listParams, Page, putPayload, strictPayload, Time } from "./Shapes.js"

const CustomerView = Schema.Struct({
  id: CustomerId,
  name: Schema.String,
  slug: Schema.String,
  externalRef: Schema.NullOr(Schema.String),
  status: CustomerStatus,
  plan: Schema.NullOr(PlanName),
  adminEmail: Schema.NullOr(Schema.String),
  metadata: JsonObject,
  limits: Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.Number) }),
  connectionCount: Schema.Number,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Customer" })

const path = Schema.Struct({ cid: Schema.String })

/** Customers on surface C. */
export const CustomersApi = HttpApiGroup.make("customers")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/customers")
      .setUrlParams(Schema.Struct({ ...listParams, status: Schema.optional(CustomerStatus) }))
      .addSuccess(Page(CustomerView))
      .annotate(Permit, "users:read")
      .annotate(Audited, auditRead("customer"))
      .annotate(Shared, "customers")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("create", "/api/v1/customers")
      .setPayload(strictPayload(CreateCustomer))
      .addSuccess(CreatedData(CustomerView))
      .annotate(Permit, "users:create")
      .annotate(Audited, auditAction("customer.create"))
      .annotate(Shared, "change")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.get("get", "/api/v1/customers/:cid")
      .setPath(path)
      .addSuccess(Data(CustomerView))
      .annotate(Permit, "users:read")
      .annotate(Audited, auditRead("customer"))
      .annotate(Shared, "customers")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.put("update", "/api/v1/customers/:cid")
      .setPath(path)
      .setPayload(putPayload(UpdateCustomer, CustomerView))
      .addSuccess(Data(CustomerView))
      .annotate(Permit, "users:update")
      .annotate(Audited, auditAction("customer.update"))
      .annotate(Shared, "customers")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/v1/customers/:cid")
      .setPath(path)
      .addSuccess(AcceptedData(CustomerView))
      .annotate(Permit, "users:remove")
      .annotate(Audited, auditAction("customer.delete"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
