/** A provider's limit is never exceeded, whatever nodes lease, use, report or lose by dying. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import type { CallLimits } from "../../../src/domain/connection/CallLimits.js"
import {
  type CallLease,
  leaseCalls,
  observeQuota,
  reportUse,
  type LeaseTerms,
  type SharedState,
  sharedTerms,
  soleTerms,
  unusedState
} from "../../../src/domain/connection/CallLeases.js"

const limits: CallLimits = { requests: 10, perMillis: 1_000, concurrency: null }
const asked = (id: string, wanted = 16) => ({ id, wanted, timeoutMillis: 30_000 })

/** A node leases calls, makes some of them in time, and usually reports them. */
const step = FastCheck.record({
  pause: FastCheck.integer({ min: 0, max: 300 }),
  wanted: FastCheck.integer({ min: 1, max: 20 }),
  uses: FastCheck.integer({ min: 0, max: 20 }),
  /** The time of its last call, before the end of the lease. */
  late: FastCheck.integer({ min: 0, max: sharedTerms.millis - 1 }),
  reports: FastCheck.boolean()
})

describe("a provider's limit over all connections", () => {
  it.each([
    ["of many nodes", sharedTerms],
    ["of one owner after the other", soleTerms(limits)]
  ] as const)("is never exceeded in any window, even if nodes die with leases: %s", (_, terms: LeaseTerms) => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(step, { maxLength: 150 }),
        FastCheck.integer({ min: 1, max: 20 }),
        (steps, n) => {
          const rule = { ...limits, requests: n }
          let state: SharedState = unusedState
          let now = 0
          const calls: Array<number> = []
          const reports: Array<{ readonly made: CallLease; readonly used: number; readonly lastAt: number }> = []
          steps.forEach(({ late, pause, reports: tells, uses, wanted }, i) => {
            now += pause
            for (const one of reports.filter(({ made }) => made.at <= now)) {
              state = reportUse(rule, state, { id: one.made.id, used: one.used, lastAt: one.lastAt }, now)
              reports.splice(reports.indexOf(one), 1)
            }
            const answer = leaseCalls(rule, state, asked(`l${i}`, wanted), now, terms)
            state = answer.state
            if (answer._tag === "WaitUntil") return assert.isAbove(answer.at, now)
            const used = Math.min(uses, answer.lease.count)
            for (let k = 0; k < used; k++) calls.push(now + late)
            if (tells) reports.push({ made: answer.lease, used, lastAt: now + late })
          })
          for (const from of calls)
            assert.isAtMost(calls.filter((at) => at >= from && at < from + rule.perMillis).length, n)
        }
      )
    )
  })

  it("is used to the full: what a node does not use, others get", () => {
    let state: SharedState = unusedState
    let got = 0
    for (let i = 0; got < 10; i++) {
      const answer = leaseCalls(limits, state, asked(`l${i}`), i)
      assert.strictEqual(answer._tag, "Leased")
      if (answer._tag !== "Leased") return
      // Every second lease is unused.
      const used = i % 2 === 0 ? answer.lease.count : 0
      got += used
      state = reportUse(limits, answer.state, { id: answer.lease.id, used, lastAt: i }, i)
    }
    const last = leaseCalls(limits, state, asked("last"), 100)
    assert.strictEqual(last._tag, "WaitUntil")
    assert.strictEqual(leaseCalls(limits, state, asked("later"), 1_020)._tag, "Leased")
  })

  it("is leased by its only owner at once, and says when there is more", () => {
    const day = { ...limits, perMillis: 86_400_000 }
    const terms = soleTerms(day)
    const first = leaseCalls(day, unusedState, asked("a"), 0, terms)
    assert.isTrue(first._tag === "Leased" && first.lease.count === 10 && first.lease.at === 5_000)
    const over = reportUse(day, first.state, { id: "a", used: 10, lastAt: 3 }, 10)
    assert.deepInclude(leaseCalls(day, over, asked("b"), 10, terms), { _tag: "WaitUntil", at: 86_400_003 })
    assert.strictEqual(leaseCalls(day, over, asked("b"), 86_400_003, terms)._tag, "Leased")
  })

  it("keeps a bounded state", () => {
    let state: SharedState = unusedState
    for (let at = 0; at < 1_000_000; at += 100) {
      const answer = leaseCalls({ ...limits, requests: 1_000_000 }, state, asked(`l${at}`, 1), at)
      state = reportUse(limits, answer.state, { id: `l${at}`, used: 1, lastAt: at }, at)
    }
    assert.isAtMost(state.used.length, 18)
    assert.lengthOf(state.leases, 0)
  })

  it("of calls in flight counts a call until it is known to have ended", () => {
    const rule: CallLimits = { requests: null, perMillis: 1_000, concurrency: 2 }
    const first = leaseCalls(rule, unusedState, asked("a"), 0)
    const second = leaseCalls(rule, first.state, asked("b"), 0)
    assert.strictEqual(leaseCalls(rule, second.state, asked("c"), 20_000)._tag, "WaitUntil")
    const over = reportUse(rule, second.state, { id: "a", used: 1, lastAt: 0 }, 20_000)
    assert.strictEqual(leaseCalls(rule, over, asked("d"), 20_000)._tag, "Leased")
    // The timeout of the call and the time for its report have passed.
    assert.strictEqual(leaseCalls(rule, second.state, asked("e"), 36_000)._tag, "Leased")
  })

  it("follows the provider's quota", () => {
    const reading = { limit: null, remaining: null, resetAt: null, retryAfterAt: 30_000 }
    const told = observeQuota(unusedState, reading, 0)
    assert.deepInclude(leaseCalls(limits, told, asked("a"), 29_999), { _tag: "WaitUntil", at: 30_000 })
    assert.strictEqual(leaseCalls(limits, told, asked("a"), 30_000)._tag, "Leased")
  })
})
