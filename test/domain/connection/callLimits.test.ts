import { assert, describe, it } from "@effect/vitest"
import { nextBlockedUntil } from "../../../src/domain/connection/CallLimits.js"

const nothing = { limit: null, remaining: null, resetAt: null, retryAfterAt: null }

describe("the provider's quota", () => {
  it.each([
    ["Retry-After stops all calls until then", { retryAfterAt: 5_000 }, 5_000],
    ["no calls left stop them until the reset", { remaining: 0, resetAt: 7_000 }, 7_000],
    ["calls left do not", { remaining: 1, resetAt: 7_000 }, 0],
    ["nobody stops them for more than a day", { retryAfterAt: 1e15 }, 1_000 + 86_400_000]
  ] as const)("%s", (_, reading, until) =>
    assert.strictEqual(nextBlockedUntil(0, { ...nothing, ...reading }, 1_000), until)
  )
  it("a later answer without a quota does not shorten the pause", () => {
    assert.strictEqual(nextBlockedUntil(5_000, nothing, 1_500), 5_000)
    assert.strictEqual(nextBlockedUntil(5_000, null, 1_500), 5_000)
  })
})
