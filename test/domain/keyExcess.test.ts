/** No key creates or changes a key that is wider in any attribute. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { keyExcess, type KeyBounds } from "../../src/domain/access/KeyBounds.js"
import { allPermissions } from "../../src/domain/access/Permission.js"
import { make } from "../../src/runtime/process/Addresses.js"

const { covers } = make([])
const ranges = ["192.0.2.0/24", "192.0.2.0/28", "192.0.2.7", "10.0.0.0/8", "2001:db8::/32", "::ffff:192.0.2.0/120"]
const times = ["2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z", "2029-01-01T00:00:00.000Z"]
const ids = ["a", "b", "c"]

const setOf = <A>(values: ReadonlyArray<A>) => fc.subarray([...values]).map((list) => new Set(list))

const bounds: fc.Arbitrary<KeyBounds> = fc.record({
  mode: fc.constantFrom("test", "live"),
  permissions: setOf(allPermissions.slice(0, 6)),
  customers: fc.oneof(fc.constant("all" as const), setOf(ids)),
  hmac: fc.boolean(),
  resourceScope: fc.array(
    fc.record({
      type: fc.constantFrom("workflow", "connector"),
      ids: fc.subarray(ids, { minLength: 1 })
    }),
    { maxLength: 3 }
  ),
  allowedIps: fc.subarray(ranges),
  rateLimit: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 4 })),
  expiresAt: fc.oneof(fc.constant(null), fc.constantFrom(...times))
})

const unbounded: KeyBounds = {
  mode: "live",
  permissions: new Set(allPermissions),
  customers: "all",
  hmac: false,
  resourceScope: [],
  allowedIps: [],
  rateLimit: null,
  expiresAt: null
}
const bounded: KeyBounds = {
  ...unbounded,
  mode: "test",
  customers: new Set(["a"]),
  hmac: true,
  resourceScope: [{ type: "workflow", ids: ["a", "b"] }],
  allowedIps: ["192.0.2.0/24", "2001:db8::/32"],
  rateLimit: 10,
  expiresAt: "2028-01-01T00:00:00.000Z"
}

describe("a key is within another", () => {
  it.prop("itself", [bounds], ([one]) => {
    assert.isUndefined(keyExcess(one, one, "key", covers))
  })

  it.prop("and within all that the other is within", [bounds, bounds, bounds], ([a, b, c]) => {
    if (keyExcess(a, b, "key", covers) === undefined && keyExcess(b, c, "key", covers) === undefined)
      assert.isUndefined(keyExcess(a, c, "key", covers))
  })

  it.prop("any key, within one without bounds", [bounds], ([one]) => {
    assert.isUndefined(keyExcess(one, unbounded, "key", covers))
  })

  const wider: ReadonlyArray<readonly [string, Partial<KeyBounds>]> = [
    ["mode", { mode: "live" }],
    ["customers", { customers: "all" }],
    ["customers", { customers: new Set(["a", "b"]) }],
    ["hmac", { hmac: false }],
    ["allowedIps", { allowedIps: [] }],
    ["allowedIps", { allowedIps: ["192.0.2.0/23"] }],
    ["allowedIps", { allowedIps: ["192.0.2.1", "192.0.3.1"] }],
    ["allowedIps", { allowedIps: ["0.0.0.0/0"] }],
    ["allowedIps", { allowedIps: ["2001:db8::/31"] }],
    ["rateLimitPerMinute", { rateLimit: null }],
    ["rateLimitPerMinute", { rateLimit: 11 }],
    ["expires", { expiresAt: null }],
    ["expires", { expiresAt: "2028-01-01T00:00:00.001Z" }],
    ["resourceScope", { resourceScope: [] }],
    ["resourceScope", { resourceScope: [{ type: "connector", ids: ["a"] }] }],
    ["resourceScope", { resourceScope: [{ type: "workflow", ids: ["a", "c"] }] }]
  ]
  it.each(wider)("is refused when it is wider in %s: %j", (attribute, more) => {
    const refused = keyExcess({ ...bounded, ...more }, bounded, "key", covers)
    assert.deepStrictEqual([refused?._tag, refused?.path], ["Forbidden", attribute])
  })

  it("names the permission that the other does not have", () => {
    const held = { ...bounded, permissions: new Set(allPermissions.slice(1)) }
    const refused = keyExcess({ ...bounded, permissions: new Set(allPermissions) }, held, "key", covers)
    assert.deepStrictEqual([refused?.path, refused?.needs], ["permissions", allPermissions[0]])
  })

  it("may be narrower in each", () => {
    const narrower: KeyBounds = {
      ...bounded,
      allowedIps: ["192.0.2.128/25", "::ffff:192.0.2.4"],
      rateLimit: 9,
      expiresAt: "2027-01-01T00:00:00.000Z",
      resourceScope: [
        { type: "workflow", ids: ["b"] },
        { type: "connector", ids: ["x"] }
      ]
    }
    assert.isUndefined(keyExcess(narrower, bounded, "key", covers))
  })
})
