/** A transaction waits for no second connection of its own pool, so that pools of one connection suffice. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect } from "effect"
import { ownerSql } from "../support/Database.js"
import { publishConnector, startCalls, stopCalls, svc, systems } from "../support/calls.js"

beforeAll(() => startCalls({ SVC_DB_POOL_APP: "1", SVC_DB_POOL_WRITER: "1" }), 60_000)
afterAll(() => stopCalls())

it("a customer whose key was never used connects, with an entry in the audit trail", { timeout: 30_000 }, async () => {
  const { key, organisationId } = svc.first
  await publishConnector("acme")
  // Not over the API, which would make the customer's key.
  const id = `cus_${"0".repeat(25)}1`
  await svc.run(
    Effect.scoped(
      Effect.flatMap(
        ownerSql,
        (owner) =>
          owner`INSERT INTO customers (id, org, name, slug) VALUES (${id}, ${organisationId}, 'Fresh', 'fresh')`
      )
    )
  )
  const made = await svc.ask("POST", "/api/v1/connections", {
    key,
    body: { connector: "acme", customerId: id, config: { base: systems.url }, credential: { apiKey: "k" } }
  })
  assert.strictEqual(made.status, 201, made.text)
  const { body } = await svc.ask("GET", `/api/v1/audit?customer_id=${id}`, { key })
  assert.isAbove(body.data.length, 0)
})
