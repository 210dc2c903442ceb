/**
 * Any number of concurrent tests, refreshes and calls, in every state of the token, cause one token request per expiry,
 * use no grant twice, and leave the connection active.
 */
import { assert, describe, it } from "@effect/vitest"
import { withEndlessMemory } from "../support/holdings.js"
import { Clock, Duration, Effect, Either, Fiber, Layer, Option, Redacted, TestClock } from "effect"
import { makeActorClient } from "../../src/actors/connection/ActorClient.js"
import { layer as callsLayer } from "../../src/actors/connection/ConnectedCalls.js"
import { type ConnectedCall, ConnectedCalls } from "../../src/actors/ports/connection/ConnectedCalls.js"
import { ConnectedEgress } from "../../src/actors/connection/CallAttempt.js"
import { Connections } from "../../src/actors/ports/connection/Connections.js"
import { decodeManifest } from "../../src/domain/connector/Definition.js"
import { initiator, failedAnswer, makeWorld, manifest, organisation, origin } from "../support/connectionWorld.js"

const ways = ["run", "proxy", "test", "enable", "refresh", "health sweep"] as const
type Way = (typeof ways)[number]

const definition = manifest({}, { test: { action: "me" } })

/** A provider that rotates, ends the grant on a reused refresh token, and checks the age of every access token. */
const providerOf = (seconds: number, latency: Duration.DurationInput) => {
  const endsAt = new Map<string, number>()
  let refreshToken = "refresh-0"
  let isGrantAlive = true
  const isTaken = (token: string) => Effect.map(Clock.currentTimeMillis, (now) => (endsAt.get(token) ?? 0) > now)
  return {
    endsAt,
    isTaken,
    isGrantAlive: () => isGrantAlive,
    endGrant: () => {
      isGrantAlive = false
      endsAt.clear()
    },
    answer: (request: { readonly grant: { readonly type: string } }, n: number) =>
      Effect.gen(function* () {
        yield* Effect.sleep(latency)
        const { grant } = request
        const given = "refreshToken" in grant && Redacted.isRedacted(grant.refreshToken) ? grant.refreshToken : null
        if (!isGrantAlive || given === null || Redacted.value(given) !== refreshToken) {
          isGrantAlive = false
          return yield* failedAnswer(400, "invalid_grant")
        }
        refreshToken = `refresh-${n}`
        endsAt.clear()
        endsAt.set(`access-${n}`, (yield* Clock.currentTimeMillis) + seconds * 1_000)
        return {
          accessToken: Redacted.make(`access-${n}`),
          refreshToken: Redacted.make(refreshToken),
          expiresInSeconds: seconds
        }
      }),
    api: (headers: ReadonlyArray<readonly [string, string]>) =>
      Effect.map(isTaken(headers.find(([name]) => name === "authorization")?.[1].slice(7) ?? ""), (taken) =>
        taken ? { status: 200, body: "{}" } : { status: 401, body: '{"error":"invalid_token"}' }
      )
  }
}

