/**
 * Deliveries reach their endpoint, within the limits of concurrency, on the schedule of the contract, despite failures.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, TestClock } from "effect"
import { EgressBlocked, type EgressRequest, EgressTimedOut } from "../../src/actors/ports/Egress.js"
import type { WebhookEndpointId } from "../../src/domain/Ids.js"
import { outwardPlaces } from "../../src/domain/Limits.js"
import { verifyWebhook } from "../../src/domain/delivery/Signature.js"
import { announce } from "../support/LogExpectations.js"
import { sealedAt } from "../support/placeVault.js"
import { digests, hook, makeWorld, secrets } from "../support/deliveryWorld.js"

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
      world.add("a", hook, {
        endpoint: { id, secret: sealed("secret", own), secretBefore: sealed("secret_before", before) }
      })
      world.add("b", hook, { endpoint: { id, secret: sealed("secret", own), secretBefore: null } })
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
  it.scoped(`has at most ${outwardPlaces.deliveries.perPartner} in flight, and delays no other endpoint`, () =>
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
      assert.strictEqual(world.most.get(slow), outwardPlaces.deliveries.perPartner)
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 second")
      assert.isTrue(world.rows.every((row) => row.status === "delivered"))
      assert.strictEqual(world.most.get(slow), outwardPlaces.deliveries.perPartner)
    })
  )

  it.scoped("leaves places for a new organisation while four others have any number of endpoints that hang", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld(({ timeout, url }) =>
        url.includes("hangs")
          ? Effect.zipRight(
              Effect.sleep(timeout),
              Effect.fail(new EgressTimedOut({ url, afterMillis: Duration.toMillis(timeout) }))
            )
          : Effect.succeed(200)
      )
      world.add("first", "https://answers.example/", { organisation: "org_0" })
      yield* world.sendDue
      yield* world.settled("first")
      for (let i = 0; i < 256; i++) world.add(`h${i}`, `https://hangs.example/${i}`, { organisation: `org_${i % 4}` })
      yield* world.begin
      for (let n = 0; n < 20; n++) {
        yield* TestClock.adjust("1 second")
        world.add(`new${n}`, `https://new.example/${n}`, { organisation: `org_new${n}` })
        world.add(`own${n}`, "https://answers.example/", { organisation: "org_0" })
        world.wake()
        // The clock stands still: both have a place at once, the second among those kept for who has answered.
        yield* world.settled(`new${n}`)
        yield* world.settled(`own${n}`)
        assert.isAtMost(world.inFlight(), outwardPlaces.deliveries.perNode)
      }
    })
  )

  it.scoped("is told while the mail server hangs", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let i = 0; i < 100; i++)
        world.add(`mail${i}`, `mailto:${i}@example.com`, { organisation: `org_${i}`, kind: "notification" })
      yield* world.begin
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(world.mails(), 8)
      assert.isAtMost(world.mails(), outwardPlaces.notifications.perNode)
      for (let i = 0; i < 10; i++) world.add(`d${i}`, `https://many.example/${i}`)
      world.wake()
      for (let i = 0; i < 10; i++) yield* world.settled(`d${i}`)
    })
  )

  it.scoped("gets the place that becomes free at once", () =>
    Effect.gen(function* () {
      const gates = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, i) => i),
        () => Deferred.make<void>()
      )
      const world = yield* makeWorld(({ url }) => {
        const gate = gates[Number(url.slice(url.lastIndexOf("/") + 1))]
        return gate === undefined ? Effect.dieMessage(url) : Effect.as(Deferred.await(gate), 200)
      })
      for (let i = 0; i < 100; i++) world.add(`d${i}`, `https://many.example/${i}`)
      yield* world.begin
      yield* TestClock.adjust("10 millis")
      const atOnce = world.sent.length
      assert.isAtMost(atOnce, outwardPlaces.deliveries.perAccount)
      for (const gate of gates.slice(0, 10)) yield* Deferred.succeed(gate, undefined)
      // The clock stands still: a place that becomes free is an event.
      yield* world.settled("d9")
      yield* TestClock.adjust(0)
      assert.strictEqual(world.sent.length, atOnce + 10)
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
