/**
 * W1: an instant run of a trivial function. The API key is checked, and record and audit entry are committed before the
 * reply.
 */
import { startFloor } from "./support/Children.js"
import { createFloorDatabase } from "./support/Database.js"
import { publish, startService } from "./support/Service.js"
import type { Table } from "./support/Table.js"
import {
  floorTarget,
  type Level,
  type Measurement,
  measure,
  serviceTarget,
  makeTable,
  addVerdict,
  withFloors
} from "./support/Throughput.js"

const measureFloors = async (rows: Table, url: string): Promise<ReadonlyMap<Level, Measurement>> => {
  const single = await startFloor("single", url)
  await measure(rows, floorTarget("floor: one commit each", single))
  await single.stop()
  const group = await startFloor("group", url)
  const best = await measure(rows, floorTarget("floor: group commit", group))
  await group.stop()
  return best
}

export const w1 = async (): Promise<void> => {
  const rows = makeTable()
  const service = await startService()
  const workflow = await publish(service, "trivial", "return { hello: ctx.input.name }")
  const best = withFloors ? await measureFloors(rows, await createFloorDatabase(service)) : new Map()
  const own = await measure(rows, serviceTarget(service, "svc", workflow))
  await service.stop()
  addVerdict(rows, own, best, { mustPerSecond: 1500, aimPerSecond: 2800, mustP50: 3, aimP50: 2 })
  rows.print("W1 instant run")
}
