/** Parts of a definition are changed one at a time, and the rest of it stays as it is. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { changedClients } from "../../../src/domain/connector/part/ChangedClients.js"
import {
  actionPart,
  addPart,
  authMethodPart,
  findPart,
  partsOf,
  patchPart,
  putPart,
  removePart,
  replacePart,
  setDefaultMethod,
  webhookPart
} from "../../../src/domain/connector/part/DefinitionPart.js"
import { decodeManifest } from "../../../src/domain/connector/Definition.js"
import { raiseVersion } from "../../../src/domain/connector/Versions.js"
import type { JsonObject } from "../../../src/domain/Json.js"

const definition: JsonObject = {
  name: "Acme",
  actions: [
    { name: "list", request: { method: "GET", path: "/" } },
    { name: "get", version: 2 }
  ],
  auth: [
    { id: "key", type: "api_key", default: true },
    { id: "oauth", type: "oauth2", default: false }
  ]
}

const keys = (changed: JsonObject, kind = actionPart) => partsOf(changed, kind).map((part) => part[kind.key])

describe("a part of a definition", () => {
  it("is found by its key; a mistyped key is answered with the closest one", () => {
    assert.deepStrictEqual(findPart(definition, actionPart, "get"), Either.right({ name: "get", version: 2 }))
    const absent = Either.flip(findPart(definition, actionPart, "gets"))
    assert.deepInclude(Either.getOrThrow(absent), { what: "action", meant: "get" })
    assert.isTrue(Either.isLeft(findPart(definition, webhookPart, "app")))
    assert.isTrue(Either.isLeft(findPart(definition, actionPart, "__proto__")))
  })

  it("is added as the last one, unless its key is taken", () => {
    const added = Either.getOrThrow(addPart(definition, actionPart, { name: "make" }))
    assert.deepStrictEqual(keys(added), ["list", "get", "make"])
    assert.deepStrictEqual({ ...added, actions: null }, { ...definition, actions: null })
    const taken = Either.getOrThrow(Either.flip(addPart(definition, actionPart, { name: "get" })))
    assert.strictEqual(taken.code, "CONFLICT")
    // Validation says what is wrong with a part without a key.
    assert.lengthOf(partsOf(Either.getOrThrow(addPart(definition, actionPart, {})), actionPart), 3)
  })

  it("is put in the place of the one with its key, or as the last one, also of none", () => {
    const put = putPart(definition, actionPart, { name: "list", version: 5 })
    assert.deepStrictEqual(partsOf(put, actionPart)[0], { name: "list", version: 5 })
    assert.deepStrictEqual(keys(putPart(definition, webhookPart, { id: "app" }), webhookPart), ["app"])
  })

  it("is changed by a merge patch, but for its key, which is refused with its path", () => {
    const patched = Either.getOrThrow(patchPart(definition, actionPart, "list", { request: { path: "/all" } }))
    assert.deepStrictEqual(partsOf(patched, actionPart)[0], { name: "list", request: { method: "GET", path: "/all" } })
    for (const patch of [{ name: "other" }, { name: null }]) {
      const refused = Either.getOrThrow(Either.flip(patchPart(definition, actionPart, "get", patch)))
      assert.strictEqual(refused._tag, "ValidationFailed")
      if (refused._tag === "ValidationFailed") assert.strictEqual(refused.details[0]?.path, "actions[1].name")
    }
    assert.isTrue(Either.isLeft(replacePart(definition, actionPart, "none", (part) => part)))
  })

  it("is removed alone", () => {
    assert.deepStrictEqual(keys(Either.getOrThrow(removePart(definition, actionPart, "list"))), ["get"])
    assert.isTrue(Either.isLeft(removePart(definition, actionPart, "none")))
  })

  it("becomes the only default auth method", () => {
    const changed = Either.getOrThrow(setDefaultMethod(definition, "oauth"))
    assert.deepStrictEqual(
      partsOf(changed, authMethodPart).map((method) => method["default"]),
      [false, true]
    )
  })
})

const manifest = decodeManifest({
  svcConnector: 1,
  slug: "acme",
  name: "Acme",
  kind: "crm",
  version: "1.2.0",
  baseUrl: "https://acme.example",
  auth: [
    { id: "oauth", type: "oauth2", tokenUrl: "https://acme.example/t", clientId: "one" },
    { id: "key", type: "api_key" }
  ],
  actions: [{ name: "list", request: { method: "GET", path: "/" } }]
})

describe("a draft that names no version", () => {
  const added = { ...manifest, events: [{ id: "made", delivery: "webhook" as const, payloadSchema: {} }] }

  it("gets the one that its change needs", () => {
    assert.strictEqual(raiseVersion(manifest, { ...manifest, name: "Acme 2" }).version, "1.2.1")
    assert.strictEqual(raiseVersion(manifest, added).version, "1.3.0")
    assert.strictEqual(raiseVersion(manifest, { ...manifest, actions: [], version: "1.2.1" }).version, "2.0.0")
  })

  it("keeps a higher one", () =>
    assert.strictEqual(raiseVersion(manifest, { ...added, version: "4.0.0" }).version, "4.0.0"))
})

describe("a client of an auth method", () => {
  const client = (clientId: string, clientSecret?: string) => ({ methodId: "oauth", clientId, clientSecret })

  it("is stored again only if its id or its secret is new", () => {
    assert.deepStrictEqual(changedClients(manifest, [client("one")]), [])
    assert.lengthOf(changedClients(manifest, [client("two")]), 1)
    assert.lengthOf(changedClients(manifest, [client("one", "secret")]), 1)
    assert.lengthOf(changedClients(manifest, [{ ...client("one"), methodId: "other" }]), 1)
  })
})
