/** The operations on environments. Contract: environment record; surface B bodies. */
import { EnvironmentList, Environments } from "../../../actors/management/organisation/Environments.js"
import { Environment } from "../../../domain/organisation/Environment.js"
import { auditAction } from "../../operation/Contract.js"
import { forTenants } from "../../operation/ForTenants.js"
import { operationsOf } from "../../operation/Operation.js"
import { empty, newRecord, page, record } from "../../operation/Output.js"
import { putPayload, strictPayload } from "../../PayloadSchema.js"

/** An environment decides about all workflows, so that keys of some change none. */
const ofEnvironments = operationsOf({
  parameters: { env: "The id of the environment." },
  with: Environments,
  resource: "environment",
  sharing: "perRecord",
  scoped: { environment: "record", workflow: "closed" }
})

/** The operations of the group `environments`, in the order of the documents. */
export const environmentsOperations = [
  ofEnvironments({
    name: "environments.list",
    summary: "List environments",
    description:
      "Lists the organisation's environments and those of customers, newest first. A customer's environment replaces the organisation's of the same slug for that customer.",
    answers: { 200: "A page of environments." },
    route: "GET /api/v1/environments",
    query: EnvironmentList,
    output: page(Environment.View),
    permit: "workflows:read",
    scoped: { environment: "list" },
    use: (environments, { context, query }) => environments.list(context, query)
  }),
  ofEnvironments({
    name: "environments.create",
    summary: "Create an environment",
    description:
      "Creates an environment of the organisation, or with `customerId` of a customer. It runs what is deployed there: by a release, or with `autoDeploy` by publishing.",
    answers: { 201: "The environment is created." },
    example: { name: "Staging", slug: "staging", autoDeploy: true },
    route: "POST /api/v1/environments",
    body: strictPayload(Environment.Create),
    output: newRecord(Environment.View),
    permit: "settings:update",
    scoped: { environment: "create", workflow: "closed" },
    use: (environments, { context, body }) => environments.create(context, body)
  }),
  ofEnvironments({
    name: "environments.get",
    summary: "Read an environment",
    description: "Reads an environment.",
    answers: { 200: "The environment." },
    route: "GET /api/v1/environments/:env",
    output: record(Environment.View),
    permit: "workflows:read",
    scoped: { environment: "record" },
    use: (environments, { context, path }) => environments.get(context, path.env)
  }),
  ofEnvironments({
    name: "environments.update",
    summary: "Change an environment",
    description:
      "Changes the members that are sent; the others stay. To change `protected`, `requiresReview` or `autoDeploy` the caller must be allowed to deploy there. Who has created a release cannot take the review away that it needs.",
    answers: { 200: "The environment after the change." },
    example: { protected: true },
    route: "PUT /api/v1/environments/:env",
    body: putPayload(Environment.Update, Environment.View),
    output: record(Environment.View),
    permit: "settings:update",
    use: (environments, { context, path, body }) => environments.update(context, path.env, body)
  }),
  ofEnvironments({
    name: "environments.remove",
    summary: "Delete an environment",
    description:
      "Deletes an environment with its deployments. `test` and `live` stay, and so does one that triggers name or that requires a review.",
    answers: { 204: "The environment is deleted." },
    route: "DELETE /api/v1/environments/:env",
    output: empty,
    permit: "settings:update",
    audit: auditAction("environment.delete"),
    use: (environments, { context, path }) => environments.remove(context, path.env)
  })
] as const

/** The operations of the group `tenantEnvironments`: those of one customer, on surface B. */
export const tenantEnvironmentOperations = forTenants("tenantEnvironments", environmentsOperations, {
  list: {
    summary: "List a tenant's environments",
    description: "Lists the tenant's environments and the organisation's, newest first.",
    query: EnvironmentList.omit("customer_id")
  },
  create: {
    summary: "Create an environment of a tenant",
    description:
      "Creates an environment of the tenant. It replaces the organisation's of the same slug for the tenant.",
    body: strictPayload(Environment.Create.omit("customerId").annotations({ identifier: "CreateTenantEnvironment" })),
    isOwned: true
  },
  get: { summary: "Read an environment of a tenant" },
  update: {
    summary: "Change an environment of a tenant",
    description:
      "Changes the members that are sent; the others stay. The organisation's environments are read here, not changed."
  },
  remove: {
    summary: "Delete an environment of a tenant",
    description: "Deletes an environment of the tenant with its deployments."
  }
})
