import { assert, describe } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { Effect, Fiber } from "effect"
import type { GuestEvent, GuestOutput } from "../../src/actors/ports/run/Sandbox.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { effectSandbox, begin, calls, doneEvent, end, limits, program, startEvent } from "../support/guests.js"
import { announce } from "../support/LogExpectations.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()
let pids: () => ReadonlyArray<number> = () => []
const pool = sandboxLayer({
  runnerPath: runner,
  runners: 1,
  spare: true,
  liveGuests: 10,
  onStarted: (started) => {
    pids = started
  }
})

const quick = { memoryBytes: 32 * 1024 * 1024, cpuPerStepMillis: 200 }
/** Spends its time inside one native call, which checks for no interrupt. */
const hang = `const a = "a".repeat(2 ** 21); return (a + "b").lastIndexOf("a".repeat(2 ** 20) + "c") + a.indexOf("a".repeat(2 ** 20) + "b")`
const waiting = `const v = await svc.state.get("k"); return ["answered", v]`
const answered: GuestOutput = { t: "ret", v: ["answered", 5] }

layer(pool, { excludeTestServices: true })("limits", (it) => {
  it.effect("a runner whose answers are read late gives all of them", () =>
    Effect.gen(function* () {
      const body = `return "x".repeat(4_000) + ctx.input.n`
      yield* begin(body)
      const started = yield* Effect.forkAll(
        Array.from({ length: 600 }, (_, n) => begin(body, { input: { n } })),
        { discard: false }
      )
      // The turns are sent in the next turn of the event loop; then the runner fills its socket, which nobody reads.
      yield* Effect.async<void>((resume) => {
        setTimeout(() => {
          const until = Date.now() + 400
          while (Date.now() < until);
          resume(Effect.void)
        }, 1)
      })
      const turns = yield* Effect.timeout(Fiber.join(started), "10 seconds")
      assert.deepStrictEqual(
        turns.map((turn) => end(turn)?.t),
        turns.map(() => "ret" as const)
      )
    })
  )

  describe("each limit has its own failure, and a neighbour in the same runner completes", () => {
    const bombs: ReadonlyArray<readonly [string, string, string]> = [
      ["computing without end", "for (;;);", "CpuLimit"],
      ["memory in small pieces", "const a = []; for (;;) a.push({ x: a.length })", "OutOfMemory"],
      ["memory in one piece", "return 'x'.repeat(2 ** 27).length + new Uint8Array(2 ** 27).length", "OutOfMemory"],
      ["digests without end", "for (;;) await crypto.subtle.digest('SHA-256', new Uint8Array(1e5))", "CpuLimit"],
      [
        "digests that are not awaited",
        "for (;;) crypto.subtle.digest('SHA-256', new Uint8Array(1e5)).then(() => {})",
        "OutOfMemory"
      ],
      ["a large result", "return 'x'.repeat(5 * 1024 * 1024)", "OutputTooLarge"],
      ["a large call", "await svc.state.set('k', 'x'.repeat(7 * 1024 * 1024))", "OutputTooLarge"]
    ]
    for (const [name, body, tag] of bombs) {
      it.effect(`${name} ends as ${tag}`, () =>
        Effect.gen(function* () {
          const neighbour = yield* begin(waiting)
          const failure = yield* Effect.flip(
            begin(body, {}, tag === "CpuLimit" ? quick : { ...quick, cpuPerStepMillis: 5000 })
          )
          assert.strictEqual(failure._tag, tag)
          assert.deepStrictEqual(end(yield* neighbour.session.feed([doneEvent(0, 5)])), answered)
        })
      )
    }
    it.effect("endless recursion is the workflow's own RangeError", () =>
      Effect.gen(function* () {
        for (const body of [
          "const f = () => f() + 1; f()",
          "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
          "JSON.parse('['.repeat(1e5))",
          "const f = () => [2, 1].sort(f); f()"
        ]) {
          const ended = end(yield* begin(body))
          assert(ended?.t === "throw", body)
          assert.strictEqual(ended.e.name, "RangeError", body)
        }
      })
    )
    it.effect("the limit counts anew for every event", () =>
      Effect.gen(function* () {
        const spin = "{ const until = 4e5; let n = 0; for (let i = 0; i < until; i++) n += i }"
        const turn = yield* begin(
          `for (let k = 0; k < 40; k++) { ${spin} await svc.state.get("k") } return "done"`,
          {},
          quick
        )
        const last = yield* turn.session.feed(Array.from({ length: 40 }, (_, id) => doneEvent(id, null)))
        assert.deepStrictEqual(end(last), { t: "ret", v: "done" })
        assert.isAbove(last.cpuMillis, 200)
      })
    )
  })

  it.effect(
    "a guest that hangs in native code is killed with its runner; its neighbours are lost and can replay, and the pool continues",
    () =>
      Effect.gen(function* () {
        announce(/"sandbox\.runner_replaced"/, { required: true })
        const neighbour = yield* begin(waiting)
        const [before] = pids()
        assert(before !== undefined)
        // Loaded beforehand, since a guest that loads yields to its neighbours.
        const hangsOn = `if (ctx.input === "calm") return 1; ${hang}`
        const own = { ...quick, memoryBytes: limits.memoryBytes }
        yield* begin(hangsOn, { input: "calm" }, own)
        const computed = processorMillis(before)
        const hung = yield* Effect.fork(Effect.flip(begin(hangsOn, {}, own)))
        while (pids().includes(before) && processorMillis(before) < computed + 50)
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
        const queued = yield* Effect.fork(Effect.flip(neighbour.session.feed([doneEvent(0, 5)])))
        assert.deepInclude(yield* Fiber.join(hung), { _tag: "CpuLimit", limitMillis: 200 })
        assert.deepInclude(yield* Fiber.join(queued), { _tag: "SessionLost", reason: "runnerDied" })
        const sandbox = yield* effectSandbox
        const again = yield* sandbox.start(program(waiting), limits, startEvent(), [doneEvent(0, 5)])
        assert.deepStrictEqual(end(again), answered)
        assert.notInclude(pids(), before)
      })
  )

  it.effect("a killed runner loses its sessions and is replaced", () =>
    Effect.gen(function* () {
      announce(/"sandbox\.runner_replaced"/, { required: true })
      for (let round = 0; round < 3; round++) {
        const turn = yield* begin(waiting)
        const [pid] = pids()
        assert(pid !== undefined)
        process.kill(pid, "SIGKILL")
        while (pids().includes(pid)) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        assert.deepInclude(yield* Effect.flip(turn.session.feed([doneEvent(0, 5)])), {
          _tag: "SessionLost",
          reason: "runnerDied"
        })
        const replayed = yield* Effect.flatMap(effectSandbox, (sandbox) =>
          sandbox.start(program(waiting), limits, startEvent(), [doneEvent(0, 5)])
        )
        assert.deepStrictEqual(end(replayed), answered)
      }
    })
  )

  it.effect("at the cap of live guests the one that waits longest is evicted", () =>
    Effect.gen(function* () {
      const turns = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, i) => i),
        (i) => begin(`${waiting} // ${i % 3}`)
      )
      const ends = yield* Effect.forEach(turns, (turn) => Effect.either(turn.session.feed([doneEvent(0, 5)])))
      const told = ends.map((one) =>
        one._tag === "Left" ? `${one.left._tag}:${"reason" in one.left ? one.left.reason : ""}` : end(one.right)?.t
      )
      assert.deepStrictEqual(told, [
        "SessionLost:evicted",
        "SessionLost:evicted",
        ...Array.from({ length: 10 }, () => "ret")
      ])
    })
  )

  it.effect("closed sessions free their places, and closing twice has no effect", () =>
    Effect.gen(function* () {
      const keep = yield* begin(waiting)
      for (let i = 0; i < 30; i++) {
        const turn = yield* begin(waiting)
        yield* turn.session.close
        yield* turn.session.close
        assert.deepInclude(yield* Effect.flip(turn.session.feed([doneEvent(0, 5)])), {
          _tag: "SessionLost",
          reason: "closed"
        })
      }
      assert.deepStrictEqual(end(yield* keep.session.feed([doneEvent(0, 5)])), answered)
    })
  )

  it.effect("an interrupted feed releases its guest, also before its turn began", () =>
    Effect.gen(function* () {
      const turns = yield* Effect.forEach(Array.from({ length: 10 }), () =>
        begin("await svc.state.get('k'); for (let i = 0; i < 3e5; i++); await svc.state.get('k')")
      )
      const fibers = yield* Effect.forEach(turns, (turn) => Effect.fork(turn.session.feed([doneEvent(0, 5)])))
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(fibers)
      const others = yield* Effect.forEach(Array.from({ length: 10 }), () => begin(waiting))
      for (const turn of others) assert.deepStrictEqual(end(yield* turn.session.feed([doneEvent(0, 5)])), answered)
      for (const turn of turns) assert.deepInclude(yield* Effect.flip(turn.session.feed([])), { reason: "closed" })
    })
  )

  it.effect("an interrupted start releases its guest", () =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(Array.from({ length: 8 }), () =>
        Effect.fork(begin("for (let i = 0; i < 3e5; i++); await svc.state.get('k')"))
      )
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(fibers)
      const turns = yield* Effect.forEach(Array.from({ length: 10 }), () => begin(waiting))
      for (const turn of turns) assert.deepStrictEqual(end(yield* turn.session.feed([doneEvent(0, 5)])), answered)
    })
  )

  describe("a replay of 10,000 events", () => {
    const long = `let sum = 0; for (let i = 0; i < 10000; i++) sum += await svc.state.get("k" + i); return sum`
    const history: ReadonlyArray<GuestEvent> = Array.from({ length: 10_000 }, (_, id) =>
      doneEvent(id, 1, 1_700_000_000_000 + id)
    )
    it.effect("is exact, and its neighbours get their turns", () =>
      Effect.gen(function* () {
        const sandbox = yield* effectSandbox
        yield* begin(waiting)
        const replay = yield* Effect.fork(sandbox.start(program(long), limits, startEvent(), history))
        let neighbours = 0
        while (replay.unsafePoll() === null) {
          const turn = yield* begin(waiting)
          yield* turn.session.close
          neighbours++
        }
        const turn = yield* Fiber.join(replay)
        assert.deepStrictEqual(end(turn), { t: "ret", v: 10_000 })
        assert.strictEqual(turn.outputs.length, 10_001)
        assert.strictEqual(calls(turn).at(-1)?.name, "state.get")
        assert.isAbove(neighbours, 5)
      })
    )
    it.effect("a guest that hangs in the middle of a replay is distinguished from its neighbours", () =>
      Effect.gen(function* () {
        announce(/"sandbox\.runner_replaced"/, { required: true })
        const sandbox = yield* effectSandbox
        const hangs = `for (let i = 0; i < 6000; i++) await svc.state.get("k"); ${hang}`
        const replays = yield* Effect.forEach([hangs, long], (body) =>
          Effect.fork(
            Effect.either(sandbox.start(program(body), { ...limits, cpuPerStepMillis: 300 }, startEvent(), history))
          )
        )
        const [hung, neighbour] = yield* Effect.forEach(replays, Fiber.join)
        assert.isTrue(hung?._tag === "Left" && hung.left._tag === "CpuLimit")
        assert.isTrue(neighbour?._tag === "Right" || neighbour?.left._tag === "SessionLost")
      })
    )
  })

  it.effect("repeated memory bombs end each, and the runner goes on", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 8; i++) {
        assert.strictEqual(
          (yield* Effect.flip(
            // The limit is memory: the time to fill it depends on the machine.
            begin(
              "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
              {},
              { ...limits, cpuPerStepMillis: 20_000 }
            )
          ))._tag,
          "OutOfMemory"
        )
      }
      const turn = yield* begin(waiting)
      yield* turn.session.close
    })
  )
})

/** The CPU time of the runner so far, from /proc; the runner is a descendant of the programs that jail it. */
const processorMillis = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${innermost(pid)}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Infinity
  }
}
/** The pid of the runner below the programs that jail it. */
const innermost = (pid: number): number => {
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return child === "" ? pid : innermost(Number(child.split(" ")[0]))
}
