/** Actions of built-in connectors keep earlier versions, so that a release breaks no published workflow. */
import { assert, describe, it } from "@effect/vitest"
import { defineBuiltIn, type ConnectorManifest } from "../../../src/domain/connector/Definition.js"
import { builtInAtVersion } from "../../../src/domain/connector/Versions.js"

const action = (name: string, version: number) => ({
  name,
  version,
  request: { method: "GET" as const, path: `/v${version}/${name}` }
})
const manifest: ConnectorManifest = {
  svcConnector: 1,
  slug: "acme",
  name: "Acme",
  kind: "crm",
  version: "5.0.0",
  baseUrl: "https://acme.example",
  auth: [{ id: "key", type: "api_key" }],
  actions: [action("list", 5), action("get", 1)]
}
const acme = defineBuiltIn(
  manifest,
  [4, 3, 2, 1].filter((version) => version !== 2).map((version) => action("list", version))
)

const pathOf = (name: string, version: number, bound: boolean) =>
  builtInAtVersion(acme, { name, version, bound })?.actions.find((one) => one.name === name)?.request.path

describe("an action of a built-in connector", () => {
  it("can be called in its three newest versions", () =>
    assert.deepStrictEqual(
      [5, 4, 3].map((version) => pathOf("list", version, false)),
      ["/v5/list", "/v4/list", "/v3/list"]
    ))

  it("can be called in an older version only by a workflow that is bound to it", () => {
    assert.isUndefined(pathOf("list", 1, false))
    assert.strictEqual(pathOf("list", 1, true), "/v1/list")
  })

  it("cannot be called in a version that the release does not have, whatever is bound to it", () => {
    assert.isUndefined(pathOf("list", 2, true))
    assert.isUndefined(pathOf("list", 6, true))
    assert.isUndefined(pathOf("nothing", 1, true))
  })

  it("does not affect the others", () => {
    const found = builtInAtVersion(acme, { name: "list", version: 3, bound: true })
    assert.deepStrictEqual(found?.actions.map(({ name, version }) => `${name}@${version}`).sort(), ["get@1", "list@3"])
    assert.strictEqual(builtInAtVersion(acme, { name: "get", version: 1, bound: true }), acme.definition())
  })
})
