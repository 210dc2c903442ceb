import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { RetryRule } from "../../../src/domain/connector/Definition.js"
import { retryPause } from "../../../src/domain/connector/request/Retry.js"

describe("the pause before another attempt", () => {
  const retry = Schema.decodeSync(RetryRule)({})
  const failed = (more: object = {}) => ({
    category: "transient" as const,
    status: 503,
    message: "",
    code: null,
    body: null,
    retryAfterMillis: null,
    ...more
  })

  it("grows as the rule says, within its bounds, and ends after the last attempt", () => {
    const still = { ...retry, jitter: 0 }
    assert.deepStrictEqual(
      [1, 2, 3, 4].map((n) => retryPause(still, n, failed(), 0)),
      [500, 1_000, 2_000, null]
    )
    assert.deepStrictEqual(
      [1, 2, 3].map((n) => retryPause({ ...still, backoff: "linear" }, n, failed(), 0)),
      [500, 1_000, 1_500]
    )
    assert.strictEqual(retryPause({ ...still, maxMs: 700 }, 3, failed(), 0), 700)
    assert.strictEqual(retryPause({ ...still, backoff: "fixed" }, 3, failed(), 0.9), 500)
    assert.deepStrictEqual(
      [0, 0.5, 0.999].map((chance) => retryPause(retry, 1, failed(), chance)),
      [400, 500, 600]
    )
  })

  it("is at least the provider's retry-after", () =>
    assert.strictEqual(retryPause(retry, 1, failed({ retryAfterMillis: 45_000 }), 0.5), 45_000))

  it.each([
    [{ status: null }, true],
    [{ status: 200 }, true],
    [{ status: 500 }, false],
    [{ status: 429 }, true],
    [{ category: "provider", status: 429 }, false],
    [{ category: "provider", status: 503 }, false],
    [{ status: 403 }, true],
    [{ category: "provider", status: 403 }, false],
    [{ category: "auth", status: 401 }, false],
    [{ category: "provider", status: 200 }, false],
    [{ category: "provider", status: 404 }, false],
    [{ category: "timeout", status: null }, false]
  ])("%j is tried again: %s", (more, again) =>
    assert.strictEqual(retryPause(retry, 1, failed(more), 0.5) !== null, again)
  )
})
