/** The records of a side of the world that each list shows, by method and path. */
import type { Route } from "../../src/http/pipeline/Routes.js"
import { nameOf } from "./endpoints.js"
import type { Side } from "./endpointWorld.js"
import type { Answer } from "./InProcess.js"

export interface Listing {
  readonly item: (side: Side) => string
  readonly itemsOf: (answer: Answer) => ReadonlyArray<string>
}

const ids = ({ body }: Answer): ReadonlyArray<string> => body.data.map(({ id }: { readonly id: string }) => id)

const deployments: Listing = {
  item: ({ environment }) => environment,
  itemsOf: ({ body }) => body.data.deployments.map(({ environment }: { readonly environment: string }) => environment)
}

const listings: { readonly [name: string]: Listing } = {
  "GET /api/v1/connectors": {
    item: ({ connector }) => connector,
    itemsOf: ({ body }) => body.data.map(({ slug }: { readonly slug: string }) => slug)
  },
  "GET /api/v1/connections": { item: ({ connection }) => connection, itemsOf: ids },
  "GET /api/v1/customers": { item: ({ customer }) => customer, itemsOf: ids },
  "GET /api/v1/executions": { item: ({ execution }) => execution, itemsOf: ids },
  "GET /api/v1/approvals": { item: ({ approval }) => approval, itemsOf: ids },
  "GET /api/v1/field-maps": { item: ({ fieldMap }) => fieldMap, itemsOf: ids },
  "GET /api/v1/installations": { item: ({ installation }) => installation, itemsOf: ids },
  "GET /api/v1/notifications": { item: ({ notification }) => notification, itemsOf: ids },
  "GET /api/v1/events": { item: ({ event }) => event, itemsOf: ids },
  "GET /api/v1/dlq": { item: ({ deadLetter }) => deadLetter, itemsOf: ids },
  "GET /api/v1/triggers": { item: ({ trigger }) => trigger, itemsOf: ids },
  "GET /api/v1/secrets": { item: ({ secret }) => secret, itemsOf: ids },
  "GET /api/v1/environments": { item: ({ ownEnvironment }) => ownEnvironment, itemsOf: ids },
  "GET /api/v1/tenants/:tid/environments": { item: ({ ownEnvironment }) => ownEnvironment, itemsOf: ids },
  "GET /api/v1/releases": { item: ({ release }) => release, itemsOf: ids },
  "GET /api/v1/tenants/:tid/releases": { item: ({ release }) => release, itemsOf: ids },
  "GET /api/v1/workflows": { item: ({ workflow }) => workflow, itemsOf: ids },
  "GET /api/v1/workflows/:wid": deployments,
  "GET /api/v1/tenants/:tid/workflows": { item: ({ workflow }) => workflow, itemsOf: ids },
  "GET /api/v1/tenants/:tid/workflows/:wid": deployments,
  "GET /api/v1/tenants/:tid/executions": { item: ({ execution }) => execution, itemsOf: ids },
  "GET /api/v1/tenants/:tid/events": { item: ({ event }) => event, itemsOf: ids },
  "GET /api/v1/tenants/:tid/dlq": { item: ({ deadLetter }) => deadLetter, itemsOf: ids },
  "GET /api/v1/tenants/:tid/credentials": { item: ({ credential }) => credential, itemsOf: ids }
}

export const listingOf = (route: Route): Listing => {
  const found = listings[nameOf(route)]
  if (found === undefined) throw new Error(`test/support/listings.ts does not say what ${nameOf(route)} lists`)
  return found
}
