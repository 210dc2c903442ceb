/** An expensive computation of a tenant ends within its limit in another process, and delays no other organisation. */
import { assert } from "@effect/vitest"
import { Effect, Either, Fiber, Runtime, Schedule } from "effect"
import { Computations, type ComputationName, type ComputationTable } from "../../src/actors/ports/Computations.js"
import { OrganisationId } from "../../src/domain/Ids.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { computationLimits } from "../../src/runtime/computing/ComputationLimits.js"
import { layer as computationsLayer } from "../../src/runtime/computing/Computations.js"
import { announce } from "../support/LogExpectations.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { assertLoopWithin } from "../support/loopDelay.js"
import { paced } from "../support/pace.js"
import { layer } from "../support/layer.js"

const worker = bundleRunner("src/runtime/computing/worker/Worker.ts")

const organisation = (n: number) => OrganisationId.make(`org_01jd00000000000000000000${String(n).padStart(2, "0")}`)
const [attacker, neighbour] = [organisation(1), organisation(2)]
let pids: ReadonlyArray<number> = []

const compute = <Name extends ComputationName>(name: Name, input: ComputationTable[Name]["input"], by = attacker) =>
  Effect.flatMap(Computations, (computations) => computations.compute(name, by, input))

const check = (schema: JsonObject, value: Json, by = attacker) => compute("checkValue", { schema, value }, by)

const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, n): [string, Json] => [
    `d${n}`,
    { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
  ])
)

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

/** Does the work, and asserts that the main loop goes on beside it. */
const holdingUpNothing = <E>(work: Effect.Effect<void, E, Computations>) =>
  Effect.flatMap(Effect.runtime<Computations>(), (runtime) =>
    Effect.promise(() => assertLoopWithin(250, () => Runtime.runPromise(runtime)(work)))
  )

layer(computationsLayer({ workerPath: worker, onWorkers: (now) => (pids = now) }), {
  excludeTestServices: true
})("a computation", (it) => {
  const endsAs = (
    name: string,
    expected: "TooCostly",
    computation: Effect.Effect<unknown, { readonly _tag: string }, Computations>
  ) =>
    it.effect(`that a tenant makes endless ends as its failure: ${name}`, () =>
      Effect.gen(function* () {
        yield* holdingUpNothing(
          Effect.map(Effect.either(computation), (value) =>
            assert.strictEqual(Either.isLeft(value) ? value.left._tag : "succeeded", expected)
          )
        )
      })
    )

  endsAs("a pattern of a contract", "TooCostly", check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`))
  endsAs(
    "a pattern behind a reference",
    "TooCostly",
    check({ $ref: "#/$defs/a", $defs: { a: { pattern: "^(a|a)*$" } } }, `${"a".repeat(60)}!`)
  )
  endsAs(
    "the comparison of many items",
    "TooCostly",
    check(
      { uniqueItems: true },
      Array.from({ length: 200_000 }, (_, n) => n)
    )
  )
  endsAs(
    "definitions that double",
    "TooCostly",
    compute("checkSchemas", { inputContract: { $ref: "#/$defs/d0", $defs: { ...doubling, d40: { type: "null" } } } })
  )
  endsAs("a format", "TooCostly", check({ format: "url" }, `http://${"a".repeat(60)}!`))
  endsAs(
    "a pattern of a credential's field",
    "TooCostly",
    compute("matchPatterns", [{ pattern: "^(a+)+$", text: `${"a".repeat(500)}!` }])
  )

  it.effect("on the file of a flow gives its steps, or says what its code did, and holds up nothing", () =>
    Effect.gen(function* () {
      const read = (source: string) => compute("readFlowFile", { format: "flow.js", source, path: "import.source" })
      yield* holdingUpNothing(
        Effect.gen(function* () {
          const [endless, tools] = yield* Effect.all([
            read("for (;;);\nexport default {}"),
            read("export default { steps: [typeof process, typeof require, typeof flow] }")
          ])
          assert.strictEqual(endless.ok ? "" : endless.mistakes[0]?.code, "TOO_COSTLY")
          assert.deepStrictEqual(tools, {
            ok: true,
            value: { spec: { steps: ["undefined", "undefined", "function"] } }
          })
        })
      )
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

  it.effect("of one organisation does not delay another by its deadlines", () =>
    Effect.gen(function* () {
      const endless = check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`)
      const flood = yield* Effect.fork(
        Effect.forEach(Array.from({ length: 6 }), () => Effect.either(endless), { concurrency: "unbounded" })
      )
      yield* check({ type: "number" }, 1, neighbour)
      const started = performance.now()
      for (let n = 0; n < 20; n++) assert.deepStrictEqual(yield* check({ type: "number" }, n, neighbour), [])
      const took = performance.now() - started
      yield* Fiber.interrupt(flood)
      assert.isBelow(
        took,
        paced(20 * computationLimits.millis.checkValue),
        "the neighbour waited for the attacker's deadlines"
      )
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
