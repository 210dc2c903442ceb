/** A node takes its seat beside one that was cut off while it took its own. */
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type NodeFacts, takeSeat } from "../../src/runtime/cluster/Seat.js"
import { serviceRelease } from "../../src/domain/run/ServiceRelease.js"
import { databaseUrl, freshDatabase } from "./Database.js"
import { eventually } from "./eventually.js"
import { startPathProxy } from "./pathProxy.js"
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

/** Takes a seat, and fails if the node that was cut off has one. Returns the milliseconds that it took. */
export const takeSeatBesideCutOff = Effect.gen(function* () {
  const { admin, name, urls } = yield* freshDatabase
  return yield* Effect.promise(async () => {
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
      const from = Date.now()
      const taken = await eventually(
        () => takeSeat(direct.href, "other", facts, events).catch((error: unknown) => String(error)),
        (found) => typeof found !== "string"
      )
      const took = Date.now() - from
      if (typeof taken !== "string") await taken.leave()
      await cutOff.then(
        () => assert.fail("the node that was cut off has a seat"),
        () => undefined
      )
      return took
    } finally {
      proxy.close()
      await watcher.end()
    }
  })
})
