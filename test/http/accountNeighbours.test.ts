/** Organisations with one parent, each with heavy work, delay a neighbour no more than one organisation with one of them would. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

/** A document as large as the body of a request may be, whose reading takes a worker a while. */
const document = {
  openapi: "3.0.3",
  info: { title: "Heavy", version: "1" },
  servers: [{ url: "https://api.example.com" }],
  paths: Object.fromEntries(
    Array.from({ length: 6_000 }, (_, n) => [
      `/p${n}`,
      { get: { operationId: `operation${n}`, responses: { 200: { description: "" } } } }
    ])
  )
}

describe("eight organisations with one parent, of which each imports a large document", () => {
  it("take turns with a neighbour, whose workflow is saved before most of theirs are read", async () => {
    const parent = await svc.organisation("Parent", "unlimited")
    const neighbour = await svc.organisation("Neighbour", "unlimited")
    const keys: Array<string> = []
    for (let n = 0; n < 8; n++) {
      const body = { name: `Child ${n}`, settings: { codeEditing: true } }
      const made = await svc.ask("POST", "/api/v1/organizations", { key: parent.key, body })
      assert.strictEqual(made.status, 201, made.text)
      keys.push(made.body.data.apiKey)
    }
    let read = 0
    const imports = keys.map(async (key) => {
      const answer = await svc.ask("POST", "/api/v1/connectors", {
        key,
        body: { import: { format: "openapi", source: document, slug: "heavy" } }
      })
      read++
      return answer.status
    })
    // The others wait for their turn when the first is read.
    await Promise.race(imports)
    const saved = await svc.ask("POST", "/api/v1/workflows", {
      key: neighbour.key,
      body: { name: "quick", form: "code", code: "export default async () => 1" }
    })
    assert.strictEqual(saved.status, 201, saved.text)
    assert.isAtMost(read, 4)
    assert.deepStrictEqual(
      await Promise.all(imports),
      keys.map(() => 201)
    )
  })
})
