/**
 * Lists each turn of the main loop over 20 ms under W1, W2 and the burst of W3, with what ran in it. While a turn lasts, no
 * other request, commit or answer of a runner is served. `SVC_BENCH_PAUSE` sets another limit in milliseconds.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { bundlePath, load, startStub } from "./support/Children.js"
import { readProfile, type Sample, sumBy } from "./support/Profile.js"
import { publish, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { serviceTarget, type Target, warmUp } from "./support/Throughput.js"
import type { LongTurn } from "./turns.js"
import { threeCalls } from "./W2.js"
import { burst, makeWebhook, measureBurst } from "./W3.js"

const millis = Number(process.env["SVC_BENCH_SECONDS"] ?? 10) * 1_000
/** Turns that are printed one by one, and functions that are printed of all turns. */
const printed = 15
/** Functions that are named of a turn. */
const named = 4

interface Window {
  readonly name: string
  readonly from: number
  readonly to: number
}

const micros = () => Number(process.hrtime.bigint() / 1000n)

const printWindow = (
  { from, name, to }: Window,
  turns: ReadonlyArray<LongTurn>,
  samples: ReadonlyArray<Sample>
): void => {
  const inWindow = turns.filter((turn) => turn.from >= from && turn.to <= to)
  const samplesOf = (turn: LongTurn) => samples.filter(({ at }) => at >= turn.from && at < turn.to)
  const lengthOf = (turn: LongTurn) => (turn.to - turn.from) / 1000
  const ranIn = (ran: ReadonlyArray<Sample>, count: number) =>
    sumBy(ran, ({ name: leaf, ownCaller }) => (leaf.startsWith("(garbage collector)") ? "collector" : ownCaller))
      .slice(0, count)
      .map(([what, time]) => [what, (time / 1000).toFixed(1)] as const)
  const rows = new Table("turn at, ms", "ms", "cpu ms", "events", "what ran, ms")
  for (const turn of inWindow.toSorted((a, b) => lengthOf(b) - lengthOf(a)).slice(0, printed))
    rows.add(
      Math.round((turn.from - from) / 1000),
      lengthOf(turn).toFixed(0),
      turn.cpuMillis.toFixed(0),
      turn.events,
      ranIn(samplesOf(turn), named)
        .map(([what, time]) => `${what} ${time}`)
        .join("; ")
    )
  const sum = inWindow.reduce((total, turn) => total + lengthOf(turn), 0)
  rows.print(
    `${name}: ${inWindow.length} long turns, together ${sum.toFixed(0)} of ${((to - from) / 1000).toFixed(0)} ms`
  )
  const all = new Table("in all of them: own function and what it called", "ms")
  for (const row of ranIn(inWindow.flatMap(samplesOf), printed)) all.add(...row)
  all.print(name)
}

export const pauses = async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "svc-pauses-"))
  const turnsFile = join(directory, "turns.json")
  const stub = await startStub()
  const service = await startService({
    node: ["--cpu-prof", `--cpu-prof-dir=${directory}`, "--import", bundlePath("turns")],
    env: { BENCH_TURNS: turnsFile, BENCH_PAUSE: process.env["SVC_BENCH_PAUSE"] ?? "20" }
  })
  const windows: Array<Window> = []
  const measure = async (name: string, run: () => Promise<string>) => {
    const from = micros()
    const result = await run()
    windows.push({ name: `${name}, ${result}`, from, to: micros() })
    // What the load leaves to do, such as sealing, is not the next one's.
    await pause(2_000)
  }
  const measurePath = async (target: Target, levels: ReadonlyArray<number>) => {
    await warmUp(target)
    const body = JSON.stringify({ input: { name: "you" } })
    const { headers, path, port } = target
    for (const connections of levels)
      await measure(`${target.name} at c=${connections}`, async () => {
        const { result } = await load({ port, path, headers, body, connections, warmupMillis: 0, millis }, () => 0)
        return `${result.perSecond.toFixed(0)}/s, p50 ${result.p50.toFixed(2)} ms, p99 ${result.p99.toFixed(2)} ms`
      })
  }
  const trivial = await publish(service, "trivial", "return { hello: ctx.input.name }")
  await measurePath(serviceTarget(service, "W1", trivial), [1, 16, 64])
  const calling = await publish(service, "three_calls", threeCalls(stub.url))
  await measurePath(serviceTarget(service, "W2", calling), [64])
  const webhook = await makeWebhook(service, stub)
  await measureBurst(service, webhook, stub, 2_000)
  await measure("W3's burst", async () => {
    const { acks, runs } = await measureBurst(service, webhook, stub, burst)
    return `${acks.toFixed(0)} acks/s, ${runs.toFixed(0)} runs/s`
  })
  await service.stop()
  await stub.stop()
  const turns: ReadonlyArray<LongTurn> = JSON.parse(readFileSync(turnsFile, "utf8"))
  const { samples } = readProfile(directory)
  for (const window of windows) printWindow(window, turns, samples)
  rmSync(directory, { recursive: true })
}
