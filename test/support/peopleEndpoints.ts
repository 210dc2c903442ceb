/** The requests of the endpoints on people, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"

const newPerson: Endpoint["uses"] = async ({ world }) => ({ person: await world.make.person() })
const newRole: Endpoint["uses"] = async ({ world }) => ({ role: await world.make.role() })

export const peopleEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/me": { isOfCaller: true },
  "GET /api/v1/sessions": {},
  "DELETE /api/v1/sessions/:ses": { alsoAnswers: [404] },
  "GET /api/v1/users": {},
  "POST /api/v1/users/invite": { body: ({ world }) => ({ email: `${world.unique()}@example.com`, role: "viewer" }) },
  "GET /api/v1/users/:uid": {},
  "PUT /api/v1/users/:uid": { body: ({ world }) => ({ name: world.unique() }) },
  "DELETE /api/v1/users/:uid": { uses: newPerson },
  "POST /api/v1/users/:uid/invite": {},
  "GET /api/v1/roles": {},
  "POST /api/v1/roles": {
    body: ({ world }) => ({ name: world.unique(), parent: "viewer", permissions: { workflows: ["read"] } })
  },
  "PUT /api/v1/roles/:rid": { body: ({ world }) => ({ name: world.unique() }) },
  "DELETE /api/v1/roles/:rid": { uses: newRole }
}
