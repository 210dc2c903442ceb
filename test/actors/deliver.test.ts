/**
 * Deliveries reach their endpoint, within the limits of concurrency, on the schedule of the contract, despite failures.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import { CallbackSecrets } from "../../src/actors/ports/CallbackSecrets.js"
import { Deliveries } from "../../src/actors/ports/Deliveries.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import {
  Egress,
  EgressBlocked,
  type EgressFailure,
  type EgressRequest,
  EgressTimedOut
} from "../../src/actors/ports/Egress.js"
import { MailEgress } from "../../src/actors/ports/MailEgress.js"
import { Vault } from "../../src/actors/ports/Vault.js"
import { Wakeups } from "../../src/actors/ports/Wakeups.js"
import { make } from "../../src/actors/pipeline/Deliver.js"
import {
  type Delivery,
  type DeliveryEndpoint,
  endpointOf,
  deliveriesInFlight,
  type Verdict
} from "../../src/domain/Delivery.js"
import { Unavailable } from "../../src/domain/Failure.js"
import type { DeliveryId, ExecutionId, OrganisationId, SpaceId, WebhookEndpointId } from "../../src/domain/Ids.js"
import { verifyWebhook } from "../../src/domain/Signature.js"
import { makeDigests } from "../../src/runtime/process/Crypto.js"
import * as LocalWakeups from "../../src/runtime/process/Wakeups.js"
import { makeFailedJobs } from "../support/failedJobs.js"
import { announce } from "../support/LogExpectations.js"
import { placeVault, sealedAt } from "../support/placeVault.js"

const secrets = ["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="]
const digests = makeDigests({ pepper: Redacted.make("a pepper of thirty-two characters") })
const hook = "https://receiver.example/hook"

const isSignedWith = ({ headers }: EgressRequest, id: string, secret: string, body = `{"n":"${id}"}`): boolean => {
  const header = Object.fromEntries(headers)
  const webhook = {
    "webhook-id": id,
    "webhook-timestamp": header["webhook-timestamp"] ?? "",
    "webhook-signature": header["webhook-signature"] ?? ""
  }
  return verifyWebhook(digests, [secret], webhook, body, 0)._tag === "Right"
}

describe("a delivery", () => {
  it.scoped("is signed with every secret that is still valid", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      world.add("a", `${hook}?token=1`)
      yield* world.begin
      yield* world.settled("a")
      const [sent] = world.sent
      assert.isDefined(sent)
      const { body, headers, method, redirects, url } = sent
      assert.deepStrictEqual([method, url, body, redirects], ["POST", `${hook}?token=1`, `{"n":"a"}`, 0])
      const header = Object.fromEntries(headers)
      assert.strictEqual(header["content-type"], "application/json")
      assert.strictEqual(header["x-svc-execution-id"], "exec_a")
      for (const secret of secrets) {
        assert.isTrue(isSignedWith(sent, "a", secret))
        assert.isFalse(isSignedWith(sent, "a", secret, `{"n":"b"}`))
      }
    })
  )

  it.scoped("of an event is signed with the secrets of its endpoint, and not with those of callbacks", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const [own, before] = ["whsec_ZW5kcG9pbnQgc2VjcmV0IG51bWJlciBvbmU=", "whsec_ZW5kcG9pbnQgc2VjcmV0IG51bWJlciB0d28="]
      const id = "whe_a" as WebhookEndpointId
      const sealed = (column: string, secret: string) => sealedAt(["org_a", "webhook_endpoints", column, id], secret)
      world.add("a", hook, { id, secret: sealed("secret", own), secretBefore: sealed("secret_before", before) })
      world.add("b", hook, { id, secret: sealed("secret", own), secretBefore: null })
      yield* world.begin
      yield* world.settled("a")
      yield* world.settled("b")
      const verifies = (name: string, secret: string) => {
        const found = world.sent.find(({ body }) => body === `{"n":"${name}"}`)
        return found !== undefined && isSignedWith(found, name, secret)
      }
      assert.deepStrictEqual(
        [verifies("a", own), verifies("a", before), verifies("b", own), verifies("b", before)],
        [true, true, true, false]
      )
      for (const secret of secrets) assert.isFalse(verifies("a", secret))
    })
  )

  it.scoped("is tried eight times, at the contract's times, and then kept as exhausted", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld(() => Effect.succeed(500))
      world.add("a", hook)
      const row = world.rows[0]
      assert.isDefined(row)
      while (row.status === "pending") {
        yield* TestClock.setTime(row.nextAt - 1)
        yield* world.sendDue
        assert.strictEqual(row.claimedUntil, 0, "nothing is due a moment too soon")
        yield* TestClock.setTime(row.nextAt)
        const before = row.attempts
        yield* world.sendDue
        yield* world.until(() => row.attempts > before && row.claimedUntil === 0)
      }
      assert.deepInclude(row, { status: "exhausted", attempts: 8 })
      const pauses = world.times.map((at, i) => at - (world.times[i - 1] ?? 0))
      assert.deepStrictEqual(
        pauses.map((millis) => Math.round(millis / 1000)),
        [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
      )
    })
  )

  it.scoped("is tried on another schedule if one is configured", () =>
    Effect.gen(function* () {
      let n = 0
      const world = yield* makeWorld(() => Effect.sync(() => (++n < 3 ? 500 : 200)), {
        schedule: [Duration.seconds(1), Duration.seconds(2)]
      })
      world.add("a", hook)
      yield* world.begin
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(world.times, [0, 1_000, 3_000])
      assert.strictEqual(world.rows[0]?.status, "delivered")
    })
  )

  it.scoped("to a blocked URL ends at once, with the reason", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld((request) =>
        Effect.fail(new EgressBlocked({ url: request.url, reason: "leads to 10.0.0.1, which is private" }))
      )
      world.add("a", hook)
      yield* world.begin
      yield* world.settled("a")
      assert.deepInclude(world.rows[0], {
        status: "exhausted",
        attempts: 1,
        error: "the URL leads to 10.0.0.1, which is private"
      })
    })
  )

  it.scoped("whose secret cannot be read is retried", () =>
    Effect.gen(function* () {
      announce(/"background_task\.job_failed".*Unavailable: the vault is locked/, { required: true })
      const world = yield* makeWorld()
      world.locked = true
      world.add("a", hook)
      yield* world.begin
      yield* TestClock.adjust("1 second")
      assert.strictEqual(world.sent.length, 0)
      world.locked = false
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(world.rows[0]?.status, "delivered")
    })
  )

  it.scoped("is sent the moment it is written, without a poll", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.begin
      yield* TestClock.adjust("10 millis")
      world.add("a", hook)
      world.wake()
      yield* world.settled("a")
      assert.deepStrictEqual(world.times, [10])
    })
  )
})

describe("an endpoint", () => {
  it.scoped(`has at most ${deliveriesInFlight.perEndpoint} in flight, and delays no other endpoint`, () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const slow = "https://slow.example/hook"
      const world = yield* makeWorld(({ url }) =>
        url.startsWith(slow) ? Effect.as(Deferred.await(gate), 200) : Effect.succeed(200)
      )
      for (let i = 0; i < 100; i++) world.add(`slow${i}`, `${slow}?n=${i}`)
      for (let i = 0; i < 10; i++) world.add(`fast${i}`, `https://fast.example/${i % 2}`)
      yield* world.begin
      yield* TestClock.adjust("2 seconds")
      const delivered = world.rows.filter((row) => row.status === "delivered").map((row) => row.id)
      assert.deepStrictEqual(
        delivered.map((id) => id.slice(0, 4)),
        Array.from({ length: 10 }, () => "fast")
      )
      assert.strictEqual(world.most.get(slow), deliveriesInFlight.perEndpoint)
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 second")
      assert.isTrue(world.rows.every((row) => row.status === "delivered"))
      assert.strictEqual(world.most.get(slow), deliveriesInFlight.perEndpoint)
    })
  )

  it.scoped(`shares its node's ${deliveriesInFlight.perNode} slots; a free one is used at once`, () =>
    Effect.gen(function* () {
      const gates = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, i) => i),
        () => Deferred.make<void>()
      )
      const world = yield* makeWorld(({ url }) => {
        const gate = gates[Number(url.slice(url.lastIndexOf("/") + 1))]
        return gate === undefined ? Effect.dieMessage(url) : Effect.as(Deferred.await(gate), 200)
      })
      for (let i = 0; i < 200; i++) world.add(`d${i}`, `https://many.example/${i}`)
      yield* world.begin
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(world.sent.length, deliveriesInFlight.perNode)
      for (const gate of gates.slice(0, 10)) yield* Deferred.succeed(gate, undefined)
      // The clock stands still: a slot that becomes free is an event.
      yield* world.settled("d9")
      yield* TestClock.adjust(0)
      assert.strictEqual(world.sent.length, deliveriesInFlight.perNode + 10)
    })
  )

  it.scoped("that hangs costs an attempt, and its slot becomes free", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld((request) =>
        Effect.zipRight(
          Effect.sleep(request.timeout),
          Effect.fail(new EgressTimedOut({ url: request.url, afterMillis: Duration.toMillis(request.timeout) }))
        )
      )
      world.add("a", hook)
      yield* world.begin
      yield* TestClock.adjust("15 seconds")
      assert.deepInclude(world.rows[0], {
        status: "pending",
        attempts: 1,
        error: "the endpoint did not answer within 15 s"
      })
    })
  )
})

// --- The sweep and its ports ---

interface Row {
  readonly id: DeliveryId
  readonly url: string
  status: "pending" | "delivered" | "exhausted"
  attempts: number
  nextAt: number
  claimedUntil: number
  error: string | null
  readonly endpoint: DeliveryEndpoint | null
}

type Receive = (request: EgressRequest) => Effect.Effect<number, EgressFailure>

const makeWorld = Effect.fnUntraced(function* (
  receive: Receive = () => Effect.succeed(200),
  options: Parameters<typeof make>[0] = {}
) {
  const rows: Array<Row> = []
  const sent: Array<EgressRequest> = []
  const times: Array<number> = []
  const open = new Map<string, number>()
  const most = new Map<string, number>()
  const state = { locked: false }
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()

  const track = (endpoint: string, change: 1 | -1) => {
    const next = (open.get(endpoint) ?? 0) + change
    open.set(endpoint, next)
    most.set(endpoint, Math.max(next, most.get(endpoint) ?? 0))
  }

  const deliveries = Deliveries.of({
    claim: (slots, underWay) =>
      Effect.sync(() => {
        const taken = new Map(underWay)
        const chosen: Array<Delivery> = []
        for (const row of rows) {
          const endpoint = endpointOf(row.url)
          const used = taken.get(endpoint) ?? 0
          if (chosen.length === slots) break
          if (
            row.status !== "pending" ||
            row.nextAt > now() ||
            row.claimedUntil > now() ||
            used >= deliveriesInFlight.perEndpoint
          )
            continue
          taken.set(endpoint, used + 1)
          row.attempts += 1
          row.claimedUntil = now() + 30_000
          chosen.push({
            id: row.id,
            organisationId: "org_a" as OrganisationId,
            spaceId: "spc_a" as SpaceId,
            kind: "callback",
            url: row.url,
            executionId: `exec_${row.id}` as ExecutionId,
            payload: JSON.stringify({ n: row.id }),
            attempt: row.attempts,
            scheduledAttempt: row.attempts,
            endpoint: row.endpoint
          })
        }
        return chosen
      }),
    settle: (delivery, verdict) =>
      Effect.sync(() => {
        const row = rows.find(({ id }) => id === delivery.id)
        if (row !== undefined && row.attempts === delivery.attempt) apply(row, verdict, now())
      })
  })

  const ports = Layer.mergeAll(
    Layer.succeed(Deliveries, deliveries),
    Layer.succeed(Digests, digests),
    Layer.succeed(Vault, placeVault),
    makeFailedJobs().layer,
    Layer.mock(MailEgress, {}),
    Layer.succeed(
      CallbackSecrets,
      CallbackSecrets.of({
        valid: () =>
          state.locked
            ? Effect.fail(new Unavailable({ reason: "the vault is locked", retryAfterSeconds: 1 }))
            : Effect.succeed(secrets.map((one) => Redacted.make(one))),
        current: () => Effect.dieMessage("current"),
        rotate: () => Effect.dieMessage("rotate")
      })
    ),
    Layer.succeed(
      Egress,
      Egress.of({
        check: () => Effect.dieMessage("check"),
        open: () => Effect.dieMessage("open"),
        readings: Effect.dieMessage("readings"),
        send: (request) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              sent.push(request)
              times.push(now())
              track(endpointOf(request.url), 1)
            }),
            () =>
              Effect.map(receive(request), (status) => ({
                status,
                headers: [],
                body: new Uint8Array(),
                url: request.url
              })),
            () => Effect.sync(() => track(endpointOf(request.url), -1))
          )
      })
    ),
    LocalWakeups.layer
  )

  const context = yield* Layer.build(ports)
  const wakeups = yield* Effect.provide(Wakeups, context)
  const { sendDue, sweep } = yield* Effect.provide(make(options), context)
  const yieldUntil = (done: () => boolean) => Effect.repeat(Effect.yieldNow(), { until: done })

  return Object.assign(state, {
    rows,
    sent,
    times,
    most,
    add: (id: string, url: string, endpoint: DeliveryEndpoint | null = null) =>
      void rows.push({
        id: id as DeliveryId,
        url,
        status: "pending",
        attempts: 0,
        nextAt: now(),
        claimedUntil: 0,
        error: null,
        endpoint
      }),
    wake: wakeups.signalDelivery,
    sendDue,
    until: yieldUntil,
    begin: Effect.map(Effect.forkScoped(sweep), Fiber.id),
    /** Runs the fibers, without advancing the clock, until the delivery is settled. */
    settled: (id: string) => yieldUntil(() => rows.some((row) => row.id === id && row.status !== "pending"))
  })
})

const apply = (row: Row, verdict: Verdict, now: number) => {
  row.claimedUntil = 0
  row.error = verdict._tag === "Delivered" ? null : verdict.reason
  if (verdict._tag === "Retry") row.nextAt = now + Duration.toMillis(verdict.after)
  else row.status = verdict._tag === "Delivered" ? "delivered" : "exhausted"
}
