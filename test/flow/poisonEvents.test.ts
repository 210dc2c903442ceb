/**
 * Events that break what reads them are refused with a typed answer or become dead letters; the next thousand events, of the
 * same and of another organisation, run as if nothing had happened.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Client } from "pg"
import type { Answer, Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { announce } from "../support/LogExpectations.js"
import { createSecondOrganisation } from "../support/secondOrganisation.js"
import { assertOneRun, countRuns, drained, makeWebhook, sendWebhook, type WebhookTrigger } from "../support/webhooks.js"
import { worldOf } from "../support/World.js"
import { scaled } from "../support/slowness.js"

const world = worldOf({ allow: false })
let first: Api
let second: Api
let echo = ""
let healthy: ReadonlyArray<readonly [Api, WebhookTrigger]> = []

const workflowOf = async ({ call }: Api, name: string, code: string, more: object = {}): Promise<string> => {
  const made = await call("POST", "/api/v1/workflows", { name, form: "code", tier: "instant", code, ...more })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { id } = made.body.data
  assert.strictEqual((await call("POST", `/api/v1/workflows/${id}/publish`, {})).status, 200)
  return id
}

beforeAll(async () => {
  await world.start()
  first = world.api()
  const key = await createSecondOrganisation(world.dataDir, "Second")
  second = {
    ...first,
    call: (method, path, body, headers) =>
      first.call(method, path, body, { authorization: `Bearer ${key}`, ...headers })
  }
  const code = "export default async (ctx) => ctx.input.n"
  echo = await workflowOf(first, "echo", code)
  healthy = [
    [first, await makeWebhook(first, [{ workflowId: echo }])],
    [second, await makeWebhook(second, [{ workflowId: await workflowOf(second, "echo", code) }])]
  ]
})
afterAll(() => world.stop())

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
const wide = (members: number) => `{${Array.from({ length: members }, (_, i) => `"m${i}":${i}`).join(",")}}`
const form = { "content-type": "application/x-www-form-urlencoded" }

/** Bodies that have broken parsers, stores, filters or templates somewhere. */
const bodies: ReadonlyArray<readonly [string, string | Uint8Array, Readonly<Record<string, string>>?]> = [
  ["nothing", ""],
  ["no JSON", "{"],
  ["a number", "1"],
  ["null", "null"],
  ["a list of lists", "[[[]]]"],
  ["an escaped null byte", '{"value":"a\\u0000b"}'],
  ["a null byte in a name", '{"a\\u0000b":1}'],
  ["a raw null byte", Buffer.from('{"value":"a\u0000b"}')],
  ["half a surrogate pair", '{"value":"\\ud800"}'],
  ["half a surrogate pair in a name", '{"\\udc00":1}'],
  ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ["a number beyond a double", '{"value":1e999}'],
  ["a number with 10,000 digits", `{"value":${"9".repeat(10_000)}}`],
  ["64 levels", nested(64)],
  ["65 levels", nested(65)],
  ["a million levels", nested(100_000)],
  ["100,000 members", wide(100_000)],
  ["300,000 empty objects", `{"value":[${"{},".repeat(300_000)}{}]}`],
  [
    "the names of prototypes",
    '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1,"hasOwnProperty":1}'
  ],
  ["5 MB of text", JSON.stringify({ value: "x".repeat(5_000_000) })],
  ["6 MB of text", JSON.stringify({ value: "x".repeat(6_000_000) })],
  ["a partition of a megabyte", JSON.stringify({ lane: "y".repeat(1_000_000) })],
  ["a partition that is an object", '{"lane":{"b":[1,{"a":null}]}}'],
  ["a partition of control characters", '{"lane":"\\u0001\\u0002\\uffff"}'],
  ["a key that is a list", '{"id":[1,[2]],"lane":[]}'],
  ["SQL", `{"lane":"'; DROP TABLE events; --","id":"$1","value":"{{payload}} $\{x} %s \\\\x00"}`],
  ["a form with null bytes", "value=a%00b", form],
  ["a form of the names of prototypes", "__proto__=1&constructor=2&__proto__=3", form],
  ["a form of broken escapes", "value=%&value=%zz&value=%ff&=&&&", form],
  ["a form with 2,000 fields", "a=1&".repeat(2_000), form],
  [
    "an id and a trace that are no such things",
    "{}",
    { "webhook-id": "x".repeat(20_000), traceparent: "zz-é".repeat(100) }
  ]
]

