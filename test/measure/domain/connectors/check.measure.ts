/** A definition is compared with a provider's document in a time by its size. */
import { assert, it } from "@effect/vitest"
import { compare, largeOpenApi } from "../../../support/comparedConnector.js"
import { assertWithin } from "../../../support/pace.js"

it("a large document, and schemas that fan out, take no longer than their size", () => {
  const started = performance.now()
  assert.strictEqual(compare(largeOpenApi).compared, 3)
  assertWithin(performance.now() - started, 5_000, "a comparison with 20,000 operations")
})
