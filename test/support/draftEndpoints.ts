/** The requests of the endpoints on drafts, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"

/** The number of the draft that another caller has replaced: the workflow's version when it was published. */
export const replacedDraft = "2"

/** The step that is tested. */
export const testedStep = "only"

/** A flow whose step reads the secret that its input names. */
const newFlow: NonNullable<Endpoint["uses"]> = async ({ side, world }) => {
  const code = `export default async (input, { input: { secret } }) => secret === undefined ? 1 : await svc.secrets.get(secret)`
  const spec = { steps: [{ name: testedStep, type: "action", config: { code } }] }
  const body = { name: world.unique(), form: "steps", spec, customerId: side.customer }
  const made = await world.svc.ask("POST", "/api/v1/workflows", { key: world.svc.first.key, body })
  return { workflow: made.body.data.id }
}

export const draftEndpoints: { readonly [name: string]: Endpoint } = {
  "POST /api/v1/workflows/:wid/steps/:name/test": {
    body: ({ side }) => ({ customerId: side.customer }),
    headers: ({ side }) => ({ "x-svc-env": side.environment }),
    uses: newFlow,
    reads: newFlow
  },
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
