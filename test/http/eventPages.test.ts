/** Pages of events look at a bounded number of rows; whatever the filter, none is missed or repeated. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

/** More than two pages look at. */
const stored = 12_000
/** Places of the rare events among all, the newest first; `held` ones are open, the others settled. */
const rare = [
  { n: 1, held: false },
  { n: 2_500, held: true },
  { n: 5_400, held: false },
  { n: 5_600, held: true },
  { n: 11_990, held: false }
]

describe("the pages of events", () => {
  let svc: Running
  const columns =
    "class, org, space, source, trigger_id, connector, connection_id, customer_id, priority, received_at, record, payload, sealed"

  beforeAll(async () => {
    svc = await startShared()
    const { key } = svc.first
    const made = await svc.ask("POST", "/api/v1/events", { key, body: { type: "common.one", payload: {} } })
    const { eventId } = made.body.data
    await eventually(
      () => svc.ask("GET", `/api/v1/events/${eventId}`, { key }),
      ({ body }) => body.data?.status === "ignored"
    )
    const places = (held: boolean) => rare.filter((one) => one.held === held).map(({ n }) => n)
    const idOf = "svc_ulid_bound('evt', now() - n * interval '1 second') || lpad(to_hex(n), 16, '0')"
    await svc.run(
      Effect.flatMap(WriterSql, (sql) =>
        Effect.zipRight(
          sql.unsafe(
            `INSERT INTO event_records (id, ${columns}, type, status, finished_at, deliveries)
             SELECT ${idOf}, ${columns}, CASE WHEN n = ANY($2::int[]) THEN 'rare.one' ELSE 'common.one' END, 'ignored', now(), '[]'
             FROM event_records e, generate_series(1, ${stored}) n WHERE e.id = $1 AND n <> ALL($3::int[])`,
            [eventId, places(false), places(true)]
          ),
          sql.unsafe(
            `INSERT INTO events (id, ${columns}, type, status)
             SELECT ${idOf}, ${columns}, 'rare.one', 'held' FROM event_records e, unnest($2::int[]) n WHERE e.id = $1`,
            [eventId, places(true)]
          )
        )
      )
    )
  })
  afterAll(async () => {
    await svc.run(Effect.flatMap(WriterSql, (sql) => sql`DELETE FROM events WHERE type = 'rare.one'`))
    await svc.stop()
  })

  /** All pages of a list: the places of their events. */
  const walk = async (query: string): Promise<ReadonlyArray<ReadonlyArray<number>>> => {
    const pages: Array<ReadonlyArray<number>> = []
    for (let cursor = ""; ;) {
      const { body, status, text } = await svc.ask("GET", `/api/v1/events?${query}${cursor}`, { key: svc.first.key })
      assert.strictEqual(status, 200, text)
      pages.push(body.data.map(({ id }: { id: string }) => Number.parseInt(id.slice(-16), 16)))
      assert.strictEqual(body.page.hasMore, body.page.nextCursor !== null)
      if (body.page.nextCursor === null) return pages
      cursor = `&cursor=${body.page.nextCursor}`
    }
  }
  const all = rare.map(({ n }) => n)

  it.each([1, 2, 5, 50])("of %i have each event of a rare type once, newest first", async (size) => {
    assert.deepStrictEqual((await walk(`page_size=${size}&type=rare.one`)).flat(), all)
  })

  it("end short where they looked at so many rows, and the next one goes on", async () => {
    const pages = await walk("page_size=50&type=rare.one")
    assert.deepStrictEqual(pages, [[1, 2_500], [5_400, 5_600], [11_990]])
    assert.deepStrictEqual(
      (await walk("page_size=50&type=no.such")).map(({ length }) => length),
      [0, 0, 0]
    )
  })

  it("have all events without a filter", async () => {
    const found = (await walk("page_size=200")).flat().slice(1)
    assert.deepStrictEqual(
      found,
      Array.from({ length: stored }, (_, i) => i + 1)
    )
  })

  it("of open events need not look at settled ones", async () => {
    assert.deepStrictEqual(await walk("page_size=50&type=rare.one&status=held"), [[2_500, 5_600]])
  })
})
