/** The requests of the endpoints on drafts, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"

/** The number of the draft that another caller has replaced: the workflow's version when it was published. */
export const replacedDraft = "2"

export const draftEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/workflows/:wid/drafts": {},
  "POST /api/v1/workflows/:wid/drafts/:n/restore": {
    body: () => ({}),
    uses: async ({ side, world }) => {
      const workflow = await world.make.workflow(side.customer)
      const body = { code: "export default async () => 2" }
      await world.svc.ask("PUT", `/api/v1/workflows/${workflow}`, { key: await world.credentialOf([]), body })
      return { workflow }
    }
  }
}
