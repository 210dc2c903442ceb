/** The requests of the endpoints on a tenant's workflows and executions, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"

const plain: Endpoint = {}

/** A key restricted to environments may change drafts, but nothing that all environments share. */
export const changedWorkflow: Endpoint = {
  body: ({ scope, side, type }) =>
    type === "environment" && !scope.some(({ ids }) => ids.includes(side.environment))
      ? { timeoutMs: 1_000 }
      : { description: "changed" }
}

export const tenantEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/tenants/:tid/workflows": plain,
  "POST /api/v1/tenants/:tid/workflows": {
    body: ({ world }) => ({ name: world.unique(), form: "code", code: "export default async () => 1" })
  },
  "GET /api/v1/tenants/:tid/workflows/:wid": plain,
  "PUT /api/v1/tenants/:tid/workflows/:wid": changedWorkflow,
  "POST /api/v1/tenants/:tid/workflows/:wid/publish": { body: () => ({}) },
  "POST /api/v1/tenants/:tid/workflows/:wid/archive": {
    uses: async ({ side, world }) => ({ workflow: await world.make.workflow(side.customer) })
  },
  "GET /api/v1/tenants/:tid/executions": plain,
  "GET /api/v1/tenants/:tid/executions/:eid": plain,
  "POST /api/v1/tenants/:tid/executions/:eid/cancel": { uses: ({ side, world }) => world.standardRun(side, true) }
}
