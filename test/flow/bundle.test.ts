/** The program as it is shipped: what the bundle loads only when it is asked for is there, and is what it is taken for. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: false })
beforeAll(() => world.start())
afterAll(() => world.stop())

const document = `openapi: 3.0.0
info: { title: Orders, version: "1" }
servers: [{ url: "https://orders.example" }]
paths: { /orders: { get: { operationId: listOrders, responses: { "200": { description: ok } } } } }
`

const imported = (source: string) =>
  world.api().call("POST", "/api/v1/connectors", { import: { format: "openapi", slug: "orders", source } })

it("a connector is imported from YAML", async () => {
  const made = await imported(document)
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  assert.deepStrictEqual(
    made.body.data.actions.map(({ name }: { name: string }) => name),
    ["listOrders"]
  )
})

it("what is no YAML is the client's mistake", async () => {
  const refused = await imported("][")
  assert.deepStrictEqual([refused.status, refused.body.details[0].code], [422, "SYNTAX_ERROR"])
})

it("the page of the API's documents is drawn", async () => {
  const page = await world.api().call("GET", "/docs")
  assert.deepStrictEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"])
})
