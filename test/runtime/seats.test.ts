/** Nodes take their seats one after the other; one that is cut off meanwhile does not keep the others out. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type NodeFacts, takeSeat } from "../../src/runtime/cluster/Seat.js"
import { serviceRelease } from "../../src/domain/run/ServiceRelease.js"
import { databaseUrl, freshDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { assertWithin } from "../support/pace.js"
import { startPathProxy } from "../support/pathProxy.js"
import { Client } from "pg"

const facts: NodeFacts = {
  role: "api",
  address: null,
  build: "build",
  release: serviceRelease,
  engines: ["engine"],
  secrets: ["proof"],
  isStarting: false
}
const events = {
  onEnd: () => undefined,
  onChange: () => undefined,
  onCommits: () => undefined,
  onNodes: () => undefined,
  seats: () => []
}
/** As long as a start waits for one statement, and as long as a seat may be silent while it is taken. */
const patienceMillis = 8_000

describe("taking a seat", () => {
  it.scopedLive(
    "is not kept from other nodes by one that was cut off while it took its own",
    () =>
      Effect.gen(function* () {
        const { admin, name, urls } = yield* freshDatabase
        yield* Effect.promise(async () => {
          const watcher = new Client({ connectionString: Redacted.value(admin) })
          await watcher.connect()
          const { rows } = await watcher.query<{ port: string }>("SHOW port")
          const proxy = await startPathProxy(Number(rows[0]?.port))
          const direct = new URL(databaseUrl(urls.owner, name))
          direct.hostname = "127.0.0.1"
          const through = new URL(direct)
          through.port = String(proxy.port)
          try {
            proxy.delay(100)
            const cutOff = takeSeat(through.href, "cut-off", facts, events)
            cutOff.catch(() => undefined)
            // It has the lock of the release.
            const holding = `SELECT FROM pg_stat_activity WHERE datname = '${name}' AND state = 'idle in transaction'
              AND query LIKE '%FOR UPDATE%'`
            await eventually(
              async () => (await watcher.query(holding)).rowCount,
              (count) => count === 1
            )
            proxy.cut("both")
            proxy.heal("dead")
            const from = performance.now()
            const taken = await eventually(
              () => takeSeat(direct.href, "other", facts, events).catch((error: unknown) => String(error)),
              (found) => typeof found !== "string"
            )
            assertWithin(performance.now() - from, patienceMillis)
            if (typeof taken !== "string") await taken.leave()
            await cutOff.then(
              () => assert.fail("the node that was cut off has a seat"),
              () => undefined
            )
          } finally {
            proxy.close()
            await watcher.end()
          }
        })
      }),
    60_000
  )
})
