/** A guest that computes long, or many guests of one tenant, do not delay other tenants' guests. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { begin, doneEvent, effectSandbox, end, limits, program, startEvent, type Turn } from "../support/guests.js"
import { announce } from "../support/LogExpectations.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()

const patient = { ...limits, cpuPerStepMillis: 3_000 }
/** Computes for longer than a test may take. */
const tireless = { ...limits, cpuPerStepMillis: 600_000 }
const endless = (tenant: string, within = patient) =>
  Effect.flatMap(effectSandbox, (sandbox) =>
    Effect.flip(sandbox.start(program("for (;;);", tenant), within, startEvent()))
  )
/** Starts again when its turn was moved, as a run does. */
const short = (tenant: string) =>
  Effect.flatMap(effectSandbox, (sandbox) =>
    sandbox.start(program("return ctx.input", tenant), limits, startEvent({ input: 7 }))
  ).pipe(Effect.retry({ times: 5, while: ({ _tag }) => _tag === "SessionLost" }))

const assertComputing = <A, E>(attack: Fiber.RuntimeFiber<A, E>) =>
  Effect.map(Fiber.poll(attack), (ended) =>
    assert.isTrue(Option.isNone(ended), `the attacker's turn had ended first: ${JSON.stringify(ended)}`)
  )

let started: () => ReadonlyArray<number> = () => []
/** The runner of a guest, which the port does not reveal. */
const runnerOf = ({ session }: Turn) => (session.guest as unknown as { readonly runner: unknown }).runner
const onStarted = (pids: () => ReadonlyArray<number>) => {
  started = pids
}

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: true, startsAll: true, onStarted }), {
  excludeTestServices: true
})("while one tenant's guest computes", (it) => {
  it.effect("another tenant's starts beside it also while it pauses, and is not lost when it continues", () =>
    Effect.gen(function* () {
      yield* short("org_warm")
      while (started().length < 2) yield* Effect.sleep("50 millis")
      const long = "for (let i = 0; i < 1e7; i++); return 1"
      yield* Effect.flatMap(effectSandbox, (sandbox) => sandbox.start(program(long, "org_evil"), patient, startEvent()))
      const waiting = yield* begin(`return await svc.state.get("k")`, {}, limits, "org_victim")
      const attack = yield* Effect.fork(endless("org_evil"))
      yield* Effect.sleep("100 millis")
      assert.deepStrictEqual(end(yield* waiting.session.feed([doneEvent(0, 1)])), { t: "ret", v: 1 })
      assert.strictEqual((yield* Fiber.join(attack))._tag, "CpuLimit")
    })
  )

  it.effect("another tenant's starts on another runner at once", () =>
    Effect.gen(function* () {
      yield* short("org_warm")
      while (started().length < 2) yield* Effect.sleep("50 millis")
      const attack = yield* Effect.fork(endless("org_evil", tireless))
      yield* Effect.sleep("100 millis")
      for (let n = 0; n < 10; n++) assert.deepStrictEqual(end(yield* short("org_victim")), { t: "ret", v: 7 })
      yield* assertComputing(attack)
      // Its guest computes on until the pool ends: no other test uses this one.
      yield* Fiber.interrupt(attack)
    })
  )
})

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: true, startsAll: true, onStarted }), {
  excludeTestServices: true
})("when a tenant's guest begins to compute where another's waits", (it) => {
  it.effect("the other's turn is moved, and replayed on another runner", () =>
    Effect.gen(function* () {
      // The spare runner replays the turn.
      while (started().length < 2) yield* Effect.sleep("50 millis")
      // Both are in one runner. On a busy machine one may have been placed on another runner, or moved already.
      const [waiting, attacker]: readonly [Turn, Turn] = yield* Effect.all(
        [
          begin(`return await svc.state.get("k")`, {}, limits, "org_victim"),
          begin(`await svc.state.get("k"); for (;;);`, {}, patient, "org_evil")
        ],
        { concurrency: 2 }
      ).pipe(
        Effect.retry({ times: 50, while: ({ _tag }) => _tag === "SessionLost" }),
        Effect.repeat({ until: ([one, other]) => runnerOf(one) === runnerOf(other) })
      )
      const attack = yield* Effect.fork(Effect.flip(attacker.session.feed([doneEvent(0, 1)])))
      yield* Effect.sleep("20 millis")
      const lost = yield* Effect.flip(waiting.session.feed([doneEvent(0, 1)]))
      assert.deepInclude(lost, { _tag: "SessionLost", reason: "evicted" })
      assert.isNull(yield* Fiber.poll(attack).pipe(Effect.map(Option.getOrNull)), "the attacker's turn had ended first")
      assert.strictEqual((yield* Fiber.join(attack))._tag, "CpuLimit")
    })
  )
})

layer(sandboxLayer({ runnerPath: runner, runners: 2, spare: true, onStarted }), { excludeTestServices: true })(
  "a pool of two runners and a spare one",
  (it) => {
    it.effect("has one runner until turns wait for each other, replaces it, and then starts the others", () =>
      Effect.gen(function* () {
        for (let n = 0; n < 20; n++) yield* short("org_one")
        yield* Effect.sleep("200 millis")
        const [first = 0, ...others] = started()
        assert.deepStrictEqual(others, [])

        announce(/"sandbox\.runner_replaced"/, { required: true })
        process.kill(first, "SIGKILL")
        while (started().length === 0 || started().includes(first)) yield* Effect.sleep("10 millis")
        assert.deepStrictEqual(end(yield* short("org_one")), { t: "ret", v: 7 })
        assert.strictEqual(started().length, 1)

        const attack = yield* Effect.fork(endless("org_evil", tireless))
        yield* Effect.sleep("20 millis")
        assert.deepStrictEqual(end(yield* short("org_victim")), { t: "ret", v: 7 })
        yield* assertComputing(attack)
        while (started().length < 3) yield* Effect.sleep("10 millis")
        yield* Fiber.interrupt(attack)
      })
    )
  }
)
