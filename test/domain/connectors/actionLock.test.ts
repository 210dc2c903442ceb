/** A built-in action never changes under its version: workflows are bound to it. Contract: versioning policy. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import {
  type BundledConnector,
  defineBuiltIn,
  type ConnectorManifest
} from "../../../src/domain/connector/Definition.js"
import { builtInConnectors } from "../../../src/domain/connectors/index.js"
import { type ActionLock, actionLockFile, actionLockText, addToLock, removeFromLock } from "../../support/actionLock.js"

const root = new URL("../../../", import.meta.url)

type Action = ConnectorManifest["actions"][number]

const list: Action = {
  name: "list",
  request: { method: "GET", path: "/orders", query: { page: "{{args.page}}" } },
  inputSchema: { type: "object", properties: { page: { type: "integer" }, description: { type: "string" } } },
  outputSchema: { type: "array", items: { $ref: "#/$defs/order" } }
}

const acme = (
  actions: ReadonlyArray<Action>,
  { previous = [], version = "1.0.0", order = {} }: Partial<Parts> = {}
): BundledConnector =>
  defineBuiltIn(
    {
      svcConnector: 1,
      slug: "acme",
      name: "Acme",
      kind: "crm",
      version,
      baseUrl: "https://acme.example",
      auth: [],
      schemas: { order: { type: "object", ...order } },
      actions
    },
    previous
  )

interface Parts {
  readonly version: string
  readonly previous: ReadonlyArray<Action & { readonly version: number }>
  readonly order: { readonly [name: string]: string }
}

interface Change {
  readonly what: string
  readonly change: Partial<Action>
  readonly parts?: Partial<Parts>
}

const { lock } = addToLock({}, [acme([list])])
const brokenBy = (...built: ReadonlyArray<BundledConnector>) => addToLock(lock, built).broken

describe("the built-in connectors", () => {
  const file = readFileSync(fileURLToPath(new URL(actionLockFile, root)), "utf8")
  const committed: ActionLock = JSON.parse(file)

  it("have the actions that the lock holds, each as it was", () =>
    assert.deepStrictEqual(
      addToLock(committed, builtInConnectors).broken,
      [],
      "only where no release had it: npm run generate -- --unreleased SLUG.ACTION@VERSION"
    ))

  it("have no action that the lock does not hold", () =>
    assert.strictEqual(actionLockText(addToLock(committed, builtInConnectors).lock), file, "run npm run generate"))
})

describe("the lock", () => {
  it("takes what is new, under the connector's version, and leaves what is there", () => {
    const get: Action = { name: "get", request: { method: "GET", path: "/orders/{{args.id}}" } }
    const { broken, lock: next } = addToLock(lock, [acme([list, get], { version: "1.1.0" })])
    assert.deepStrictEqual(broken, [])
    assert.deepStrictEqual(next["acme"]?.["1.0.0"], lock["acme"]?.["1.0.0"])
    assert.deepStrictEqual(Object.keys(next["acme"]?.["1.1.0"] ?? {}), ["get@1"])
  })

  const changes: ReadonlyArray<Change> = [
    { what: "the request", change: { request: { ...list.request, path: "/v2/orders" } } },
    { what: "the response", change: { response: { map: "$.orders" } } },
    { what: "the pages", change: { pagination: { type: "page", param: "page" } } },
    { what: "where the idempotency key goes", change: { idempotency: { header: "Idempotency-Key" } } },
    { what: "whether it only reads", change: { readOnly: false } },
    { what: "an argument", change: { inputSchema: { ...list.inputSchema, required: ["page"] } } },
    {
      what: "an argument that is called like an annotation",
      change: { inputSchema: { type: "object", properties: { page: {} } } }
    },
    { what: "the result", change: { outputSchema: { type: "array" } } },
    { what: "a schema that the result shares with others", change: {}, parts: { order: { format: "order" } } }
  ]
  it.each(changes)("breaks when $what is another, and says what to do", ({ change, parts }) => {
    const [broken = "", ...others] = brokenBy(acme([{ ...list, ...change }], parts))
    assert.isEmpty(others)
    assert.match(broken, /^acme\.list@1 .*give the action version 2, raise the version of acme.*`previous`$/)
    assert.deepStrictEqual(addToLock(lock, [acme([{ ...list, ...change }], parts)]).lock, lock, "and stays as it is")
  })

  it("holds nothing of titles, descriptions, mocks and defaults that are written out", () => {
    const same: Action = {
      ...list,
      title: "All orders",
      description: "of the shop",
      mocks: [{ name: "two", output: [] }],
      request: { ...list.request, queryStyle: "repeat" },
      inputSchema: { ...list.inputSchema, title: "Page", description: "which" }
    }
    assert.deepStrictEqual(brokenBy(acme([same], { order: { description: "one order" } })), [])
  })

  it("lets an action change with a version of its own and of its connector, while the old one is kept", () => {
    const next: Action = { ...list, version: 2, request: { method: "GET", path: "/v2/orders" } }
    const kept = [{ ...list, version: 1 }]
    assert.deepStrictEqual(brokenBy(acme([next], { version: "1.0.1", previous: kept })), [])
    assert.match(brokenBy(acme([next], { previous: kept }))[0] ?? "", /raise that of acme$/)
    assert.match(brokenBy(acme([next], { version: "1.0.1" }))[0] ?? "", /^acme\.list@1 is gone.*keep it in `previous`$/)
  })

  it("misses an action or a connector that is gone", () => {
    assert.match(brokenBy(acme([]))[0] ?? "", /^acme\.list@1 is gone/)
    assert.match(brokenBy()[0] ?? "", /^the connector acme is gone/)
  })

  it("forgets what no release had, by its name, and nothing else", () => {
    const changed = acme([{ ...list, request: { method: "GET", path: "/v2/orders" } }])
    assert.deepStrictEqual(removeFromLock(lock, ["acme.list@1"]), {})
    assert.deepStrictEqual(addToLock(removeFromLock(lock, ["acme.list@1"]), [changed]).broken, [])
    assert.throws(() => removeFromLock(lock, ["acme.list@1", "acme.lost@1"]), /holds no acme\.lost@1/)
  })
})
