/** Calls through connections, in the process: how many are authorized, what an idle one costs. */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Connections as ConnectionsPort } from "../src/actors/ports/Connections.js"
import { makeExample, makeFirstOrganisation } from "../src/runtime/program/FirstOrganisation.js"
import { inProcess } from "./support/InProcess.js"
import { dataDirectory } from "./support/Service.js"
import { connectionId, keyConnector, storeConnections } from "./support/StoredConnections.js"
import { Table } from "./support/Table.js"

const stored = 100_000
const touched = 20_000
const millis = 5_000
const batch = 5_000

const settled = () => {
  setFlagsFromString("--expose_gc")
  const gc: () => void = runInNewContext("gc")
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

export const connections = async (): Promise<void> => {
  const { runtime } = await inProcess(dataDirectory())
  const connector = keyConnector()
  const first = await runtime.runPromise(
    Effect.flatMap(makeFirstOrganisation("Bench", "unlimited"), (made) =>
      Effect.map(makeExample(made), (more) => ({ ...made, ...more }))
    )
  )
  const organisationId = first.organisationId

  const insert = Effect.forEach(
    Array.from({ length: stored / batch }, (_, i) => i * batch),
    (from) => storeConnections({ organisationId, customerId: first.customerId }, connector, from, from + batch),
    { discard: true }
  )
  const before = settled()
  await runtime.runPromise(insert)
  const untouched = settled()

  const authorize = (i: number) =>
    Effect.flatMap(ConnectionsPort, (port) =>
      port.authorize({ organisationId, connectionId: connectionId(i), origin: connector.origin, executionId: null })
    )
  await runtime.runPromise(
    Effect.forEach(
      Array.from({ length: touched }, (_, i) => i),
      authorize,
      { concurrency: 64, discard: true }
    )
  )
  const resident = settled()

  const rate = async (concurrency: number, spread: number) => {
    let done = 0
    const until = performance.now() + millis
    const caller = Effect.suspend(() => authorize(done++ % spread)).pipe(
      Effect.repeat({ while: () => performance.now() < until })
    )
    await runtime.runPromise(
      Effect.all(
        Array.from({ length: concurrency }, () => caller),
        { concurrency: "unbounded", discard: true }
      )
    )
    return Math.round((done * 1_000) / millis)
  }
  /** What the way to an actor and back costs by itself: a refusal of a credential that is gone, which means nothing. */
  const bare = async (concurrency: number) => {
    let done = 0
    const until = performance.now() + millis
    const message = Effect.flatMap(ConnectionsPort, (port) =>
      port.settle({ organisationId, connectionId: connectionId(0), permit: "", status: 401, reading: null })
    )
    const caller = Effect.suspend(() => {
      done++
      return message
    }).pipe(Effect.repeat({ while: () => performance.now() < until }))
    await runtime.runPromise(
      Effect.all(
        Array.from({ length: concurrency }, () => caller),
        { concurrency: "unbounded", discard: true }
      )
    )
    return Math.round((done * 1_000) / millis)
  }

  const rows = new Table("what", "measured", "must")
  rows.add("stored, none used: heap", `${((untouched - before) / 1e6).toFixed(1)} MB for ${stored}`, "nothing resident")
  rows.add("idle in memory, each", `${((resident - untouched) / touched / 1024).toFixed(1)} KB`, "≤ 20 KB")
  for (const concurrency of [1, 16, 64])
    rows.add(`Authorize, c=${concurrency}, one connection`, `${await rate(concurrency, 1)}/s`, "≥ 5,000/s")
  rows.add("a message that does nothing, c=16", `${await bare(16)}/s`, "")
  rows.add("Authorize, c=64, 1,000 connections", `${await rate(64, 1_000)}/s`, "")
  rows.print(`Connections: ${stored} of one organisation`)
  await runtime.dispose()
}
