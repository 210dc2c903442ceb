/** W1: an instant run of a trivial function; key check, sandbox, record and audit entry committed before the reply. */
import { floor } from "./support/Children.js"
import { floorDatabase } from "./support/Database.js"
import { publish, startService } from "./support/Service.js"
import type { Table } from "./support/Table.js"
import {
  floorTarget,
  type Level,
  type Measured,
  measure,
  serviceTarget,
  table,
  verdict,
  withFloors
} from "./support/Throughput.js"

const floors = async (rows: Table, url: string): Promise<ReadonlyMap<Level, Measured>> => {
  const single = await floor("single", url)
  await measure(rows, floorTarget("floor: one commit each", single))
  await single.stop()
  const group = await floor("group", url)
  const best = await measure(rows, floorTarget("floor: group commit", group))
  await group.stop()
  return best
}

export const w1 = async (): Promise<void> => {
  const rows = table()
  const service = await startService()
  const workflow = await publish(service, "trivial", "return { hello: ctx.input.name }")
  const best = withFloors ? await floors(rows, await floorDatabase(service)) : new Map()
  const own = await measure(rows, serviceTarget(service, "svc", workflow))
  await service.stop()
  verdict(rows, own, best, { mustPerSecond: 1500, aimPerSecond: 2800, mustP50: 3, aimP50: 2 })
  rows.print("W1 instant run")
}
