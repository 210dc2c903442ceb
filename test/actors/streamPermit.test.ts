/** The permit of a call with a streamed answer lasts as long as the stream, up to its limit. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer, TestClock } from "effect"
import { layer } from "../../src/actors/connection/ConnectedCalls.js"
import { ConnectedCalls } from "../../src/actors/ports/connection/ConnectedCalls.js"
import { ConnectedEgress } from "../../src/actors/connection/CallAttempt.js"
import { Connections } from "../../src/actors/ports/connection/Connections.js"
import { leaseCalls, reportUse, unusedState } from "../../src/domain/connection/CallLeases.js"
import type { CallLimits } from "../../src/domain/connection/CallLimits.js"
import { decodeManifest } from "../../src/domain/connector/Definition.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import { manifest, origin } from "../support/connectionWorld.js"

const single: CallLimits = { requests: null, perMillis: 1_000, concurrency: 1 }

/** Calls to a provider that allows one at a time. The test or the caller ends the answers. */
const world = Effect.gen(function* () {
  let state = unusedState
  let permits = 0
  const ends: Array<() => void> = []
  const cancelled: Array<number> = []
  const connections = Connections.of({
    ...unused(Connections.key),
    authorize: ({ timeoutMillis }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const permit = { credential: 1, lease: String((permits += 1)) }
        const taken = leaseCalls(single, state, { id: permit.lease, wanted: 1, timeoutMillis }, now)
        state = taken.state
        return taken._tag === "Leased"
          ? { _tag: "Granted" as const, grant: new Uint8Array(0), permit }
          : { _tag: "WaitUntil" as const, at: taken.at, why: "rate_limit" as const }
      }),
    settle: ({ permit }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state = reportUse(single, state, { id: permit.lease ?? "", used: 1, lastAt: now }, now)
      })
  })
  const egress = ConnectedEgress.of({
    send: () => Effect.dieMessage("not used"),
    open: ({ url }) =>
      Effect.map(Clock.currentTimeMillis, () => {
        let end = () => {}
        const ended = new Promise<void>((resolve) => {
          end = resolve
        })
        const nth = ends.push(end)
        return {
          status: 200,
          url,
          headers: [],
          body: (async function* () {})(),
          cancel: () => {
            cancelled.push(nth)
            end()
          },
          ended: Effect.promise(() => ended)
        }
      })
  })
  const calls = yield* Layer.build(
    layer.pipe(
      Layer.provide(Layer.succeed(Connections, connections)),
      Layer.provide(Layer.succeed(ConnectedEgress, egress))
    )
  ).pipe(Effect.flatMap((context) => Effect.provide(ConnectedCalls, context)))
  const identifiers = makeIdentifiers()
  const open = calls.open(
    {
      organisationId: identifiers.next("org"),
      connectionId: identifiers.next("conn"),
      executionId: null,
      definition: decodeManifest(manifest()),
      request: { method: "GET", url: `${origin}/x`, origin, headers: [], body: null, timeoutMillis: 60_000 },
      maxBytes: 1_000,
      earlierAttempts: 0,
      retries: "none",
      stall: Duration.seconds(30)
    },
    () => null
  )
  return { open, ends, cancelled }
})

/** A port of which a test uses two methods; the others die by name. */
const unused = (name: string): typeof Connections.Service =>
  new Proxy({} as typeof Connections.Service, {
    ownKeys: () => [],
    get: (_, method) => () => Effect.dieMessage(`${name}.${String(method)} is not used`)
  })

const settle = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
const tagOf = (open: Effect.Effect.Success<typeof world>["open"]) =>
  Effect.map(Effect.either(open), (result) => (result._tag === "Right" ? "opened" : result.left._tag))

describe("a call with a streamed answer", () => {
  it.scoped("keeps its slot among the calls in flight until its answer has ended", () =>
    Effect.gen(function* () {
      const { cancelled, ends, open } = yield* world
      assert.strictEqual(yield* tagOf(open), "opened")
      for (let n = 0; n < 9; n++) {
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* tagOf(open), "Postponed", `${n + 1} minutes`)
      }
      ends[0]?.()
      yield* settle
      assert.strictEqual(yield* tagOf(open), "opened")
      assert.deepStrictEqual(cancelled, [])
    })
  )

  it.scoped("is cancelled with its permit after ten minutes, so that the provider's concurrency limit holds", () =>
    Effect.gen(function* () {
      const { cancelled, open } = yield* world
      assert.strictEqual(yield* tagOf(open), "opened")
      yield* TestClock.adjust("599 seconds")
      yield* settle
      assert.deepStrictEqual([cancelled, yield* tagOf(open)], [[], "Postponed"])
      yield* TestClock.adjust("1 seconds")
      yield* settle
      assert.deepStrictEqual(cancelled, [1])
      assert.strictEqual(yield* tagOf(open), "opened")
    })
  )
})
