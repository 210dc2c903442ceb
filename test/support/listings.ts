/** The records of a side of the world that each list shows: those that its paths name below the list, unless it says otherwise. */
import type { Route } from "../../src/http/pipeline/Routes.js"
import { nameOf, partsOf, routes } from "./endpoints.js"
import type { Side, World } from "./endpointWorld.js"
import type { Answer } from "./InProcess.js"

export interface Listing {
  readonly item: (side: Side) => string
  readonly itemsOf: (answer: Answer) => ReadonlyArray<string>
}

const membersNamed =
  (name: string) =>
  (data: ReadonlyArray<{ readonly [member: string]: string }>): ReadonlyArray<string> =>
    data.map((one) => String(one[name]))

/** By method and path, on surface B as on surface C. */
const special: { readonly [name: string]: Listing } = {
  "GET /api/v1/connectors": {
    item: ({ connector }) => connector,
    itemsOf: ({ body }) => membersNamed("slug")(body.data)
  },
  "GET /api/v1/approvals": { item: ({ approval }) => approval, itemsOf: ({ body }) => membersNamed("id")(body.data) },
  "GET /api/v1/workflows/:wid": {
    item: ({ environment }) => environment,
    itemsOf: ({ body }) => membersNamed("environment")(body.data.deployments)
  }
}

/** The parameter that names one record of the list. */
const parameterOf = ({ path }: Route): string => {
  const below = routes.find((one) => one.path.startsWith(`${path}/:`))
  if (below === undefined) throw new Error(`test/support/listings.ts does not say what GET ${path} lists`)
  return /^:(\w+)/.exec(below.path.slice(path.length + 1))?.[1] ?? ""
}

export const listingOf = (route: Route, { svc }: Pick<World, "svc">): Listing => {
  const found = special[nameOf(route).replace("/tenants/:tid/", "/")]
  if (found !== undefined) return found
  const parameter = parameterOf(route)
  return {
    item: (side) => partsOf(side, svc)[parameter] ?? "",
    itemsOf: ({ body }) => membersNamed("id")(body.data)
  }
}
