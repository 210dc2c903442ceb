/**
 * Measures a trivial workflow in the sandbox's pool, from `start` to its result: rate, latency, CPU time of this
 * process.
 */
import { resolve } from "node:path"
import { Effect, ManagedRuntime } from "effect"
import { Sandbox } from "../src/actors/ports/run/Sandbox.js"
import { layer } from "../src/runtime/sandbox/Pool.js"
import { OrganisationId } from "../src/domain/Ids.js"
import { ownerOfOrganisation } from "../src/domain/share/ShareOwner.js"

const program = {
  key: "org_bench:trivial",
  owner: ownerOfOrganisation({ id: OrganisationId.make("org_01jd0000000000000000000000"), parentId: null }),
  script: `globalThis.__workflow = async (ctx) => ({ hello: ctx.input.name })`
}
const limits = { memoryBytes: 128 * 1024 * 1024, cpuPerStepMillis: 2000 }
const startEvent = {
  t: "start",
  now: 1_700_000_000_000,
  seed: [1, 2, 3, 4],
  ctx: { input: { name: "world" } }
} as const

const percentile = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.floor(sorted.length * part)] ?? 0

const measure = Effect.fn(function* (name: string, concurrency: number, total: number) {
  const sandbox = yield* Sandbox
  const times: Array<number> = []
  const runOnce = Effect.gen(function* () {
    const before = performance.now()
    yield* Effect.async<void>((resume) => void sandbox.start(program, limits, [startEvent], () => resume(Effect.void)))
    times.push(performance.now() - before)
  })
  yield* Effect.forEach(Array.from({ length: 2000 }), () => runOnce, { concurrency, discard: true })
  times.length = 0
  const cpu = process.cpuUsage()
  const before = performance.now()
  const each = Math.floor(total / concurrency)
  yield* Effect.all(
    Array.from({ length: concurrency }, () => Effect.repeatN(runOnce, each - 1)),
    { concurrency, discard: true }
  )
  const seconds = (performance.now() - before) / 1000
  const cpuUsed = process.cpuUsage(cpu)
  times.sort((a, b) => a - b)
  console.log(
    `${name}: ${Math.round(times.length / seconds)}/s, p50 ${percentile(times, 0.5).toFixed(3)} ms, p99 ${percentile(
      times,
      0.99
    ).toFixed(3)} ms, ${((cpuUsed.user + cpuUsed.system) / times.length).toFixed(1)} µs of this process per run`
  )
})

export const sandbox = async (): Promise<void> => {
  const runtime = ManagedRuntime.make(layer({ runnerPath: resolve("dist/runner.js") }))
  try {
    await runtime.runPromise(
      Effect.gen(function* () {
        const { engine, jail } = yield* Sandbox
        console.log(yield* jail, `engine ${engine}`)
        yield* measure("c=1", 1, 10_000)
        yield* measure("c=16", 16, 40_000)
      })
    )
  } finally {
    await runtime.dispose()
  }
}
