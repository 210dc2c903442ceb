/** What a flow's own authentication asks, and that is not there, is told when the flow is saved and published. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Answer, Running } from "../support/InProcess.js"
import { makeKey, makeScopedKey } from "../support/keys.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let names = 0
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
const specOf = (customAuth: object) => ({ steps: [{ name: "echo", type: "action", input: { x: 1 } }], customAuth })
const save = (customAuth: object, more: object = {}, key?: string) =>
  ask("POST", "/workflows", { name: `asks_${++names}`, form: "steps", spec: specOf(customAuth), ...more }, key)
const done = ({ body, status, text }: Answer) => {
  assert.isBelow(status, 300, text)
  return body.data
}
interface Told {
  readonly path: string
  readonly code: string
}
const told = (all: ReadonlyArray<Told>) => all.map(({ code, path }) => `${path} ${code}`)

describe("A secret that does not exist", () => {
  const missing = ["spec.customAuth.secretName UNKNOWN_SECRET"]

  it("is warned of when the flow is saved and published, until it is stored", async () => {
    for (const type of ["bearer", "header"]) {
      const secretName = `LATER_${type.toUpperCase()}`
      const { id, warnings } = done(await save({ type, secretName }))
      assert.deepStrictEqual(told(warnings), missing)
      const published = async () => told(done(await ask("POST", `/workflows/${id}/publish`, {})).warnings)
      assert.deepStrictEqual(await published(), missing)
      done(await ask("POST", "/secrets", { name: secretName, type: "text", value: "right" }))
      assert.deepStrictEqual(await published(), [])
      const again = await ask("PUT", `/workflows/${id}`, { spec: specOf({ type, secretName }) })
      assert.deepStrictEqual(told(done(again).warnings), [])
    }
  })

  it("is as good as one of another workspace, of another customer, or out of the key's scope", async () => {
    const { id } = done(await ask("POST", "/customers", { name: "Another" }))
    done(await ask("POST", "/secrets", { name: "OF_ANOTHER", type: "text", value: "x", customerId: id }))
    const subset = await makeKey(svc, { customers: { mode: "subset", ids: [svc.first.customerId] } })
    const own = { customerId: svc.first.customerId }
    const auth = { type: "bearer", secretName: "OF_ANOTHER" }
    assert.deepStrictEqual(told(done(await save(auth, own, subset.key)).warnings), missing)
    assert.deepStrictEqual(told(done(await save(auth)).warnings), [])
    const allowed = done(await ask("POST", "/secrets", { name: "ALLOWED", type: "text", value: "x" }))
    const narrow = await makeScopedKey(svc, { secret: [allowed.id] })
    assert.deepStrictEqual(told(done(await save(auth, {}, narrow.key)).warnings), missing)
    assert.deepStrictEqual(
      told(done(await save({ type: "bearer", secretName: "ALLOWED" }, {}, narrow.key)).warnings),
      []
    )
    const other = await svc.organisation("Other")
    assert.deepStrictEqual(told(done(await save(auth, {}, other.key)).warnings), missing)
  })
})

describe("A workflow that does not exist", () => {
  const assertRefused = ({ body, status, text }: Answer) =>
    assert.deepStrictEqual([status, told(body.details ?? [])], [422, ["spec.customAuth.workflowId NOT_FOUND"]], text)
  const checker = async () =>
    done(
      await ask("POST", "/workflows", {
        name: `checks_${++names}`,
        form: "code",
        code: "export default async () => ({ allow: true })"
      })
    ).id as string

  it("is refused when the flow is saved, like one of another workspace", async () => {
    assertRefused(await save({ type: "workflow", workflowId: "wf_0123456789ab" }))
    const other = await svc.organisation("Other")
    assertRefused(await save({ type: "workflow", workflowId: await checker() }, {}, other.key))
    assert.deepStrictEqual(done(await save({ type: "workflow", workflowId: await checker() })).warnings, [])
  })

  it("is refused when the flow is published, if it has been deleted since", async () => {
    const workflowId = await checker()
    const { id } = done(await save({ type: "workflow", workflowId }))
    assert.strictEqual((await ask("DELETE", `/workflows/${workflowId}`)).status, 204)
    assertRefused(await ask("POST", `/workflows/${id}/publish`, {}))
    assert.isNull(done(await ask("GET", `/workflows/${id}`)).publishedVersion)
  })
})
