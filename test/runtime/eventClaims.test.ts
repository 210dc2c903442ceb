/**
 * An event takes the claims of its id and of its signature with its own commit, or none of them, and takes effect once,
 * also where several commits of its dispatch share a flush.
 */
import { assert, describe } from "@effect/vitest"
import { Effect, Either, Fiber } from "effect"
import type { Client } from "pg"
import { EventJournal } from "../../src/actors/ports/event/EventJournal.js"
import { type Claim, Journal } from "../../src/actors/ports/run/Journal.js"
import type { Event } from "../../src/domain/event/Event.js"
import type { DeadLetterId } from "../../src/domain/Ids.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import { adminConnection } from "../support/Database.js"
import { layer, openingChange, openRun, organisation, space } from "../support/journal.js"
import { layer as withLayer } from "../support/layer.js"

const identifiers = makeIdentifiers()

const receivedEvent = (): Event => ({
  id: identifiers.next("evt"),
  organisationId: organisation,
  spaceId: space,
  retention: 3,
  source: "webhook",
  triggerId: null,
  connector: null,
  connectionId: null,
  customerId: null,
  type: "test",
  priority: 2,
  status: "received",
  receivedAt: Date.now(),
  payload: {},
  record: {
    entity: null,
    action: "other",
    occurredAt: null,
    idempotencyKey: "key",
    headers: {},
    traceparent: null,
    replayOf: null,
    replays: 0
  }
})

const claim = (key: string, signatureKey: string): Claim => ({
  scope: "event",
  key,
  hash: key,
  signatureKey,
  expiresAt: Date.now() + 7 * 86_400_000
})

const append = (event: Event, claims: Claim) =>
  Effect.flatMap(EventJournal, (journal) =>
    journal.append({
      organisationId: organisation,
      spaceId: space,
      receives: { event, claim: claims, queue: { shard: 0, lane: null, held: true, leasedBy: null } }
    })
  )

/** The claims of which there is no event. */
const orphans = (client: Client) =>
  Effect.promise(async () => {
    const { rows } = await client.query<{ key: string }>(
      "SELECT key FROM claims c WHERE NOT EXISTS (SELECT FROM events e WHERE e.id = c.target_id)"
    )
    return rows.map(({ key }) => key)
  })

describe("The claims of an event", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.scoped("are not taken if its id is that of an earlier one", () =>
      Effect.gen(function* () {
        const client = yield* adminConnection
        yield* append(receivedEvent(), claim("id-1", "signature-1"))
        const refused = yield* Effect.flip(append(receivedEvent(), claim("id-1", "signature-2")))
        assert.strictEqual(refused._tag, "ClaimTaken")
        assert.deepStrictEqual(yield* orphans(client), [])
        yield* append(receivedEvent(), claim("id-2", "signature-2"))
      })
    )

    it.scoped("are not taken if another node takes its id while its flush is written", () =>
      Effect.gen(function* () {
        const client = yield* adminConnection
        const watch = yield* adminConnection
        const winner = receivedEvent()
        yield* append(winner, claim("id-3", "signature-3"))
        yield* Effect.promise(async () => {
          await client.query("DELETE FROM claims WHERE key = 'id-3'")
          await client.query("BEGIN")
          await client.query(
            "INSERT INTO claims (org, scope, key, target_id, hash, expires_at) VALUES ($1, 'event', 'id-3', $2, '', now() + interval '1 day')",
            [organisation, winner.id]
          )
        })
        const appending = yield* Effect.fork(Effect.either(append(receivedEvent(), claim("id-3", "signature-4"))))
        yield* Effect.promise(async () => {
          const { rows } = await watch.query<{ n: number }>(
            `SELECT count(*)::int AS n FROM pg_stat_activity
                   WHERE backend_type = 'client backend' AND datname = current_database() AND wait_event_type = 'Lock'`
          )
          return rows[0]?.n ?? 0
        }).pipe(Effect.repeat({ until: (waiting) => waiting > 0 }))
        yield* Effect.promise(() => client.query("COMMIT"))
        const outcome = yield* Fiber.join(appending)
        assert.isTrue(Either.isLeft(outcome) && outcome.left._tag === "ClaimTaken", JSON.stringify(outcome))
        assert.deepStrictEqual(yield* orphans(client), [])
        yield* append(receivedEvent(), claim("id-4", "signature-4"))
      })
    )
  })
})

/** What each change became that was committed beside the others, in one flush or several. */
const together = <E extends { readonly _tag: string }>(changes: ReadonlyArray<Effect.Effect<unknown, E>>) =>
  Effect.map(Effect.forEach(changes, Effect.either, { concurrency: "unbounded" }), (outcomes) =>
    outcomes.map((outcome) => (Either.isLeft(outcome) ? outcome.left._tag : "committed")).sort()
  )

describe("An event that is dispatched several times at once", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("starts one run, whichever flush the runs' first commits share", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const event = receivedEvent()
        yield* append(event, claim("id-5", "signature-5"))
        const settles = (claims: number) => ({
          eventId: event.id,
          organisationId: organisation,
          claims,
          status: "delivered" as const,
          deliveries: [],
          at: Date.now()
        })
        // Its node has lost its seat: it takes nothing away.
        const unseated = yield* Effect.flip(
          journal.append(openingChange(openRun(), { settles: settles(0), seat: "node_gone" }))
        )
        assert.strictEqual(unseated._tag, "Fenced")
        const starts = [0, 0, 1, 0].map((claims) => openingChange(openRun(), { settles: settles(claims) }))
        const other = openingChange(openRun())
        assert.deepStrictEqual(yield* together([other, ...starts].map(journal.append)), [
          "Fenced",
          "Fenced",
          "Fenced",
          "committed",
          "committed"
        ])
      })
    )

    it.scoped("by replays of its dead letter is received again once", () =>
      Effect.gen(function* () {
        const client = yield* adminConnection
        const events = yield* EventJournal
        const letter = "dlq_01jd0000000000000000000000" as DeadLetterId
        yield* Effect.promise(() =>
          client.query(
            `INSERT INTO dead_letters (id, org, space, type, priority, error, context, expires_at)
             VALUES ($1, $2, $3, 'test', 2, '{}', '{}', now() + interval '1 day')`,
            [letter, organisation, space]
          )
        )
        const replay = () =>
          events.append({
            organisationId: organisation,
            spaceId: space,
            replays: letter,
            receives: { event: receivedEvent(), queue: { shard: 0, lane: null, held: true, leasedBy: null } }
          })
        assert.deepStrictEqual(yield* together([replay(), replay(), replay()]), ["Fenced", "Fenced", "committed"])
      })
    )
  })
})
