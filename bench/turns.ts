/**
 * Loaded into the measured service by `--import`: notes each turn of the main loop that takes long, and writes them as JSON
 * to the file `BENCH_TURNS` when the process ends.
 */
import { writeFileSync } from "node:fs"
import { performance } from "node:perf_hooks"
import { isMainThread } from "node:worker_threads"

export interface LongTurn {
  /** Microseconds of `process.hrtime`. */
  readonly from: number
  readonly to: number
  /** CPU time of all threads of the process meanwhile. Much less than the time that passed: the machine was busy. */
  readonly cpuMillis: number
  /** Events of sockets, files and timers that the loop processed in it. */
  readonly events: number
}

const leastMillis = Number(process.env["BENCH_PAUSE"] ?? 20)
const micros = () => Number(process.hrtime.bigint() / 1000n)

const watch = (file: string): void => {
  const turns: Array<LongTurn> = []
  const read = () => {
    const { system, user } = process.cpuUsage()
    return { at: micros(), cpu: (user + system) / 1000, events: performance.nodeTiming.uvMetricsInfo.events }
  }
  let last = read()
  // Fires in each turn that takes longer than a millisecond.
  setInterval(() => {
    const now = read()
    if (now.at - last.at >= leastMillis * 1000)
      turns.push({ from: last.at, to: now.at, cpuMillis: now.cpu - last.cpu, events: now.events - last.events })
    last = now
  }, 1).unref()
  process.once("exit", () => writeFileSync(file, JSON.stringify(turns)))
}

const file = process.env["BENCH_TURNS"]
if (isMainThread && file !== undefined) watch(file)
