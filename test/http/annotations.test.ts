import { assert, describe, it } from "@effect/vitest"
import { operations as routes } from "../support/operations.js"

describe("every endpoint of every surface", () => {
  it("there are endpoints to look at", () => assert.isAbove(routes.length, 30))

  it.each(routes)("$method $path declares its permission and its audit policy", ({ audit, permit }) => {
    assert.isDefined(permit)
    assert.isDefined(audit)
    if (audit?._tag === "NotAudited") assert.isAbove(audit.reason.length, 10)
  })

  it.each(routes)("$method $path says what of it all customers share", ({ method, sharing }) => {
    assert.isDefined(sharing)
    // A read changes nothing.
    if (method === "GET") assert.notStrictEqual(sharing, "change")
  })

  it.each(routes.filter(({ method }) => method !== "GET"))(
    "$method $path changes things and is recorded as an action",
    ({ audit }) => {
      assert.strictEqual(audit?._tag, "Audited")
      if (audit?._tag === "Audited") assert.match(audit.action, /^[a-z_]+(?:\.[a-z_]+){1,2}$/)
    }
  )

  it("no two endpoints have the same method and path", () => {
    const places = routes.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ":")}`)
    assert.deepStrictEqual(
      places.filter((place, at) => places.indexOf(place) !== at),
      []
    )
  })
})
