/** W2: an instant run with three journaled calls of an HTTP stub that answers after a millisecond. */
import { startFloor, startStub } from "./support/Children.js"
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

/** Uses POST, so that each call has an Idempotency-Key. */
export const threeCalls = (url: string): string =>
  `for (let i = 0; i < 3; i++) await fetch("${url}/", { method: "POST", body: "{}" })\n  return { hello: ctx.input.name }`

const measureFloors = async (rows: Table, url: string, stub: string): Promise<ReadonlyMap<Level, Measurement>> => {
  const calls = await startFloor("calls", url, stub)
  const best = await measure(rows, floorTarget("floor: group commit a call", calls))
  await calls.stop()
  return best
}

export const w2 = async (): Promise<void> => {
  const rows = makeTable()
  const stub = await startStub()
  const service = await startService()
  const workflow = await publish(service, "three_calls", threeCalls(stub.url))
  const best = withFloors ? await measureFloors(rows, await createFloorDatabase(service), stub.url) : new Map()
  const own = await measure(rows, serviceTarget(service, "svc", workflow))
  await service.stop()
  await stub.stop()
  addVerdict(rows, own, best, { mustPerSecond: 600, aimPerSecond: 850, mustP50: 12, aimP50: 10 })
  rows.print("W2 three journaled calls")
}
