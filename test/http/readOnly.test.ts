import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const makeWorkflow = async (name: string) => {
  const { body } = await ask("POST", "/workflows", {
    name,
    form: "code",
    code: "export default async () => 1",
    description: "as it was"
  })
  await ask("POST", `/workflows/${body.data.id}/publish`, {})
  return `/workflows/${body.data.id}?include=diagram`
}

describe("a workflow that was read", () => {
  it("can be put back whole, with a change of its own", async () => {
    const at = await makeWorkflow("putBack")
    const { body: read } = await ask("GET", at)
    const back = await ask("PUT", at, { ...read.data, description: "as it is" })
    assert.deepStrictEqual([back.status, back.body.data.description], [200, "as it is"])
    const { diagram: _diagram, ...rest } = read.data
    assert.deepStrictEqual(
      { ...back.body.data, updatedAt: rest.updatedAt },
      { ...rest, description: "as it is", version: rest.version + 1 }
    )
  })

  it("has the content of its published version, and is put back with it", async () => {
    const at = (await makeWorkflow("withPublished")).replace("diagram", "published")
    await ask("PUT", at, { code: "export default async () => 2", inputContract: { type: "object" } })
    const { body: read } = await ask("GET", at)
    assert.deepStrictEqual(read.data.published, {
      version: 1,
      code: "export default async () => 1",
      spec: null,
      inputContract: null,
      outputContract: null
    })
    assert.strictEqual((await ask("PUT", at, { ...read.data, description: "as it is" })).status, 200)
    const { published } = read.data
    const refused = await ask("PUT", at, { published: { ...published, version: 2 } })
    assert.deepStrictEqual([refused.status, refused.body.code], [422, "IMMUTABLE_FIELD"])
  })

  it("keeps its read-only members: another value is refused by name, and changes nothing", async () => {
    const at = await makeWorkflow("keepsItsOwn")
    const { body: read } = await ask("GET", at)
    const changed = {
      id: "wf_000000000000",
      slug: "other",
      status: "draft",
      createdBy: null,
      versions: [],
      diagram: {}
    }
    for (const [member, value] of Object.entries(changed)) {
      const refused = await ask("PUT", at, { ...read.data, description: "lost", [member]: value })
      const { code, details } = refused.body
      assert.deepStrictEqual([refused.status, code, details[0].code], [422, "IMMUTABLE_FIELD", "IMMUTABLE_FIELD"])
      assert.deepStrictEqual([details.length, details[0].path], [1, member])
    }
    const two = await ask("PUT", at, { slug: "other", draft: { ...read.data.draft, code: "other" } })
    assert.deepStrictEqual(two.body.details.map(({ path }: { readonly path: string }) => path).sort(), [
      "draft",
      "slug"
    ])
    assert.deepStrictEqual((await ask("GET", at)).body, read)
  })

  it("has no other members, and an outdated version is refused first", async () => {
    const at = await makeWorkflow("noOthers")
    const { body: read } = await ask("GET", at)
    assert.strictEqual((await ask("PUT", at, { ...read.data, colour: "red" })).body.code, "UNKNOWN_FIELD")
    await ask("PUT", at, { tags: ["a"] })
    assert.strictEqual((await ask("PUT", at, read.data)).body.code, "VERSION_MISMATCH")
  })
})