/** Workflows that end badly. */
const codes: Readonly<Record<string, string>> = {
  throws_nothing: "export default async () => { throw undefined }",
  throws_null_bytes: "export default async () => { throw new Error('a\\u0000b \\ud800') }",
  throws_much: "export default async () => { const e = new Error('x'.repeat(3e6)); e.name = 'n'.repeat(1e6); throw e }",
  throws_a_getter: "export default async () => { throw { get message() { throw 1 } } }",
  returns_null_bytes: "export default async () => ({ 'a\\u0000': '\\udc00' })",
  returns_a_circle: "export default async () => { const a = {}; a.a = a; return a }",
  returns_much: "export default async () => 'x'.repeat(3e7)",
  recurses: "export default async () => { const f = () => f() + 1; return f() }",
  never_ends: "export default async () => { for (;;); }",
  fills_memory: "export default async () => { const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1)) }"
}

const settled = async ({ call }: Api, id: string): Promise<Answer["body"]> =>
  eventually(
    async () => (await call("GET", `/api/v1/events/${id}`)).body?.data,
    (found) => found !== undefined && found.status !== "received"
  )

/** Sends `count` events over both organisations and asserts that each runs once and completes. */
const assertUnharmed = async (count: number) => {
  const ids = new Map<Api, Array<string>>(healthy.map(([client]) => [client, []]))
  let n = 0
  const sender = async () => {
    while (n < count) {
      const [client, { path }] = healthy[n++ % healthy.length] ?? assert.fail()
      const sent = await sendWebhook(client, path, JSON.stringify({ n }))
      assert.deepStrictEqual([sent.status, sent.body.status], [202, "accepted"], sent.text)
      ids.get(client)?.push(sent.body.eventId)
    }
  }
  await Promise.all(Array.from({ length: 8 }, sender))
  for (const [client, sent] of ids) {
    await drained(client)
    await assertOneRun(client, sent)
    const runs = await countRuns(client, "completed")
    assert.deepStrictEqual(
      sent.filter((id) => runs.get(id) !== 1),
      []
    )
  }
}

/**
 * Sends an event until an answer is read: the connection of a refused large body is closed, which a sender that still writes
 * may notice before.
 */
const sendUntilAnswered = async (
  path: string,
  body: string | Uint8Array,
  headers?: Readonly<Record<string, string>>
) => {
  for (let left = 20; ; left--)
    try {
      return await sendWebhook(first, path, body, headers)
    } catch (error) {
      if (left === 0) throw error
    }
}

/** Sends events to a webhook, and changes what is stored of them before any node takes one. Returns their ids. */
const sendBeforeAnyIsTaken = async (
  database: Client,
  path: string,
  count: number,
  change: (ids: ReadonlyArray<string>) => Promise<unknown>
): Promise<ReadonlyArray<string>> => {
  await database.query("BEGIN")
  // As long as this lock is held, no node takes events.
  await database.query("SELECT pg_advisory_xact_lock(hashtext('svc_take_queued'))")
  const ids: Array<string> = []
  for (let n = 0; n < count; n++)
    ids.push((await sendWebhook(first, path, JSON.stringify({ n, token: `t${n}` }))).body.eventId)
  await change(ids)
  await database.query("COMMIT")
  return ids
}

