/** What the death of a runner node that drives many runs costs Postgres, and those who call beside it. */
import { setTimeout as pause } from "node:timers/promises"
import { load, type Stub } from "./Children.js"
import type { LoadResult } from "../load.js"
import { median } from "./Ratios.js"
import { publish, type Service } from "./Service.js"
import { Table } from "./Table.js"

/** Runs in one slow call each, over all runners: fewer than a node gives an organisation connections to one address. */
const waiting = 120
const callsPerSecond = 40
const loadMillis = 8_000
const windowMillis = 500

/** Starts the runs, and waits until each is in its call. */
const startWaiting = async (service: Service, stub: Stub): Promise<void> => {
  const code = `return (await fetch("${stub.url}/held", { method: "POST", timeout: 110_000 })).status`
  const workflow = await publish(service, "held", code, "long")
  await stub.reset()
  for (let n = 0; n < waiting; n++) await service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} })
  while ((await stub.counts()).calls < waiting) await pause(20)
}

/** Calls a workflow at a steady rate, and returns what Postgres used of a core in each window. `meanwhile` is done early on. */
const measure = async (service: Service, workflow: string, meanwhile: () => void) => {
  const windows: Array<number> = []
  const used = () => service.usage().cpu.postgres
  let last = used()
  let at = performance.now()
  const sampling = setInterval(() => {
    const [now, cpu] = [performance.now(), used()]
    windows.push((100 * (cpu - last)) / (now - at))
    last = cpu
    at = now
  }, windowMillis)
  const timer = setTimeout(meanwhile, windowMillis * 2)
  const { result }: { readonly result: LoadResult } = await load(
    {
      port: service.port,
      path: `/api/v1/workflows/${workflow}/execute`,
      headers: service.headers,
      body: '{"input":{}}',
      connections: 64,
      warmupMillis: 0,
      millis: loadMillis,
      perSecond: callsPerSecond,
      count: (callsPerSecond * loadMillis) / 1_000
    },
    () => 0
  )
  clearInterval(sampling)
  clearTimeout(timer)
  return { windows, result }
}

/** `source`: of the runs that are called beside. `kill` kills a runner; `whole` waits until the others have its shards. */
export const measureResumption = async (
  service: Service,
  stub: Stub,
  { kill, source, whole }: { readonly source: string; readonly kill: () => void; readonly whole: () => Promise<void> }
): Promise<void> => {
  const workflow = await publish(service, "beside", source)
  await measure(service, workflow, () => undefined)
  await startWaiting(service, stub)
  const before = await measure(service, workflow, () => undefined)
  const after = await measure(service, workflow, kill)
  await whole()
  const table = new Table("", "p50 ms", "p99 ms", "refused", "Postgres, % of a core: median", "most in half a second")
  for (const [name, { result, windows }] of [
    ["before", before],
    ["a runner is killed", after]
  ] as const)
    table.add(
      name,
      result.p50.toFixed(1),
      result.p99.toFixed(1),
      result.errors,
      median(windows).toFixed(1),
      Math.max(...windows).toFixed(1)
    )
  table.print(`${callsPerSecond} runs/s beside ${waiting} runs in one slow call each`)
}
