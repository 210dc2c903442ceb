/** An expensive computation of a tenant ends within its limit in another process, and delays no other organisation. */
import { assert } from "@effect/vitest"
import { Effect, Either, Fiber, Layer, Schedule } from "effect"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { computationLimits } from "../../src/runtime/computing/ComputationLimits.js"
import { layer as computationsLayer } from "../../src/runtime/computing/Computations.js"
import { check, compute, endlessComputations, neighbour, worker } from "../support/costlyComputations.js"
import { announce } from "../support/LogExpectations.js"
import { layer } from "../support/layer.js"
import { ownerOf } from "../support/shareOwners.js"
import { ShareOwners } from "../../src/actors/ports/organisation/ShareOwners.js"
import { OrganisationId } from "../../src/domain/Ids.js"

let pids: ReadonlyArray<number> = []

const hostileYaml = Array.from({ length: 40_000 }, (_, n) => `k${n}: 1`).join("\n")
const operations = (operationId: string, count: number): JsonObject => ({
  openapi: "3.0.3",
  info: { title: "Many", version: "1" },
  servers: [{ url: "https://api.example.com" }],
  paths: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `/p${n}`,
      { get: { operationId, responses: { 200: { description: "" } } } }
    ])
  )
})

/** Organisations of one account. */
const children = Array.from({ length: 4 }, (_, n) => OrganisationId.make(`org_01jd000000000000000000010${n}`))
const owners = Layer.succeed(
  ShareOwners,
  ShareOwners.of({ of: (id) => Effect.succeed(children.includes(id) ? ownerOf(id, children[0]) : ownerOf(id)) })
)

layer(computationsLayer({ workerPath: worker, onWorkers: (now) => (pids = now) }).pipe(Layer.provide(owners)), {
  excludeTestServices: true
})("a computation", (it) => {
  for (const [name, computation] of endlessComputations)
    it.effect(`that a tenant makes endless ends as its failure: ${name}`, () =>
      Effect.map(Effect.flip(computation), ({ _tag }) => assert.strictEqual(_tag, "TooCostly"))
    )

  it.effect("on the file of a flow gives its steps, or says what its code did", () =>
    Effect.gen(function* () {
      const read = (source: string) => compute("readFlowFile", { format: "flow.js", source, path: "import.source" })
      const [endless, tools] = yield* Effect.all([
        read("for (;;);\nexport default {}"),
        read("export default { steps: [typeof process, typeof require, typeof flow] }")
      ])
      assert.strictEqual(endless.ok ? "" : endless.mistakes[0]?.code, "TOO_COSTLY")
      assert.deepStrictEqual(tools, { ok: true, value: { spec: { steps: ["undefined", "undefined", "function"] } } })
    })
  )

  it.effect("on a large document takes linear time", () =>
    Effect.gen(function* () {
      const imported = (source: Json) =>
        compute("importDefinition", { source, path: "import.source", format: "openapi", options: {} })
      const yaml = yield* imported(hostileYaml)
      assert.strictEqual(yaml.ok ? "" : yaml.mistakes[0]?.code, "INVALID_VALUE")
      const twice = yield* imported(`${hostileYaml}\nk0: 2`)
      assert.match(
        yaml.ok || twice.ok ? "" : (twice.mistakes[0]?.message ?? ""),
        /a key occurs twice in one map at line 40001/
      )
      const equal = yield* imported(operations("same", 5_000))
      assert.isTrue(equal.ok)
      if (equal.ok) assert.strictEqual(new Set(equal.value.definition.actions.map(({ name }) => name)).size, 5_000)
    })
  )

  it.effect("of one organisation leaves workers for another", () =>
    Effect.gen(function* () {
      const endless = check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`)
      const flood = yield* Effect.fork(
        Effect.forEach(Array.from({ length: 6 }), () => Effect.either(endless), { concurrency: "unbounded" })
      )
      yield* check({ type: "number" }, 1, neighbour)
      for (let n = 0; n < 20; n++) assert.deepStrictEqual(yield* check({ type: "number" }, n, neighbour), [])
      yield* Fiber.interrupt(flood)
    })
  )

  it.effect("of an account's children leaves a worker for a neighbour, which comes next", () =>
    Effect.gen(function* () {
      const ended: Array<OrganisationId> = []
      const endless = (by: OrganisationId) =>
        Effect.ensuring(
          Effect.either(check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`, by)),
          Effect.sync(() => ended.push(by))
        )
      const flood = yield* Effect.fork(Effect.forEach(children, endless, { concurrency: "unbounded" }))
      yield* Effect.yieldNow()
      yield* check({ type: "number" }, 1, neighbour)
      assert.isAtMost(ended.length, 1)
      yield* Fiber.join(flood)
      assert.deepStrictEqual(ended, children, "one after the other")
    })
  )

  it.effect("beyond the limit of waiting ones is refused", () =>
    Effect.gen(function* () {
      const slow = check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`)
      const flood = Effect.forever(Effect.delay(Effect.either(slow), "5 millis"))
      const many = yield* Effect.fork(
        Effect.forEach(Array.from({ length: computationLimits.waiting + 8 }), () => flood, {
          concurrency: "unbounded"
        })
      )
      // Until the flood has every place. One that gets a place gives it back, and the flood takes it.
      const refused = yield* Effect.flip(check({ type: "number" }, 1)).pipe(
        Effect.timeout("300 millis"),
        Effect.retry({ times: 100, schedule: Schedule.spaced("50 millis") })
      )
      assert.strictEqual(refused._tag, "Unavailable")
      yield* Fiber.interrupt(many)
      assert.deepStrictEqual(yield* check({ type: "number" }, 1, neighbour), [])
    })
  )

  it.effect("that takes too much memory ends, and the next one gets a worker", () =>
    Effect.gen(function* () {
      announce(/"computing\.worker\.replaced"/, { required: true })
      const anchors = Array.from(
        { length: 30 },
        (_, n) => `a${n}: &a${n} [${Array.from({ length: 9 }, () => (n === 0 ? "x" : `*a${n - 1}`)).join(",")}]`
      )
      const bomb = yield* Effect.either(
        compute("importDefinition", { source: anchors.join("\n"), path: "import.source", format: "svc", options: {} })
      )
      if (Either.isRight(bomb)) assert.isFalse(bomb.right.ok)
      assert.deepStrictEqual(yield* check({ type: "number" }, 1, neighbour).pipe(Effect.retry({ times: 2 })), [])
      const killed = pids
      assert.isNotEmpty(killed)
      for (const pid of killed) process.kill(pid, "SIGKILL")
      assert.deepStrictEqual(yield* check({ type: "number" }, 1, neighbour).pipe(Effect.retry({ times: 2 })), [])
      // Inside a jail a worker outlives the killed process for a moment and may still answer.
      while (killed.some((pid) => pids.includes(pid))) yield* Effect.sleep("10 millis")
    })
  )
})
