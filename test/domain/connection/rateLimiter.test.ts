import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import {
  releasePermit,
  idleLimiter,
  type CallLimits,
  type LimiterState,
  takePermit
} from "../../../src/domain/connection/RateLimiter.js"

const limits: CallLimits = { requests: 100, perMillis: 10_000, concurrency: null }
const lease = 60_000
const nothing = { limit: null, remaining: null, resetAt: null, retryAfterAt: null }

/** Takes a permit at each of these times; the times of granted ones. */
const grants = (rule: CallLimits, times: ReadonlyArray<number>): ReadonlyArray<number> => {
  let state: LimiterState = idleLimiter
  return times.filter((at, i) => {
    const taken = takePermit(rule, state, `p${i}`, at, lease)
    state = taken.state
    return taken._tag === "Granted"
  })
}

describe("a provider's rate limit", () => {
  it("is used to the full at once", () =>
    assert.lengthOf(
      grants(
        limits,
        Array.from({ length: 150 }, () => 0)
      ),
      100
    ))

  it("is never exceeded in any window, whenever the calls come", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 20 }),
        FastCheck.array(FastCheck.integer({ min: 0, max: 400 }), { maxLength: 300 }),
        (requests, pauses) => {
          let at = 0
          const times = pauses.map((pause) => (at += pause))
          const granted = grants({ requests, perMillis: 1_000, concurrency: null }, times)
          for (const from of granted)
            assert.isAtMost(granted.filter((time) => time >= from && time < from + 1_000).length, requests)
        }
      )
    )
  })

  it("says when to ask again, and then grants", () => {
    let state: LimiterState = idleLimiter
    for (let i = 0; i < 100; i++) state = takePermit(limits, state, `p${i}`, 0, lease).state
    const refused = takePermit(limits, state, "late", 1, lease)
    assert.strictEqual(refused._tag, "WaitUntil")
    if (refused._tag !== "WaitUntil") return
    assert.strictEqual(takePermit(limits, refused.state, "late", refused.at, lease)._tag, "Granted")
    assert.strictEqual(takePermit(limits, refused.state, "late", refused.at - 1, lease)._tag, "WaitUntil")
  })

  it("keeps a bounded state", () => {
    let state: LimiterState = idleLimiter
    for (let at = 0; at < 1_000_000; at += 100) {
      const taken = takePermit({ ...limits, requests: 1_000_000 }, state, `p${at}`, at, 1)
      state = releasePermit(taken.state, `p${at}`, null, at)
    }
    assert.isAtMost(state.slots.length, 18)
    assert.strictEqual(state.leases.size, 0)
  })
})

describe("calls at once", () => {
  const two: CallLimits = { requests: null, perMillis: 1_000, concurrency: 2 }
  it("are as many as the provider takes, and a permit comes back with its call", () => {
    let state = takePermit(two, idleLimiter, "a", 0, lease).state
    state = takePermit(two, state, "b", 0, lease).state
    assert.strictEqual(takePermit(two, state, "c", 0, lease)._tag, "WaitUntil")
    assert.strictEqual(takePermit(two, releasePermit(state, "a", null, 0), "c", 0, lease)._tag, "Granted")
  })
  it("a lost permit expires", () => {
    let state = takePermit(two, idleLimiter, "a", 0, 500).state
    state = takePermit(two, state, "b", 0, 500).state
    assert.strictEqual(takePermit(two, state, "c", 499, lease)._tag, "WaitUntil")
    assert.strictEqual(takePermit(two, state, "c", 500, lease)._tag, "Granted")
  })
})

describe("the provider's quota", () => {
  const after = (reading: Partial<typeof nothing> | { readonly [name: string]: number }) =>
    releasePermit(idleLimiter, "p", { ...nothing, ...reading }, 1_000)
  it.each([
    ["Retry-After stops all calls until then", { retryAfterAt: 5_000 }, 5_000],
    ["no calls left stop them until the reset", { remaining: 0, resetAt: 7_000 }, 7_000],
    ["calls left do not", { remaining: 1, resetAt: 7_000 }, 0],
    ["nobody stops them for more than a day", { retryAfterAt: 1e15 }, 1_000 + 86_400_000]
  ] as const)("%s", (_, reading, until) => {
    const state = after(reading)
    assert.strictEqual(state.blockedUntil, until)
    const taken = takePermit({ ...limits, requests: null }, state, "q", 1_001, lease)
    assert.strictEqual(taken._tag, until === 0 ? "Granted" : "WaitUntil")
  })
  it("a later answer without a quota does not shorten the pause", () =>
    assert.strictEqual(releasePermit(after({ retryAfterAt: 5_000 }), "p", nothing, 1_500).blockedUntil, 5_000))
})
