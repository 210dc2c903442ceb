/** The warning about an action of a published workflow that the release does not have. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { BundledConnector } from "../../src/domain/connector/Definition.js"
import { builtInConnectors, builtInFor } from "../../src/domain/connectors/index.js"
import { findMissingActions } from "../../src/runtime/postgres/MissingActions.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { definition, publishConnector, startCalls, stopCalls, svc, workflow } from "../support/calls.js"

beforeAll(() => startCalls())
afterAll(() => stopCalls())

/** GitHub in a later release: every action is in its ninth version. */
const later = (previous: BundledConnector["previous"]): ReadonlyArray<BundledConnector> => [
  {
    slug: "github",
    definition: () => {
      const now = github()
      return { ...now, actions: now.actions.map((action) => ({ ...action, version: 9 })) }
    },
    previous
  }
]
const github = () => {
  const found = builtInFor("github")
  if (found === undefined) throw new Error("github is gone")
  return found.definition()
}
const lost = (builtIns: ReadonlyArray<BundledConnector>) =>
  svc.run(Effect.flatMap(WriterSql, (sql) => findMissingActions(sql, builtIns)))

describe("an action that a published workflow is bound to", () => {
  it("is reported when the release does not have its version, until the workflow is deleted or the connector is the organisation's own", async () => {
    const first = await workflow("return svc.connector.github.getAuthenticatedUser({})")
    await workflow("return svc.connector.github.getAuthenticatedUser({})")
    assert.deepStrictEqual(await lost(builtInConnectors), [])
    assert.deepStrictEqual(await lost(later(() => github().actions)), [])
    const gone = { connector: "github", action: "getAuthenticatedUser", version: 1 }
    assert.deepStrictEqual(await lost(later(() => [])), [{ ...gone, workflows: 2 }])
    const { key } = svc.first
    assert.strictEqual((await svc.ask("DELETE", `/api/v1/workflows/${first}`, { key })).status, 204)
    assert.deepStrictEqual(await lost(later(() => [])), [{ ...gone, workflows: 1 }])
    const own = await svc.ask("POST", "/api/v1/connectors", { key, body: definition("github", "1.0.0") })
    assert.strictEqual(own.status, 201, own.text)
    assert.deepStrictEqual(await lost(later(() => [])), [])
  })

  it("is shown with its slug and version while the draft is as it was published, else as the code writes it", async () => {
    const { key } = svc.first
    await publishConnector("acme-crm")
    const id = await workflow("return svc.connector.acmeCrm.get({ id: 1 })")
    const shown = async () => {
      const one = await svc.ask("GET", `/api/v1/workflows/${id}`, { key })
      const list = await svc.ask("GET", "/api/v1/workflows?page_size=200", { key })
      const listed = list.body.data.find((found: { readonly id: string }) => found.id === id)
      assert.deepStrictEqual(listed.bindings, one.body.data.bindings)
      return one.body.data.bindings
    }
    const frozen = { connector: "acme-crm", action: "get", version: 1, perCustomer: true }
    assert.deepStrictEqual(await shown(), [frozen])
    const code = "export default async () => svc.connector.acmeCrm.list({})"
    const changed = await svc.ask("PUT", `/api/v1/workflows/${id}`, { key, body: { code } })
    assert.strictEqual(changed.status, 200, changed.text)
    assert.deepStrictEqual(await shown(), [{ connector: "acmeCrm", action: "list", version: null, perCustomer: true }])
    const published = await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key, body: {} })
    assert.strictEqual(published.status, 200, published.text)
    assert.deepStrictEqual(await shown(), [{ ...frozen, action: "list" }])
  })

  it("is reported by /readyz", async () => {
    const { body } = await svc.ask("GET", "/readyz", {})
    assert.deepStrictEqual(body.checks.actions, { ok: true, lost: [] })
  })
})
