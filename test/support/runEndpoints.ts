/** The requests of the endpoints on executions and approvals, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"

const plain: Endpoint = {}

export const runEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/executions": plain,
  "GET /api/v1/executions/stats": { query: ({ side }) => `workflow_id=${side.workflow}` },
  "GET /api/v1/executions/failures": { query: ({ side }) => `workflow_id=${side.workflow}` },
  "GET /api/v1/executions/:eid": plain,
  "POST /api/v1/executions/:eid/cancel": { uses: ({ side, world }) => world.standardRun(side, true) },
  "POST /api/v1/executions/:eid/rerun": { body: () => ({}), uses: ({ side, world }) => world.standardRun(side, false) },
  "GET /api/v1/approvals": plain,
  "POST /api/v1/executions/:eid/approvals/:apv": {
    body: () => ({ decision: "approve", actor: "ada@example.com" }),
    uses: ({ side, world }) => world.openApproval(side)
  },
  "GET /api/v1/executions/:eid/steps": plain,
  "GET /api/v1/watch": { query: ({ side }) => `topics=executions,connections,execution:${side.execution}` },
  "GET /api/v1/executions/:eid/diagram.svg": plain,
  "GET /api/v1/executions/:eid/fixtures": plain,
  "GET /api/v1/executions/:eid/logs": plain,
  "GET /api/v1/executions/:eid/blobs/:id": plain,
  "GET /api/v1/executions/:eid/sync-reports": plain,
  "GET /api/v1/sync-reports/:rpt/entries": plain
}
