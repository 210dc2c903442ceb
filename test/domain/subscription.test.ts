/** What a provider says of a subscription that it refuses. */
import { assert, describe, it } from "@effect/vitest"
import { scrubRefusal } from "../../src/domain/trigger/Subscription.js"

const secret = "whsec_2SIMeMPFRQ6fXoTJ2yO7eqdxXf6kiKdBJ7C3LY4t2s8="

describe("the message of a refusal", () => {
  it("shows no part of the subscription's secret, also where it was cut", () => {
    const whole = scrubRefusal(`bad secret ${secret} for this address`, secret)
    assert.match(whole, /^bad secret \[redacted\]/)
    assert.notInclude(whole, secret.slice(0, 10))
    assert.strictEqual(scrubRefusal(`bad secret ${secret.slice(0, 20)}`, secret), "bad secret [redacted]")
    assert.strictEqual(scrubRefusal("what is now", secret), "what is now")
  })
})
