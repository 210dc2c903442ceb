/** The requests of the endpoints on people, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"

export const peopleEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/me": { isOfCaller: true },
  "GET /api/v1/sessions": {},
  "DELETE /api/v1/sessions/:ses": { alsoAnswers: [404] },
  "GET /api/v1/users": {},
  "POST /api/v1/users/invite": { body: ({ world }) => ({ email: `${world.unique()}@example.com`, role: "viewer" }) },
  "GET /api/v1/roles": {},
  "POST /api/v1/roles": {
    body: ({ world }) => ({ name: world.unique(), parent: "viewer", permissions: { workflows: ["read"] } })
  }
}