describe("a poison event", () => {
  it("whose payload breaks what reads it is refused with a typed answer, or settled", async () => {
    const { id: secret } = (
      await first.call("POST", "/api/v1/secrets", { name: "SIGNING", type: "text", value: "a secret" })
    ).body.data
    assert.isString(secret)
    const strict = await workflowOf(first, "strict", "export default async () => 1", {
      inputContract: {
        type: "object",
        required: ["value"],
        properties: { value: { type: "string", pattern: "^(a+)+$", maxLength: 100 } }
      }
    })
    const filter = {
      any: [
        { path: "value", op: "matches", value: "^(a|a)*b" },
        { path: "value.a[3].b", op: "gt", value: 1e308 },
        { path: "a.a.a", op: "contains", value: "x" },
        { not: { path: "constructor.prototype", op: "exists" } }
      ]
    }
    const keys = { deduplicationKey: "id" }
    const triggers = [
      await makeWebhook(first, [{ workflowId: strict }], keys),
      await makeWebhook(first, [{ workflowId: echo, filter }], {
        ...keys,
        executionMode: "sequential",
        partitionKey: "lane"
      }),
      await makeWebhook(first, [{ workflowId: echo }, { workflowId: strict, filter }])
    ]
    const wrong: Array<string> = []
    const accepted: Array<string> = []
    for (const [name, body, headers] of bodies)
      for (const { path } of triggers) {
        const sent = await sendUntilAnswered(path, body, headers)
        if (sent.status === 202 || sent.status === 200) accepted.push(sent.body.eventId)
        else if (![400, 413, 415, 422].includes(sent.status) || typeof sent.body.code !== "string")
          wrong.push(`${name}: ${sent.status} ${sent.text.slice(0, 300)}`)
      }
    assert.deepStrictEqual(wrong, [])
    assert.isAbove(accepted.length, triggers.length * 10)
    const statuses = new Set<string>()
    for (const id of accepted) statuses.add((await settled(first, id)).status)
    assert.deepStrictEqual([...statuses].toSorted(), ["dead", "delivered", "ignored"])
    const dead = (await first.call("GET", "/api/v1/dlq?code=INPUT_CONTRACT_VIOLATION&page_size=200")).body.data
    assert.isAbove(dead.length, 10)
    await assertUnharmed(200)
  })

  it(
    "whose run ends badly is a dead letter, and the next thousand events are unharmed",
    async () => {
      announce(/sandbox\.|run\./)
      const triggers = new Map<string, WebhookTrigger>()
      for (const [name, code] of Object.entries(codes))
        triggers.set(name, await makeWebhook(first, [{ workflowId: await workflowOf(first, name, code) }]))
      const poison = [...triggers].map(async ([name, { path }]) => {
        const sent = await sendWebhook(first, path, JSON.stringify({ name }))
        assert.strictEqual(sent.status, 202, sent.text)
        return [name, sent.body.eventId] as const
      })
      const ids = await Promise.all(poison)
      await assertUnharmed(1_000)
      for (const [name, id] of ids) {
        const { deliveries, status } = await settled(first, id)
        assert.strictEqual(status, "delivered", name)
        const execution = await first.ended(deliveries[0].executionId, 60_000)
        assert.include(["failed", "timed_out"], execution.status, name)
        const letters = await eventually(
          async () => (await first.call("GET", `/api/v1/dlq?trigger_id=${triggers.get(name)?.id}`)).body.data,
          (found) => found.length > 0
        )
        const letter = (await first.call("GET", `/api/v1/dlq/${letters[0].id}`)).body.data
        assert.deepInclude(letter, { eventId: id, executionId: execution.id, payload: { name } })
        assert.isString(letter.error.category, JSON.stringify(letter.error))
      }
    },
    scaled(180_000)
  )

  it("whose stored payload cannot be opened keeps no other event", async () => {
    announce(/events\.not_loaded/, { required: true })
    const { path } = await makeWebhook(first, [{ workflowId: echo }], {
      executionMode: "sequential",
      partitionKey: "n"
    })
    const database = await connectEmbedded(world.dataDir)
    const [broken = "", ...others] = await sendBeforeAnyIsTaken(database, path, 20, ([id]) =>
      database.query("UPDATE events SET sealed = '\\x00' WHERE id = $1 AND sealed IS NOT NULL", [id])
    )
    for (const id of others) assert.strictEqual((await settled(first, id)).status, "delivered")
    const before = (await first.call("GET", `/api/v1/events/${broken}`)).body.data
    assert.strictEqual(before.status, "received")
    await database.query("DELETE FROM start_queue WHERE id = $1", [broken])
    await database.query("DELETE FROM events WHERE id = $1", [broken])
    await database.query("DELETE FROM event_counts WHERE minute = svc_event_minute($1)", [broken])
    await database.end()
  })

  it("is one whose nodes ended with it ten times, not one that nodes gave back for want of a slot or a database", async () => {
    const { path } = await makeWebhook(first, [{ workflowId: echo }], {
      executionMode: "sequential",
      partitionKey: "n"
    })
    const database = await connectEmbedded(world.dataDir)
    const [givenBack = "", suspect = "", poison = ""] = await sendBeforeAnyIsTaken(database, path, 3, async (ids) => {
      for (const [at, claims, lost] of [
        [0, 50, 0],
        [1, 9, 9],
        [2, 10, 10]
      ] as const)
        await database.query("UPDATE start_queue SET claims = $2, lost = $3 WHERE id = $1", [ids[at], claims, lost])
    })
    await database.end()
    for (const id of [givenBack, suspect]) assert.strictEqual((await settled(first, id)).status, "delivered")
    assert.strictEqual((await settled(first, poison)).status, "dead")
    const [letter] = (await first.call("GET", "/api/v1/dlq?code=POISONED")).body.data
    assert.deepInclude(letter, { eventId: poison })
    assert.strictEqual(letter.error.message.match(/ended (\d+) times/)?.[1], "10", JSON.stringify(letter.error))
  })
})