const makeScene = (seconds: number, latency: Duration.DurationInput) =>
  Effect.gen(function* () {
    const provider = providerOf(seconds, latency)
    const world = yield* makeWorld({ manifest: definition, answer: provider.answer, api: provider.api })
    provider.endsAt.set("access-0", (yield* world.now) + seconds * 1_000)
    const id = yield* world.connected(seconds)
    const actor = yield* world.client(id)
    const commands = makeActorClient(actor)
    const asked = { organisationId: organisation, by: initiator }

    const connections = Connections.of({
      ...unused(Connections.key),
      authorize: ({ connectionId: _id, executionId, organisationId, origin: to, timeoutMillis }) =>
        actor
          .Authorize({ organisationId, origin: to, executionId, timeoutMillis })
          .pipe(Effect.catchIf((refusal) => refusal._tag !== "ConnectionNotActive", Effect.die)),
      settle: ({ connectionId: _id, ...settlement }) => actor.Settle(settlement).pipe(Effect.orDie),
      renewRefused: ({ organisationId, permit }) => Effect.orDie(commands.renewRefused({ organisationId, permit }))
    })
    /** Reads the token in a grant, which the test's vault does not encrypt: the provider's answer depends on it. */
    const statusFor = (grant: Uint8Array) => {
      // The preceding bytes are the grant's expiry, with arbitrary values.
      const sealed = Buffer.from(grant).toString("latin1").split("\n").at(-1) ?? ""
      const token = /access-\d+/.exec(Buffer.from(sealed, "base64").toString())?.[0] ?? ""
      return Effect.map(provider.isTaken(token), (taken) => (taken ? 200 : 401))
    }
    const egress = ConnectedEgress.of({
      send: ({ grant, url }) =>
        Effect.map(statusFor(grant), (status) => ({
          status,
          url,
          headers: [],
          body: new Uint8Array(),
          shortSecrets: []
        })),
      open: ({ grant, url }) =>
        Effect.map(statusFor(grant), (status) => ({
          status,
          url,
          headers: [],
          body: (async function* () {})(),
          cancel: () => undefined,
          ended: Effect.void
        }))
    })
    const calls = yield* Effect.provide(
      ConnectedCalls,
      callsLayer.pipe(
        Layer.provide(Layer.succeed(Connections, connections)),
        Layer.provide(Layer.succeed(ConnectedEgress, egress))
      )
    )
    const { organisationId } = world.row(id).connection
    const call: ConnectedCall = {
      organisationId,
      connectionId: id,
      executionId: null,
      definition: decodeManifest(definition),
      request: { method: "GET", url: `${origin}/me`, origin, headers: [], body: null, timeoutMillis: 60_000 },
      maxBytes: 1_000,
      earlierAttempts: 0,
      retries: "none"
    }
    const okay = (status: number) => (status === 200 ? Effect.void : Effect.fail(`HTTP ${status}`))
    const read = ({ status }: { readonly status: number }) =>
      Effect.succeed(
        status === 200
          ? Either.right(null)
          : Either.left({
              category: "auth" as const,
              status,
              message: `HTTP ${status}`,
              code: null,
              body: null,
              retryAfterMillis: null
            })
      )
    const ways: { readonly [way in Way]: Effect.Effect<void, unknown> } = {
      run: withEndlessMemory(Effect.asVoid(calls.send(call, read))),
      proxy: Effect.flatMap(
        calls.open({ ...call, stall: Duration.seconds(30), upload: undefined }, () => null),
        ({ status }) => okay(status)
      ),
      test: Effect.flatMap(commands.test(asked), ({ message, ok }) => (ok ? Effect.void : Effect.fail(message))),
      enable: Effect.catchIf(
        commands.enable(asked),
        // Another of the concurrent callers was first.
        (refusal) => refusal._tag === "InvalidState" && refusal.state === "active",
        () => Effect.void
      ),
      refresh: commands.refresh(asked),
      "health sweep": commands.checkDue({ organisationId: organisation })
    }
    /** Advances the test clock until all callers have their answer. */
    const all = <E>(way: Effect.Effect<void, E>, callers: number) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(
          Effect.forEach(
            Array.from({ length: callers }, () => way),
            Effect.either,
            { concurrency: "unbounded" }
          )
        )
        for (let step = 0; step < 200 && Option.isNone(yield* Fiber.poll(fiber)); step++) {
          yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow(), { discard: true })
          yield* TestClock.adjust("100 millis")
        }
        return yield* Fiber.join(fiber)
      })
    return { provider, world, id, commands, asked, ways, all }
  })

const states = ["fresh", "lapsed", "revoked"] as const

/** A valid token is refreshed only on request; the sweep sends no request to the API. */
const requestsFor = (way: Way, state: (typeof states)[number]): number => {
  if (way === "refresh") return 1
  return state === "fresh" || (way === "health sweep" && state === "revoked") ? 0 : 1
}

