/** A stored job that fails is set aside after three tries, and fails no other job and not its task. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, TestClock } from "effect"
import { makeStoredJobs } from "../../src/actors/StoredJobs.js"
import { Unavailable } from "../../src/domain/Failure.js"
import { makeFailedJobs } from "../support/failedJobs.js"
import { announce } from "../support/LogExpectations.js"

const jobs = ["a", "bad", "b", "worse", "c"]
const toJob = (id: string) => ({ id, organisationId: "org_1" })

const makeWorld = (isAway = () => false) => {
  const store = makeFailedJobs(() =>
    isAway() ? new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 }) : undefined
  )
  const done: Array<string> = []
  const broken = new Set(["bad", "worse"])
  const work = (id: string) =>
    Effect.suspend(() => {
      if (id === "worse" && broken.has(id)) throw new Error("a defect")
      done.push(id)
      return broken.has(id) ? Effect.fail("refused") : Effect.void
    })
  return { ...store, broken, done, work, stored: Effect.provide(makeStoredJobs("events.poll", toJob), store.layer) }
}

const announceFailures = () => {
  announce(/background_task\.job_failed.*"bad"/, { required: true })
  announce(/background_task\.job_failed.*"worse"/, { required: true })
}

describe("stored jobs", () => {
  it.effect("run each on its own, whether another fails or dies", () =>
    Effect.gen(function* () {
      announceFailures()
      announce(/background_task\.job_set_aside/, { required: true })
      const { done, failures, stored, work } = makeWorld()
      const { each } = yield* stored
      for (let pass = 0; pass < 5; pass++) yield* each(jobs, work, { concurrency: 2 })
      assert.deepStrictEqual(done.filter((id) => id !== "bad").toSorted(), [..."aaaaabbbbbccccc"])
      assert.strictEqual(done.filter((id) => id === "bad").length, 3, "set aside after three tries")
      assert.deepStrictEqual(Object.fromEntries(failures), { bad: 3, worse: 3 })
    })
  )

  it.effect("that succeed again are no longer counted", () =>
    Effect.gen(function* () {
      announceFailures()
      const { broken, failures, stored, work } = makeWorld()
      const { each } = yield* stored
      yield* each(jobs, work)
      broken.clear()
      yield* each(jobs, work)
      assert.strictEqual(failures.size, 0)
    })
  )

  it.effect("run together, and one at a time when that fails", () =>
    Effect.gen(function* () {
      announceFailures()
      const { done, stored, work } = makeWorld()
      const { together } = yield* stored
      yield* together(["a", "b"], (some) => Effect.forEach(some, work))
      assert.deepStrictEqual(done, ["a", "b"])
      yield* together(jobs, (some) => Effect.forEach(some, work))
      assert.deepStrictEqual(
        done.slice(2).filter((id) => id !== "bad"),
        ["a", "a", "b", "c"]
      )
    })
  )

  it.effect("are not blamed while Postgres is away: the pass fails", () =>
    Effect.gen(function* () {
      let isAway = false
      const { done, failures, stored, work } = makeWorld(() => isAway)
      const { each } = yield* stored
      isAway = true
      for (let pass = 0; pass < 5; pass++) {
        yield* TestClock.adjust("1 minute")
        assert.isTrue(Either.isLeft(yield* Effect.either(each(jobs, work))))
      }
      assert.strictEqual(failures.size, 0)
      isAway = false
      yield* TestClock.adjust("1 minute")
      announceFailures()
      yield* each(jobs, work)
      assert.includeMembers(done, ["a", "b", "c"])
    })
  )
})
