/** What waits for an answer of Postgres over a path that has gone silent does not wait for ever. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Option, Redacted } from "effect"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { Client } from "pg"
import { ConnectTimeout } from "../../src/runtime/postgres/database/pool/ConnectTimeout.js"
import { isConnectionLoss } from "../../src/runtime/postgres/database/pool/ConnectionLoss.js"
import { limitAnswers } from "../../src/runtime/postgres/database/pool/AnswerLimit.js"
import * as OpenSockets from "../../src/runtime/postgres/database/pool/OpenSockets.js"
import { connect } from "../../src/runtime/postgres/database/Pools.js"
import { layer, TestDatabase } from "../support/Database.js"
import { startPathProxy } from "../support/pathProxy.js"

/** A proxy before the test's server, and the writer's login through it. */
const silentPath = Effect.gen(function* () {
  const { urls } = yield* TestDatabase
  const url = new URL(Redacted.value(urls.writer))
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => startPathProxy(Number(url.port))),
    ({ close }) => Effect.sync(close)
  )
  url.hostname = "127.0.0.1"
  url.port = String(proxy.port)
  return { proxy, url: url.href }
})

const openClient = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      client.on("error", () => undefined)
      await client.connect()
      limitAnswers(client, 300)
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

describe("a silent path to Postgres", () => {
  it.scopedLive("fails the statements of a pool when all sockets are ended, and new connections work", () =>
    Effect.gen(function* () {
      const { proxy, url } = yield* silentPath
      const sockets = yield* OpenSockets.OpenSockets
      const sql = yield* connect(Redacted.make(url), { maxConnections: 2, applicationName: "silent" })
      yield* sql`SELECT 1`
      proxy.cut()
      const alone = yield* Effect.fork(Effect.flip(sql`SELECT 1`))
      const together = yield* Effect.fork(Effect.flip(sql.withTransaction(sql`SELECT 1`)))
      yield* Effect.sleep("50 millis")
      proxy.heal("dead")
      sockets.endAll()
      for (const failure of [yield* Fiber.join(alone), yield* Fiber.join(together)])
        assert.isTrue(failure._tag === "SqlError" && isConnectionLoss(failure))
      assert.deepStrictEqual(yield* sql`SELECT 1 AS one`, [{ one: 1 }])
    }).pipe(Effect.provide(layer), Effect.provide(OpenSockets.layer))
  )

  it.scopedLive("fails a connection after the time that is set", () =>
    Effect.gen(function* () {
      const sockets = new Set<Socket>()
      let isOver = false
      const mute = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createServer((socket) => (isOver ? socket.destroy() : sockets.add(socket)))
          server.listen(0, "127.0.0.1")
          await once(server, "listening")
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = mute.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const failing = (timeout: Duration.DurationInput) =>
        connect(Redacted.make(`postgres://svc@127.0.0.1:${port}/svc`), {
          maxConnections: 1,
          applicationName: "mute"
        }).pipe(Effect.provideService(ConnectTimeout, Duration.decode(timeout)), Effect.flip)
      const patient = yield* Effect.fork(failing("2 minutes"))
      assert.strictEqual((yield* failing("50 millis"))._tag, "SqlError")
      assert.isTrue(Option.isNone(yield* Fiber.poll(patient)))
      isOver = true
      for (const socket of sockets) socket.destroy()
      assert.strictEqual((yield* Fiber.join(patient))._tag, "SqlError")
    })
  )

  it.scopedLive("fails a statement at the client's limit", () =>
    Effect.gen(function* () {
      const { proxy, url } = yield* silentPath
      const client = yield* openClient(url)
      proxy.cut()
      const failure = yield* Effect.flip(Effect.tryPromise(() => client.query("SELECT 1")))
      assert.match(String(failure.cause), /Connection terminated/)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("delays the end of a connection until the client's limit", () =>
    Effect.gen(function* () {
      const { proxy, url } = yield* silentPath
      const client = yield* openClient(url)
      proxy.cut()
      yield* Effect.promise(() => client.end())
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("is none while a connection is idle", () =>
    Effect.gen(function* () {
      const { url } = yield* silentPath
      const client = yield* openClient(url)
      yield* Effect.sleep("700 millis")
      const { rows } = yield* Effect.promise(() => client.query("SELECT 1 AS one"))
      assert.deepStrictEqual(rows, [{ one: 1 }])
    }).pipe(Effect.provide(layer))
  )
})