describe.each(ways)("%s", (way) => {
  it.scoped.each([
    [6, "10 millis"],
    [6, "3 seconds"],
    [75, "10 millis"],
    [75, "3 seconds"],
    [3_600, "10 millis"],
    [3_600, "3 seconds"]
  ] as const)(
    "with tokens of %i s and a provider that takes %s: valid, expired and revoked, alone and 200 at once",
    ([seconds, latency]) =>
      Effect.gen(function* () {
        for (const state of states) {
          for (const callers of [1, 200]) {
            const about = `${way}, ${state}, ${callers} at once`
            const scene = yield* makeScene(seconds, latency)
            if (way === "enable") yield* scene.commands.disable(scene.asked)
            if (state === "lapsed") yield* TestClock.adjust(Duration.seconds(seconds))
            if (state === "revoked") scene.provider.endsAt.clear()
            const answers = yield* scene.all(scene.ways[way], callers)
            assert.deepStrictEqual(answers.filter(Either.isLeft), [], about)
            assert.lengthOf(scene.world.asked, requestsFor(way, state), about)
            assert.isTrue(scene.provider.isGrantAlive(), about)
            assert.strictEqual(scene.world.row(scene.id).connection.status, "active", about)
            const [after] = yield* scene.all(scene.ways.run, 1)
            assert.isTrue(after !== undefined && Either.isRight(after), `${about}: a run afterwards`)
          }
        }
      })
  )

  it.scoped("of a revoked grant expires the connection, after one request to the token endpoint", () =>
    Effect.gen(function* () {
      for (const callers of [1, 200]) {
        const scene = yield* makeScene(3_600, "3 seconds")
        if (way === "enable") yield* scene.commands.disable(scene.asked)
        yield* TestClock.adjust("1 hour")
        scene.provider.endGrant()
        const answers = yield* scene.all(Effect.ignore(scene.ways[way]), callers)
        assert.lengthOf(answers, callers)
        assert.lengthOf(scene.world.asked, 1)
        assert.strictEqual(scene.world.row(scene.id).connection.status, "expired")
      }
    })
  )
})

describe("tests, refreshes and calls at once", () => {
  it.scoped("through twenty expiries leave a valid connection active, and every call succeeds", () =>
    Effect.gen(function* () {
      const scene = yield* makeScene(6, "3 seconds")
      for (let expiry = 0; expiry < 20; expiry++) {
        yield* TestClock.adjust("6 seconds")
        const before = scene.world.asked.length
        const [runs, tests] = yield* Effect.all(
          [scene.all(scene.ways.run, 200), scene.all(scene.ways.test, 20), scene.all(scene.ways.refresh, 20)],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...runs, ...tests].filter(Either.isLeft), [])
        assert.strictEqual(scene.world.asked.length - before, 1)
      }
      assert.strictEqual(scene.world.row(scene.id).connection.status, "active")
    })
  )
})

describe("a refused token", () => {
  it.scoped("that the token endpoint just issued fails its connection at the second test", () =>
    Effect.gen(function* () {
      const scene = yield* makeScene(3_600, "10 millis")
      yield* scene.all(scene.ways.refresh, 1)
      scene.provider.endsAt.clear()
      yield* scene.all(Effect.ignore(scene.ways.test), 1)
      assert.strictEqual(scene.world.row(scene.id).connection.status, "active")
      yield* scene.all(Effect.ignore(scene.ways.test), 1)
      assert.strictEqual(scene.world.row(scene.id).connection.status, "failed")
      assert.lengthOf(scene.world.asked, 1)
    })
  )

  it.scoped("is not refreshed if the definition declares the refusal final", () =>
    Effect.gen(function* () {
      const final = manifest(
        {},
        {
          test: { action: "me" },
          actions: [
            { name: "me", request: { method: "GET", path: "/me" }, response: { finalCodes: ["account_closed"] } }
          ]
        }
      )
      let isClosed = false
      const world = yield* makeWorld({
        manifest: final,
        answer: () => Effect.never,
        api: () => (isClosed ? { status: 401, body: '{"error":"account_closed"}' } : { status: 200, body: "{}" })
      })
      const id = yield* world.connected()
      yield* TestClock.adjust("10 minutes")
      isClosed = true
      const commands = makeActorClient(yield* world.client(id))
      for (let i = 0; i < 3; i++)
        assert.isFalse((yield* commands.test({ organisationId: organisation, by: initiator })).ok)
      assert.lengthOf(world.asked, 0)
      assert.strictEqual(world.row(id).connection.status, "active")
    })
  )

  it.scoped("of a disabled connection is refreshed, and the rotated refresh token is stored", () =>
    Effect.gen(function* () {
      const scene = yield* makeScene(3_600, "3 seconds")
      yield* TestClock.adjust("1 hour")
      const run = yield* Effect.fork(Effect.exit(scene.ways.run))
      yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })
      yield* scene.commands.disable(scene.asked)
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(run)
      assert.strictEqual(scene.world.row(scene.id).connection.status, "inactive")
      const [enabled] = yield* scene.all(scene.ways.enable, 1)
      assert.isTrue(enabled !== undefined && Either.isRight(enabled))
      assert.lengthOf(scene.world.asked, 1)
    })
  )
})

const unused = (name: string): typeof Connections.Service =>
  new Proxy({} as typeof Connections.Service, {
    ownKeys: () => [],
    get: (_, method) => () => Effect.dieMessage(`${name}.${String(method)} is not used`)
  })
