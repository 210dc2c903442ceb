/**
 * Measures, in this process, how many calls through connections are authorized, and the memory of an idle connection.
 */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Connections as ConnectionsPort } from "../src/actors/ports/connection/Connections.js"
import { makeExample, makeFirstOrganisation } from "../src/runtime/program/FirstOrganisation.js"
import { startInProcess } from "./support/InProcess.js"
import { makeDataDirectory } from "./support/Service.js"
import { connectionId, findKeyConnector, storeConnections } from "./support/StoredConnections.js"
import { Table } from "./support/Table.js"

const storedCount = 100_000
const touchedCount = 20_000
const millis = 5_000
const batchSize = 5_000

const measureHeap = () => {
  setFlagsFromString("--expose_gc")
  const gc: () => void = runInNewContext("gc")
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

export const connections = async (): Promise<void> => {
  const { runtime } = await startInProcess(makeDataDirectory())
  const connector = findKeyConnector()
  const organisation = await runtime.runPromise(
    Effect.flatMap(makeFirstOrganisation("Bench", "unlimited"), (organisation) =>
      Effect.map(makeExample(organisation), (example) => ({ ...organisation, ...example }))
    )
  )
  const organisationId = organisation.organisationId

  const insert = Effect.forEach(
    Array.from({ length: storedCount / batchSize }, (_, i) => i * batchSize),
    (from) =>
      storeConnections({ organisationId, customerId: organisation.customerId }, connector, from, from + batchSize),
    { discard: true }
  )
  const before = measureHeap()
  await runtime.runPromise(insert)
  const untouched = measureHeap()

  const authorize = (i: number) =>
    Effect.flatMap(ConnectionsPort, (port) =>
      port.authorize({
        organisationId,
        connectionId: connectionId(i),
        origin: connector.origin,
        executionId: null,
        timeoutMillis: 60_000
      })
    )
  await runtime.runPromise(
    Effect.forEach(
      Array.from({ length: touchedCount }, (_, i) => i),
      authorize,
      { concurrency: 64, discard: true }
    )
  )
  const resident = measureHeap()

  const measureRate = async (concurrency: number, spread: number) => {
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
  /** The cost of a message to the actor and back: it settles a permit that does not exist, which has no effect. */
  const measureMailbox = async (concurrency: number) => {
    let done = 0
    const until = performance.now() + millis
    const message = Effect.flatMap(ConnectionsPort, (port) =>
      port.settle({
        organisationId,
        connectionId: connectionId(0),
        permit: { credential: -1, lease: null },
        status: 401,
        reading: null
      })
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
  rows.add(
    "stored, none used: heap",
    `${((untouched - before) / 1e6).toFixed(1)} MB for ${storedCount}`,
    "nothing resident"
  )
  rows.add("idle in memory, each", `${((resident - untouched) / touchedCount / 1024).toFixed(1)} KB`, "≤ 20 KB")
  for (const concurrency of [1, 16, 64])
    rows.add(`Authorize, c=${concurrency}, one connection`, `${await measureRate(concurrency, 1)}/s`, "≥ 5,000/s")
  rows.add("a message that does nothing, c=16", `${await measureMailbox(16)}/s`, "")
  rows.add("Authorize, c=64, 1,000 connections", `${await measureRate(64, 1_000)}/s`, "")
  rows.print(`Connections: ${storedCount} of one organisation`)
  await runtime.dispose()
}
