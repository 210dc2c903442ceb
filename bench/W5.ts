/** W5: from a start on existing data to the first reply of a run, and what the idle service holds in memory. */
import { setTimeout as pause } from "node:timers/promises"
import { publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"

const settleMillis = 10_000

const firstReply = async (service: Service, workflow: string, started: number): Promise<number> => {
  await service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { name: "you" } })
  return performance.now() - started
}

export const w5 = async (): Promise<void> => {
  const rows = new Table("", "first reply ms", "MB: own", "runners", "both", "postgres")
  const first = await startService()
  const { dataDir } = first
  const workflow = await publish(first, "trivial", "return { hello: ctx.input.name }")
  const restart = async (name: string) => {
    const started = performance.now()
    const service = await startService({ dataDir })
    const millis = await firstReply(service, workflow, started)
    await pause(settleMillis)
    const before = service.usage()
    await pause(5_000)
    const { cpu, memory } = service.usage()
    const idle = (cpu.own + cpu.runners - before.cpu.own - before.cpu.runners) / 50
    rows.add(
      name,
      Math.round(millis),
      Math.round(memory.own),
      Math.round(memory.runners),
      Math.round(memory.own + memory.runners),
      Math.round(memory.postgres)
    )
    rows.note(`${name}: ${idle.toFixed(1)} % of a core while idle`)
    return service
  }
  await first.stop()
  const second = await restart("after a clean stop")
  second.child.kill("SIGKILL")
  await second.child.ended
  const third = await restart("after kill -9")
  await third.stop()
  rows.note("must: first reply 1500 ms, 200 MB without Postgres; aim: 700 ms, 120 MB.")
  rows.print("W5 restart and idle memory")
}
