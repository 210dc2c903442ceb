/**
 * Measures `svc keys rotate` with 100,000 stored credentials of 5,000 organisations while readers read them. Each
 * organisation has a data key of its own, which the command wraps again. No read may fail.
 */
import { Effect, Redacted } from "effect"
import { randomInt } from "node:crypto"
import { fileURLToPath } from "node:url"
import { Connections as ConnectionsPort } from "../src/actors/ports/connection/Connections.js"
import { ConnectionStore } from "../src/actors/ports/connection/ConnectionStore.js"
import type { OrganisationId } from "../src/domain/Ids.js"
import { resolveSecrets } from "../src/runtime/vault/InstallationSecrets.js"
import { WriterSql } from "../test/support/Sql.js"
import * as DataKeys from "../src/runtime/vault/DataKeys.js"
import * as VaultDriver from "../src/runtime/vault/Vault.js"
import { start } from "./support/Children.js"
import { startInProcess } from "./support/InProcess.js"
import { makeDataDirectory } from "./support/Service.js"
import { connectionId, findKeyConnector, idNumber, storeConnections } from "./support/StoredConnections.js"
import { Table } from "./support/Table.js"

const organisations = 5_000
const connectionsEach = 20
const storedCount = organisations * connectionsEach
const rotations = 3
const readers = 4
/** The pause between two reads of a reader. */
const pauseMillis = 2

// A literal in the form of an id.
const organisationId = (i: number) => `org_${idNumber(i)}` as OrganisationId
const customerId = (i: number) => `cus_${idNumber(i)}`

export const rewrap = async (): Promise<void> => {
  const dataDir = makeDataDirectory()
  const { config, runtime } = await startInProcess(dataDir)
  const connector = findKeyConnector()
  await runtime.runPromise(
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const all = Array.from({ length: organisations }, (_, i) => i)
      yield* sql.unsafe(
        `INSERT INTO organisations (id, name, slug, plan) SELECT id, id, lower(replace(id, '_', '-')), 'unlimited' FROM unnest($1::text[]) AS t(id)`,
        [all.map(organisationId)]
      )
      yield* sql.unsafe(
        `INSERT INTO customers (id, org, name, slug) SELECT id, org, id, 'one' FROM unnest($1::text[], $2::text[]) AS t(id, org)`,
        [all.map(customerId), all.map(organisationId)]
      )
      yield* Effect.forEach(
        all,
        (i) =>
          storeConnections(
            { organisationId: organisationId(i), customerId: customerId(i) },
            connector,
            i * connectionsEach,
            (i + 1) * connectionsEach
          ),
        { concurrency: 8, discard: true }
      )
    })
  )

  /** The vault of a node that has just started: it has no data key in memory, and reads the current keyring. */
  const coldVault = Effect.gen(function* () {
    const reread = Effect.map(resolveSecrets(config, { create: false }), ({ masterKeys }) => Redacted.value(masterKeys))
    return yield* VaultDriver.make({ keyring: yield* reread, reread })
  }).pipe(Effect.provide(DataKeys.layerPostgres))

  const authorize = (i: number, organisation: OrganisationId) =>
    Effect.flatMap(ConnectionsPort, (connections) =>
      connections.authorize({
        organisationId: organisation,
        connectionId: connectionId(i),
        origin: connector.origin,
        executionId: null,
        timeoutMillis: 60_000
      })
    )
  const open = (i: number, organisation: OrganisationId) =>
    Effect.gen(function* () {
      const vault = yield* (yield* coldVault).of(organisation)
      const { credential } = yield* Effect.flatten((yield* ConnectionStore).load(connectionId(i)))
      if (credential === null) return yield* Effect.fail("no credential")
      const { id, number: version, sealed } = credential
      return yield* Effect.try(() =>
        vault.open({ table: "credentials", column: "sealed", row: `${id}/${version}` }, sealed)
      )
    })

  let isReading = true
  const measureReads = <E, R>(read: (i: number, organisation: OrganisationId) => Effect.Effect<unknown, E, R>) => {
    const times: Array<number> = []
    const failures: Array<string> = []
    const once = Effect.suspend(() => {
      const i = randomInt(storedCount)
      const began = performance.now()
      return read(i, organisationId(Math.floor(i / connectionsEach))).pipe(
        Effect.sandbox,
        Effect.match({ onSuccess: () => undefined, onFailure: (cause) => void failures.push(String(cause)) }),
        Effect.map(() => times.push(performance.now() - began))
      )
    })
    const work = Effect.repeat(Effect.zipRight(once, Effect.sleep(pauseMillis)), { while: () => isReading })
    return {
      times,
      failures,
      work: Effect.all(
        Array.from({ length: readers }, () => work),
        { concurrency: "unbounded", discard: true }
      )
    }
  }
  const kinds = {
    "Authorize at the service": measureReads(authorize),
    "opened by a node that has just started": measureReads(open)
  }

  const rows = new Table("what", "measured", "must")
  let peak = 0
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 200)
  const readsEnd = runtime.runPromise(
    Effect.all(
      Object.values(kinds).map(({ work }) => work),
      { concurrency: "unbounded", discard: true }
    )
  )
  for (let n = 1; n <= rotations; n++) {
    const began = performance.now()
    const child = start([fileURLToPath(new URL("../../../dist/svc.js", import.meta.url)), "keys", "rotate"], {
      SVC_DATA_DIR: dataDir
    })
    const output = child.printed(/(\d+) data keys are wrapped by it/)
    const code = await child.ended
    if (code !== 0) throw new Error(`svc keys rotate ended with ${code}`)
    const keys = Number(/(\d+) data keys/.exec(await output)?.[1])
    const seconds = (performance.now() - began) / 1_000
    rows.add(
      `rotation ${n}: start of the command to its end`,
      `${seconds.toFixed(1)} s, ${keys} data keys, ${Math.round(keys / seconds)}/s; ${Math.round(storedCount / seconds)} credentials/s`,
      ""
    )
  }
  isReading = false
  await readsEnd
  clearInterval(watch)
  for (const [name, { failures, times }] of Object.entries(kinds)) {
    const sorted = times.toSorted((a, b) => a - b)
    const at = (share: number) => `${(sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)} ms`
    rows.add(`${name}: reads, failed`, `${times.length}, ${failures.length}`, "none failed")
    rows.add(`${name}: p50, p99`, `${at(0.5)}, ${at(0.99)}`, "")
    for (const failure of new Set(failures.slice(0, 3))) rows.note(failure)
  }
  rows.add("memory of the service, readers and all, at most", `${Math.round(peak / 1e6)} MB`, "")
  const keysInUse = await runtime.runPromise(
    Effect.flatMap(WriterSql, (sql) =>
      Effect.map(
        sql<{ keys: number }>`SELECT count(DISTINCT master_key_id)::int AS keys FROM data_keys`,
        ([row]) => row?.keys
      )
    )
  )
  rows.add("master keys in use afterwards", `${keysInUse}`, "1")
  rows.print(`Rewrap: ${storedCount} credentials of ${organisations} organisations`)
  await runtime.dispose()
}
