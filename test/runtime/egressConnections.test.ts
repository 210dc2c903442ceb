/** The node's outgoing connections are divided among organisations, and a request that gets none says so. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, Fiber, Runtime } from "effect"
import { Egress, type EgressRequest } from "../../src/actors/ports/Egress.js"
import { egress } from "../../src/domain/Limits.js"
import { eventually as eventuallyOf } from "../support/eventually.js"
import { egressLayer, httpServer, send, textOf } from "./egressServer.js"
import { ownerOf } from "../support/shareOwners.js"

const minute = Duration.minutes(1)

/** A server that never answers `/hang`. */
const hangingServer = httpServer((request, response) => {
  if (request.url !== "/hang") response.end("fine")
})

const hang = (origin: string, owner: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.fork(send(`${origin}/hang`, { owner: ownerOf(`org_${owner}`), timeout: minute })),
    { concurrency: "unbounded" }
  )

const eventually = <A, R>(ask: Effect.Effect<A, never, R>, isIt: (answer: A) => boolean) =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.promise(() => eventuallyOf(() => Runtime.runPromise(runtime)(ask), isIt))
  )

const readings = Effect.flatMap(Egress, (egress) => egress.readings)

const ask = (url: string, owner: string, more: Partial<EgressRequest> = {}) =>
  Effect.either(send(url, { owner: ownerOf(`org_${owner}`), ...more }))

/** Waits until this many connections are open. */
const opened = (expected: number) =>
  eventually(
    Effect.map(readings, ({ open }) => open),
    (open) => open === expected
  )

describe("an organisation whose requests hang", () => {
  it.scoped("has its connections to an origin; a neighbour calls the same origin at once", () =>
    Effect.gen(function* () {
      const { origin } = yield* hangingServer
      const fibers = yield* hang(origin, "greedy", egress.connectionsPerOrigin + 20)
      yield* opened(egress.connectionsPerOrigin)
      assert.isTrue(Either.isRight(yield* ask(origin, "neighbour")))
      const refused = yield* ask(origin, "greedy", { timeout: Duration.millis(100) })
      if (Either.isRight(refused) || refused.left._tag !== "EgressBusy") return assert.fail("it got a connection")
      assert.match(refused.left.reason, /^the organisation's 128 connections to this address were in use for \d+ ms$/)
      assert.include(yield* readings, { waiting: 20, refused: 1 })
      yield* Effect.forEach(fibers, Fiber.interrupt, { concurrency: "unbounded" })
      yield* eventually(readings, ({ open, waiting }) => open <= 1 && waiting === 0)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("leaves as many connections free as it has; each further organisation finds some", () =>
    Effect.gen(function* () {
      const servers = yield* Effect.all([hangingServer, hangingServer])
      for (const { origin } of servers) yield* hang(origin, "first", 40)
      yield* opened(30)
      for (const { origin } of servers) yield* hang(origin, "second", 40)
      yield* opened(45)
      const third = yield* ask(servers[0].origin, "third")
      assert.isTrue(Either.isRight(third))
      const refused = yield* ask(servers[0].origin, "first", { timeout: Duration.millis(100) })
      if (Either.isRight(refused) || refused.left._tag !== "EgressBusy") return assert.fail("it got a connection")
      assert.match(
        refused.left.reason,
        /^the share of the node's connections of the organisation and those that share its plan was in use for \d+ ms$/
      )
    }).pipe(Effect.provide(egressLayer(undefined, undefined, 60)))
  )

  it.scoped("gets the connections that become free, in order", () =>
    Effect.gen(function* () {
      const waiting: Array<() => void> = []
      const { origin } = yield* httpServer((request, response) => void waiting.push(() => response.end(request.url)))
      const count = egress.connectionsPerOrigin + 10
      const fibers = yield* Effect.forEach(Array.from({ length: count }), (_, nth) =>
        Effect.fork(send(`${origin}/${nth}`, { timeout: minute }))
      )
      yield* eventually(
        Effect.sync(() => waiting.length),
        (length) => length === egress.connectionsPerOrigin
      )
      const answer = () => {
        for (const end of waiting.splice(0)) end()
      }
      answer()
      yield* eventually(
        Effect.sync(() => waiting.length),
        (length) => length === 10
      )
      answer()
      const bodies = yield* Effect.forEach(fibers, (fiber) => Effect.map(Fiber.join(fiber), textOf))
      assert.deepStrictEqual(
        bodies,
        Array.from({ length: count }, (_, nth) => `/${nth}`)
      )
    }).pipe(Effect.provide(egressLayer()))
  )
})

describe("idle connections", () => {
  it.scoped("are closed when another organisation needs their places", () =>
    Effect.gen(function* () {
      const servers = yield* Effect.all(Array.from({ length: 5 }, () => hangingServer))
      for (const { origin } of servers) assert.isTrue(Either.isRight(yield* ask(origin, "first")))
      yield* opened(5)
      for (const { origin } of servers.slice(0, 3)) yield* hang(origin, "second", 1)
      yield* opened(8)
      // All ten are in use or idle once two more hang; the next one closes the idle ones.
      yield* hang(servers[3]?.origin ?? "", "third", 2)
      const late = yield* ask(servers[4]?.origin ?? "", "fourth")
      assert.isTrue(Either.isRight(late))
    }).pipe(Effect.provide(egressLayer(undefined, undefined, 10)))
  )

  it.scoped("and abandoned attempts to connect count for the organisation that made them", () =>
    Effect.gen(function* () {
      // A name that never resolves: the attempt goes on after its request was given up.
      const silent = () => new Promise<ReadonlyArray<string>>(() => undefined)
      const tags = yield* Effect.forEach(Array.from({ length: 6 }), (_, nth) =>
        Effect.map(ask(`http://n${nth}.example/`, "first", { timeout: Duration.millis(40) }), (result) =>
          Either.isLeft(result) ? result.left._tag : "answered"
        )
      ).pipe(Effect.provide(egressLayer("", silent, 8)))
      const few = (tag: string, count: number) => Array.from({ length: count }, () => tag)
      assert.deepStrictEqual(tags, [...few("EgressTimedOut", 4), ...few("EgressBusy", 2)])
    })
  )
})
