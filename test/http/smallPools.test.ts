/** A transaction waits for no second connection of its own pool, so that small pools suffice. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConnectionStore } from "../../src/actors/ports/connection/ConnectionStore.js"
import type { AuditId, ConnectionId, ConnectSessionId, CustomerId, OrganisationId } from "../../src/domain/Ids.js"
import { connect, publishConnector, startCalls, stopCalls, svc } from "../support/calls.js"

beforeAll(() => startCalls({ SVC_DB_POOL_APP: "1", SVC_DB_POOL_WRITER: "4" }))
afterAll(() => stopCalls())

it("sessions open at once for customers without a key, each with an entry in the audit trail", async () => {
  const { key } = svc.first
  const organisationId = svc.first.organisationId as OrganisationId
  await publishConnector("acme")
  const { id } = await connect("acme", "k")
  const now = new Date().toISOString()
  // No request named these customers before, so that the entry is the first use of their keys.
  const numbers = Array.from({ length: 16 }, (_, n) => String(n).padStart(26, "0"))
  const open = (number: string) =>
    Effect.flatMap(ConnectionStore, ({ openSession }) =>
      openSession(
        {
          id: `cs_${number}` as ConnectSessionId,
          organisationId,
          connectionId: id as ConnectionId,
          tokenHash: number,
          authMethod: "key",
          authProvider: null,
          config: {},
          redirectUrl: null,
          reconnects: true,
          status: "open",
          error: null,
          createdBy: "test",
          expiresAt: now
        },
        [
          {
            id: `aud_${number}` as AuditId,
            organisationId,
            at: now,
            actor: { type: "system", id: "svc", name: "svc", ip: null, userAgent: null, onBehalfOf: null },
            action: "connection.update",
            resource: { type: "connection", id, name: "acme" },
            customerId: `cus_${number}` as CustomerId,
            outcome: "success",
            requestId: null,
            changes: [{ path: "label", before: null, after: "a value of the customer" }],
            count: 1
          }
        ]
      )
    )
  await svc.run(Effect.forEach(numbers, open, { concurrency: "unbounded" }))
  for (const number of numbers) {
    const { body } = await svc.ask("GET", `/api/v1/audit?customer_id=cus_${number}`, { key })
    assert.strictEqual(body.data.length, 1)
  }
})
