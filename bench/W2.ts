/** W2: three journaled calls of an HTTP stub that needs a millisecond for each. */
import { floor, startStub } from "./support/Children.js"
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

/** POST, so that the calls carry their keys. */
export const threeCalls = (url: string): string =>
  `for (let i = 0; i < 3; i++) await fetch("${url}/", { method: "POST", body: "{}" })\n  return { hello: ctx.input.name }`

const floors = async (rows: Table, url: string, stub: string): Promise<ReadonlyMap<Level, Measured>> => {
  const calls = await floor("calls", url, stub)
  const best = await measure(rows, floorTarget("floor: group commit a call", calls))
  await calls.stop()
  return best
}

export const w2 = async (): Promise<void> => {
  const rows = table()
  const stub = await startStub()
  const service = await startService()
  const workflow = await publish(service, "three_calls", threeCalls(stub.url))
  const best = withFloors ? await floors(rows, await floorDatabase(service), stub.url) : new Map()
  const own = await measure(rows, serviceTarget(service, "svc", workflow))
  await service.stop()
  await stub.stop()
  verdict(rows, own, best, { mustPerSecond: 600, aimPerSecond: 850, mustP50: 12, aimP50: 10 })
  rows.print("W2 three journaled calls")
}
