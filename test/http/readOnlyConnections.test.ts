/** Records of connections and connectors that were read can be put back; their read-only members cannot be changed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  await ask("POST", "/connectors", acme())
  await ask("POST", "/connectors/acme/publish", {})
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const connect = async (label: string): Promise<string> => {
  const made = await ask("POST", "/connections", {
    connector: "acme",
    customerId: svc.first.customerId,
    config: { base: provider.url },
    authMethod: "key",
    credential: { apiKey: "canary_key_1" },
    label
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}

const assertImmutable = ({ body, status, text }: Answer, path: string) =>
  assert.deepStrictEqual(
    [status, body.code, body.details?.map((one: { readonly path: string }) => one.path)],
    [422, "IMMUTABLE_FIELD", [path]],
    text
  )

describe("a connection that was read", () => {
  it("can be put back, the default one and another one, with a change of its own", async () => {
    for (const label of ["first", "second"]) {
      const at = `/connections/${await connect(label)}`
      const { body } = await ask("GET", at)
      const back = await ask("PUT", at, { ...body.data, label: `${label} renamed` })
      assert.strictEqual(back.status, 200, back.text)
      assert.deepInclude(back.body.data, { isDefault: body.data.isDefault, label: `${label} renamed` })
    }
  })

  it("can be put back after it was used and tested", async () => {
    const at = `/connections/${await connect("tested")}`
    const { body } = await ask("GET", at)
    await ask("POST", `${at}/test`)
    const back = await ask("PUT", at, body.data)
    assert.strictEqual(back.status, 200, back.text)
  })

  it("keeps its read-only members: another value is refused by name", async () => {
    const at = `/connections/${await connect("kept")}`
    const { body } = await ask("GET", at)
    const others = { id: "conn_x", connector: "other", customerId: "cus_x", status: "expired", createdBy: "key_x" }
    for (const [member, value] of Object.entries(others))
      assertImmutable(await ask("PUT", at, { ...body.data, label: "lost", [member]: value }), member)
    assert.strictEqual((await ask("PUT", at, { ...body.data, colour: "red" })).body.code, "UNKNOWN_FIELD")
    assert.deepStrictEqual((await ask("GET", at)).body.data.label, "kept")
  })

  it("stays the default until another one becomes it", async () => {
    const id = await connect("default")
    await ask("PUT", `/connections/${id}`, { isDefault: true })
    const refused = await ask("PUT", `/connections/${id}`, { isDefault: false })
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, "isDefault"])
  })
})

describe("a stored credential that was read", () => {
  const askB = (method: string, path: string, body?: unknown) =>
    svc.ask(method, `/api/v1/tenants/${svc.first.customerId}/credentials${path}`, {
      headers: { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId },
      ...(body === undefined ? {} : { body })
    })

  it("can be put back with its new values, and keeps its read-only members", async () => {
    const [read] = (await askB("GET", "?page_size=1")).body.data
    const sent = { ...read, credential: { apiKey: "canary_key_1" } }
    const back = await askB("PUT", `/${read.id}`, sent)
    assert.strictEqual(back.status, 200, back.text)
    const refused = await askB("PUT", `/${read.id}`, { ...sent, connector: "other" })
    assert.strictEqual(refused.body.details[0].code, "IMMUTABLE_FIELD", refused.text)
  })
})
