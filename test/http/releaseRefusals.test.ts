/** A release of nothing, and a rollback that would take away what was deployed since, are refused, and change nothing. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Answer, Running } from "../support/InProcess.js"
import { done, pin, releaseClient } from "../support/releaseClient.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
const { ask, askB, environment, made, newKey, publish, runs, unique, workflow } = releaseClient(() => svc)

beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

describe("a rollback that takes away what was deployed since", () => {
  const refusalOf = ({ body, status }: Answer) => [
    status,
    body.code,
    body.details.map(({ code, message, path }: Detail) => [path, code, message.split(" ")[0]])
  ]
  interface Detail {
    readonly path: string
    readonly code: string
    readonly message: string
  }

  it("is refused with the names of the workflows, changes nothing, and is done with remove: true", async () => {
    const { id, slug } = await environment()
    const [a, b] = [await workflow("a1"), await workflow("b1")]
    await made("/releases", { workflows: [pin(a, 1), pin(b, 1)], environment: slug })
    await publish(a, "a2")
    const release = await made("/releases", { workflows: [pin(a, 2)], environment: slug })
    done(await ask("PUT", `/environments/${id}`, { autoDeploy: true }))
    const names = { later: unique(), b: "" }
    const later = await workflow("later1", { name: names.later })
    await publish(b, "b2")
    names.b = done(await ask("GET", `/workflows/${b}`)).name
    const seen = async () => [await runs(a, slug), await runs(b, slug), await runs(later, slug)]
    const before = await seen()
    assert.deepStrictEqual(before, ["a2", "b2", "later1"])
    const target = `/releases/${release.id}/rollback`
    for (const body of [{ environment: slug }, { environment: slug, remove: false }]) {
      const refused = await ask("POST", target, body)
      const details = [names.b, names.later].toSorted().map((name) => ["remove", "WOULD_REMOVE", name])
      assert.deepStrictEqual(refusalOf(refused), [409, "CONFLICT", details])
      assert.include(refused.body.message, names.later)
      assert.deepStrictEqual(await seen(), before)
    }
    done(await ask("POST", target, { environment: slug, remove: true }))
    assert.deepStrictEqual(await seen(), ["a1", "b1", "WORKFLOW_NOT_DEPLOYED"])
  })

  it("is refused for a version of its own workflow that was published since", async () => {
    const { id, slug } = await environment({ autoDeploy: true })
    const a = await workflow("a1")
    const release = await made("/releases", { workflows: [pin(a, 1)], environment: slug })
    await publish(a, "a2")
    const target = `/releases/${release.id}/rollback`
    // It had version 1 before, too.
    assert.strictEqual((await ask("POST", target, { environment: slug })).status, 409)
    assert.strictEqual(await runs(a, slug), "a2")
    done(await ask("PUT", `/environments/${id}`, { autoDeploy: false }))
    done(await ask("POST", target, { environment: slug, remove: true }))
    assert.strictEqual(await runs(a, slug), "a1")
  })

  it("tells a key that does not reach the workflow nothing of it", async () => {
    const { id, slug } = await environment()
    const a = await workflow("a1")
    const release = await made("/releases", { workflows: [pin(a, 1)], environment: slug })
    done(await ask("PUT", `/environments/${id}`, { autoDeploy: true }))
    const hidden = unique()
    await workflow("b1", { name: hidden })
    const { key: narrow } = await newKey({ resourceScope: [{ type: "workflow", ids: [a] }] })
    const refused = await ask("POST", `/releases/${release.id}/rollback`, { environment: slug }, narrow)
    assert.strictEqual(refused.status, 403, refused.text)
    assert.notInclude(refused.text, `"${hidden} `)
  })
})

describe("a release of nothing", () => {
  it("is refused on both surfaces", async () => {
    const refused = await ask("POST", "/releases", { workflows: [] })
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, "workflows"], refused.text)
    assert.strictEqual((await askB("POST", "/releases", { workflows: [] })).status, 400)
  })
})
