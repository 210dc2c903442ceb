/** The requests of the endpoints on environments and releases, as `endpoints.ts` has those of the others. */
import type { Endpoint } from "./endpoints.js"
import type { Side, World } from "./endpointWorld.js"

const plain: Endpoint = {}
const newRelease: Endpoint["uses"] = async ({ side, world }) => ({ release: await world.make.release(side) })
const spareEnvironment: Endpoint["uses"] = ({ side, world }) => world.spareEnvironment(side)
const inEnvironment: Endpoint = { body: ({ side }) => ({ environment: side.environment }) }
const newEnvironment = (world: World) => {
  const slug = world.unique()
  return { name: slug, slug }
}
const releaseOf = ({ environment, workflow }: Side) => ({ workflows: [{ workflowId: workflow }], environment })

export const releaseEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/environments": plain,
  "POST /api/v1/environments": {
    body: ({ side, world }) => ({ ...newEnvironment(world), customerId: side.customer })
  },
  "GET /api/v1/environments/:env": plain,
  "PUT /api/v1/environments/:env": { body: ({ world }) => ({ name: world.unique() }) },
  "DELETE /api/v1/environments/:env": { uses: spareEnvironment },

  "GET /api/v1/releases": plain,
  "POST /api/v1/releases": { body: ({ side }) => ({ ...releaseOf(side), customerId: side.customer }) },
  "GET /api/v1/releases/:rel": plain,
  "POST /api/v1/releases/:rel/deploy": inEnvironment,
  "POST /api/v1/releases/:rel/rollback": { ...inEnvironment, uses: newRelease },

  "GET /api/v1/tenants/:tid/environments": plain,
  "POST /api/v1/tenants/:tid/environments": { body: ({ world }) => newEnvironment(world) },
  "GET /api/v1/tenants/:tid/environments/:env": plain,
  "PUT /api/v1/tenants/:tid/environments/:env": { body: ({ world }) => ({ name: world.unique() }) },
  "DELETE /api/v1/tenants/:tid/environments/:env": { uses: spareEnvironment },
  "GET /api/v1/tenants/:tid/releases": plain,
  "POST /api/v1/tenants/:tid/releases": { body: ({ side }) => releaseOf(side) },
  "GET /api/v1/tenants/:tid/releases/:rel": plain,
  "POST /api/v1/tenants/:tid/releases/:rel/deploy": inEnvironment,
  "POST /api/v1/tenants/:tid/releases/:rel/rollback": { ...inEnvironment, uses: newRelease }
}
