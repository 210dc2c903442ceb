/**
 * W5: from a start on existing data to the first reply of a run, by `npm start` and by `bin/svc start`, the phases of the start,
 * and what the idle service holds in memory.
 */
import { setTimeout as pause } from "node:timers/promises"
import { median } from "./support/Ratios.js"
import { publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"

const rounds = 5
const settleMillis = 10_000

/** What the service logs of its start: when each phase ended, in milliseconds since its process began. */
const phasesLine = /"service\.start_phases".*?"annotations":(\{.*?\})/
type Phases = Readonly<Record<string, number>>

/** The ways in which a service is started, after what end of the one before. */
const starts = [
  { name: "bin/svc, after a clean stop", npm: false, end: "SIGKILL" },
  { name: "npm start, after kill -9", npm: true, end: "SIGTERM" },
  { name: "npm start, after a clean stop", npm: true, end: "SIGTERM" },
  { name: "bin/svc, after a clean stop", npm: false, end: "SIGKILL" },
  { name: "bin/svc, after kill -9", npm: false, end: "SIGTERM" }
] as const

export const w5 = async (): Promise<void> => {
  const first = await startService()
  const { dataDir } = first
  const workflow = await publish(first, "trivial", "return { hello: ctx.input.name }")
  await first.stop()

  const replies = new Map<string, Array<number>>()
  const phases = new Map<string, Array<number>>()
  const restart = async ({ name, npm }: (typeof starts)[number]): Promise<Service> => {
    const started = performance.now()
    const service = await startService({ dataDir, npm, launcher: true, env: { SVC_LOG_LEVEL: "debug" } })
    await service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { name: "you" } })
    add(replies, name, performance.now() - started)
    const found: Phases = JSON.parse(phasesLine.exec(await service.child.printed(phasesLine))?.[1] ?? "{}")
    if (!npm) for (const [phase, millis] of Object.entries(found)) add(phases, phase, millis)
    return service
  }
  for (let round = 0; round < rounds; round++) {
    for (const one of starts) {
      const service = await restart(one)
      service.child.kill(one.end)
      await service.child.ended
    }
  }
  const table = new Table("first reply, ms", "median", "least", "must", "aim")
  for (const [name, millis] of replies)
    table.add(name, Math.round(median(millis)), Math.round(Math.min(...millis)), 1_200, 700)
  table.print("W5 restart")
  const timeline = new Table("phase", "ended at, ms")
  const ends = [...phases].map(([phase, millis]) => [phase, median(millis)] as const)
  for (const [phase, millis] of ends.toSorted((a, b) => a[1] - b[1])) timeline.add(phase, Math.round(millis))
  timeline.note("Median since the process began; other processes and modules start side by side.")
  timeline.print("W5 the start's phases")
  await idle(dataDir)
}

const add = (values: Map<string, Array<number>>, name: string, value: number): void => {
  values.set(name, [...(values.get(name) ?? []), value])
}

/** Memory and processor of a service that does nothing. */
const idle = async (dataDir: string): Promise<void> => {
  const service = await startService({ dataDir, env: { SVC_RUNNERS: "2" } })
  await pause(settleMillis)
  const before = service.usage()
  await pause(5_000)
  const { cpu, memory } = service.usage()
  const percent = (cpu.own + cpu.runners - before.cpu.own - before.cpu.runners) / 50
  const rows = new Table("MB: own", "runners", "both", "postgres", "% of a core")
  rows.add(
    Math.round(memory.own),
    Math.round(memory.runners),
    Math.round(memory.own + memory.runners),
    Math.round(memory.postgres),
    percent.toFixed(1)
  )
  rows.note("must: 150 MB without Postgres and 0.5 %; aim: 120 MB and 0.2 %.")
  rows.print("W5 idle after a start, of up to two runners and a spare one")
  await service.stop()
}
