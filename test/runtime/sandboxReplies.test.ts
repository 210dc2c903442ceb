/** A runner sends the answers of short turns together: none comes late, and none is lost for another guest's fault. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Either, Fiber } from "effect"
import type { SandboxFailure } from "../../src/actors/ports/run/Sandbox.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { begin, doneEvent, limits, type Turn } from "../support/guests.js"
import { announce } from "../support/LogExpectations.js"
import { bundleRunner } from "../support/sandboxRunner.js"

const runner = bundleRunner()

const quick = { memoryBytes: 32 * 1024 * 1024, cpuPerStepMillis: 200 }
const short = `return ["answered", await svc.state.get("k")]`
/** Computes in one native call, which checks for no interrupt, and thus sends nothing. */
const hang = `await svc.state.get("k"); const a = "a".repeat(2 ** 21); return (a + "b").lastIndexOf("a".repeat(2 ** 20) + "c") + a.indexOf("a".repeat(2 ** 20) + "b")`

const pool = () => {
  let pids: () => ReadonlyArray<number> = () => []
  const layer = sandboxLayer({
    runnerPath: runner,
    runners: 1,
    spare: false,
    onStarted: (of) => {
      pids = of
    }
  })
  return { layer, runnerPid: () => pids()[0] ?? assert.fail("there is no runner") }
}

/** Computes so for a second. */
const slow = `await svc.state.get("k"); const a = "a".repeat(2 ** 14) + "b", b = "a".repeat(2 ** 13) + "c"; return a.lastIndexOf(b) + a.lastIndexOf(b)`

type Fed = Either.Either<Turn, SandboxFailure>

/** Feeds all sessions in one turn of the event loop, in this order. */
const feedTogether = (turns: ReadonlyArray<Turn>) =>
  Effect.forkAll(turns.map(({ session }) => Effect.either(session.feed([doneEvent(0, 1)]))))

describe("Answers of short turns", () => {
  it.live("do not wait until a guest behind them has computed", () => {
    const { layer } = pool()
    return Effect.gen(function* () {
      const [one, other] = [
        yield* begin(short),
        // It computes for longer than a test may take.
        yield* begin(`await svc.state.get("k"); for (;;);`, {}, { ...limits, cpuPerStepMillis: 600_000 })
      ]
      const answer = yield* Effect.async<string>((resume) => {
        one.session.guest.feed([doneEvent(0, 1)], ({ _tag }) => resume(Effect.succeed(_tag)))
        other.session.guest.feed([doneEvent(0, 1)], () => undefined)
      })
      assert.strictEqual(answer, "Turn")
    }).pipe(Effect.provide(layer))
  })
})

describe("A guest that computes behind an unsent answer", () => {
  /** An answer is unsent only if its turn was short, which the scheduler of the machine may prevent. */
  const attempts = 10

  /** Warms the pool up, then feeds a run that answers, one with this body, and another that answers, in this order. */
  const feedAround = (body: string, limitsOf = limits, neighbourLimits = limits) =>
    Effect.gen(function* () {
      for (let i = 0; i < 50; i++) yield* (yield* begin(short)).session.feed([doneEvent(0, 1)])
      return yield* feedTogether([
        yield* begin(short, {}, neighbourLimits),
        yield* begin(body, {}, limitsOf),
        yield* begin(short)
      ])
    })

  const outcome = (fed: Fed) =>
    fed._tag === "Right" ? "answered" : fed.left._tag === "SessionLost" ? fed.left.reason : fed.left._tag

  it.live("fails alone if it hangs: the run with the answer is replayed, and not suspected", () => {
    const { layer } = pool()
    return Effect.gen(function* () {
      for (let i = 0; i < attempts; i++) {
        announce(/"sandbox\.runner_replaced"/, { required: true })
        const [before, culprit, behind] = (yield* Effect.flatMap(feedAround(hang, quick), Fiber.join)).map(outcome)
        assert.deepStrictEqual([culprit, behind], ["CpuLimit", "runnerDied"])
        if (before === "runnerDied") return
        assert.strictEqual(before, "answered")
      }
      assert.fail("every answer was sent before the guest behind it began")
    }).pipe(Effect.provide(layer))
  })

  it.live("is the one that was at work if its runner is killed", () => {
    const { layer, runnerPid } = pool()
    return Effect.gen(function* () {
      for (let i = 0; i < attempts; i++) {
        announce(/"sandbox\.runner_replaced"/, { required: true })
        const fibers = yield* feedAround(hang)
        yield* Effect.sleep("100 millis")
        process.kill(runnerPid(), "SIGKILL")
        const [before, culprit, behind] = (yield* Fiber.join(fibers)).map(outcome)
        assert.deepStrictEqual([culprit, behind], ["diedAtWork", "runnerDied"])
        if (before === "runnerDied") return
        assert.strictEqual(before, "answered")
      }
      assert.fail("every answer was sent before the guest behind it began")
    }).pipe(Effect.provide(layer))
  })

  it.live("has its own time, however little the run with the answer has", () => {
    const { layer } = pool()
    return Effect.gen(function* () {
      for (let i = 0; i < 2; i++) {
        const ample = { ...limits, cpuPerStepMillis: 60_000 }
        const fibers = yield* feedAround(slow, ample, { ...quick, cpuPerStepMillis: 50 })
        const outcomes = (yield* Fiber.join(fibers)).map(outcome)
        assert.deepStrictEqual(outcomes, ["answered", "answered", "answered"])
      }
    }).pipe(Effect.provide(layer))
  })
})
