/**
 * A customer named in headers, on every endpoint: a different customer in the path, query or body is refused, records
 * of other customers are not found, and lists show only that customer's. Generated from the table of endpoints.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Route } from "../../../src/http/pipeline/Routes.js"
import { membersOf, nameOf, type Prepared, prepareRequest, refusalOf, routes, sendRequest } from "../endpoints.js"
import type { Side, World } from "../endpointWorld.js"
import { listingOf } from "../listings.js"
import { promised } from "../promises.js"
import { surfaceB, surfaceC } from "../../../src/http/operations/Surfaces.js"

let world: World
let own: Side
let other: Side
let credential: string

// --- Where endpoints name customers ---

/** The members of an operation's query and body, by its method and path. */
const members = new Map(
  [...surfaceC, ...surfaceB].map((one) => [
    nameOf(one),
    { query: membersOf(one.input.query), body: membersOf(one.input.body) }
  ])
)

/** A body that names the customer, by the member that names it. */
const inBody: { readonly [member: string]: (customer: string) => object } = {
  customerId: (customerId) => ({ customerId }),
  customerIds: (customerId) => ({ customerIds: [customerId] }),
  customers: (customerId) => ({ customers: { mode: "subset", ids: [customerId] } }),
  endOrgId: (endOrgId) => ({ endOrgId }),
  endOrgRef: (endOrgRef) => ({ endOrgRef }),
  scopeId: (scopeId) => ({ level: "tenant", scopeId })
}

type Ways = ReadonlyArray<readonly [way: string, request: (asked: Prepared, customer: string) => Prepared]>

const waysOf = (route: Route): Ways => {
  const { body = [], query = [] } = members.get(nameOf(route)) ?? {}
  return [
    ...(/:(?:cid|tid)\b/.test(route.path) ? [["its path", (asked: Prepared) => asked] as const] : []),
    ...(query.includes("customer_id")
      ? [
          [
            "customer_id",
            (asked: Prepared, customer: string) => ({
              ...asked,
              target: `${asked.target.split("?")[0]}?customer_id=${customer}`
            })
          ] as const
        ]
      : []),
    ...Object.entries(inBody)
      .filter(([member]) => body.includes(member))
      .map(
        ([member, make]) =>
          [
            member,
            (asked: Prepared, customer: string) => ({ ...asked, body: { ...Object(asked.body), ...make(customer) } })
          ] as const
      )
  ]
}

const naming = routes
  .filter(({ form }) => form.tenancy === "reach")
  .flatMap((route) => waysOf(route).map(([way, make]) => [nameOf(route), way, route, make] as const))

/** Path parameters that name a record of a customer. */
const ofCustomer = /:(?:wid|eid|conn|sid|inst|env|rel|ntf|evt|dlq|trg|ems|cs)\b/
const owned = routes
  .filter(({ form, path }) => form.tenancy === "reach" && ofCustomer.test(path))
  .map((route) => [nameOf(route), route] as const)

const lists = routes
  .filter(
    ({ form, method, path, sharing }) =>
      method === "GET" &&
      form.tenancy === "reach" &&
      (sharing === "customers" || sharing === "perRecord") &&
      !path.includes(":") &&
      members.get(nameOf({ method, path }))?.query.includes("page_size") === true &&
      path !== "/api/v1/audit"
  )
  .map((route) => [nameOf(route), route] as const)

// --- Headers ---

const headerForms: ReadonlyArray<(customer: string) => { readonly [name: string]: string }> = [
  (customer) => ({ "x-end-org-id": customer }),
  (customer) => ({ "x-svc-space-tenantid": customer }),
  (customer) => ({ "x-org-id": customer })
]

const ask = (route: Route, request: Prepared, customer: string, form = headerForms[0]) =>
  sendRequest(world, route, { ...request, headers: { ...request.headers, ...form?.(customer) } }, credential)

/** Runs the matrix for a caller of the world, which begins with the first of its tests and is stopped by the caller. */
export const customerMatrix = (start: () => Promise<World>) => {
  beforeAll(async () => {
    world = await start()
    own = world.sides.inside
    other = world.sides.outside
    credential = await world.credentialOf([])
  })

  describe("a request whose headers name a customer", () => {
    it("there are endpoints of each way to look at", () => {
      const ways = new Set(naming.map(([, way]) => way))
      assert.sameMembers([...ways], ["its path", "customer_id", ...Object.keys(inBody)])
      assert.isAbove(naming.length, 15)
      assert.isAbove(owned.length, 25)
      assert.sameMembers(
        lists.map(([name]) => name),
        [
          "customers",
          "workflows",
          "environments",
          "releases",
          "executions",
          "secrets",
          "connections",
          "field-maps",
          "installations",
          "embed/sessions",
          "notifications",
          "approvals",
          "events",
          "dlq"
        ].map((noun) => `GET /api/v1/${noun}`)
      )
    })

    it.each(naming)("%s names no other one by %s", async (_, way, route, make) => {
      const request = make(prepareRequest(route, { world, side: own, scope: [] }), own.customer)
      for (const form of headerForms) {
        const refused = await ask(route, request, other.customer, form)
        assert.deepStrictEqual(refusalOf(refused), [400, "INVALID_HEADER"], `${way}: ${refused.text}`)
      }
    })

    it.each(owned)("%s finds nothing of another customer", async (_, route) => {
      const missing = await ask(route, prepareRequest(route, { world, side: own, scope: [] }), other.customer)
      const body = prepareRequest(route, { world, side: own, scope: [] }).body
      const namesOwner =
        /:tid\b/.test(route.path) || (typeof body === "object" && body !== null && "customerId" in body)
      promised("a caller gets what is another customer's", () =>
        assert.isAtLeast(missing.status, 400, missing.text.slice(0, 300))
      )
      assert.deepStrictEqual(
        refusalOf(missing),
        namesOwner ? [400, "INVALID_HEADER"] : [404, "NOT_FOUND"],
        missing.text.slice(0, 300)
      )
    })

    it.each(lists)("%s shows that customer's records", async (_, route) => {
      const { item, itemsOf } = listingOf(route, world)
      const request = prepareRequest(route, { world, side: own, scope: [] })
      const target = `${request.target}?page_size=200`
      for (const form of headerForms)
        for (const [named, unnamed] of [
          [own, other],
          [other, own]
        ] as const) {
          const shown = itemsOf(await ask(route, { ...request, target }, named.customer, form))
          assert.include(shown, item(named))
          promised("a list shows what is another customer's", () => assert.notInclude(shown, item(unnamed)))
          const one = await ask(route, { ...request, target: `${request.target}?page_size=1` }, named.customer, form)
          assert.strictEqual(one.body.page.hasMore, shown.length > 1)
        }
    })

    it("lists a tenant's credentials only under that tenant", async () => {
      const route = routes.find((one) => nameOf(one) === "GET /api/v1/tenants/:tid/credentials")
      assert.isDefined(route)
      if (route === undefined) return
      const answer = await ask(route, prepareRequest(route, { world, side: own, scope: [] }), own.customer)
      assert.include(listingOf(route, world).itemsOf(answer), own.credential)
    })
  })
}
