/**
 * Promise 6 and 7: what comes from providers, in addresses, patterns and unread answers is bounded before it is held.
 *
 * What stops or starves a service, and the test that holds it; `test/architecture.test.ts` checks this table.
 *
 * | vector | file | test |
 * |---|---|---|
 * | a journal larger than the memory | test/flow/largeJournals.test.ts | are replayed after a kill in pages |
 * | a run that journals without end | test/flow/largeJournals.test.ts | end with JOURNAL_LIMIT |
 * | equal parameters in an address | test/flow/attacks.test.ts | with 15,000 equal parameters, without a key |
 * | patterns that expand | test/flow/attacks.test.ts | in a route's filter |
 * | many patterns that are costly to compile | test/http/triggerPatterns.test.ts | that are costly to compile |
 * | patterns of other organisations in the cache | test/actors/patterns.test.ts | evicts what its largest organisation used |
 * | all connections to an origin | test/flow/attacks.test.ts | never answers 192 requests of three runs |
 * | a neighbour's connections to the same origin | test/runtime/egressConnections.test.ts | a neighbour calls the same origin at once |
 * | answers in chunks of one byte | test/flow/attacks.test.ts | in chunks of one byte |
 * | endpoints that hang | test/flow/failingEndpoints.test.ts | while those of four other organisations hang |
 * | polls, subscriptions, refreshes and tests that hang | test/flow/hangingPartners.test.ts | those of another have their |
 * | restarts beside a run that waits | test/actors/orphans.test.ts | is not blamed for deaths of its process while it waits |
 * | a run that kills its process | test/flow/poison.test.ts | fails as poisoned after five deaths |
 * | mail to addresses that nobody confirmed | test/flow/notifications.test.ts | gets no free text until its owner has confirmed it |
 * | mail to one address from many organisations | test/flow/notifications.test.ts | is asked once an hour over all organisations |
 * | replays beyond the quota | test/flow/quota.test.ts | count replays that a request asks for |
 * | ticks of many routes beyond the quota | test/flow/quota.test.ts | count a tick as often as it has routes |
 * | triggers without number | test/http/planLimits.test.ts | is never exceeded by what is made at once |
 * | a time that only JavaScript reads | test/flow/attacks.test.ts | of a replay's filter |
 * | a stored job that fails for ever | test/flow/setAsideJobs.test.ts | of the replays: a filter that an earlier release accepted |
 * | a replay of its own failures | test/flow/bulkReplay.test.ts | each once, and needs a filter |
 * | answers without a key that are not read | test/flow/attacks.test.ts | four times on each of 200 connections |
 * | public answers without a rate | test/http/publicAnswers.test.ts | all pass the limit |
 * | half requests beside few descriptors | test/flow/descriptors.test.ts | 256 descriptors serve beside 400 half requests |
 * | a start with too few descriptors | test/runtime/incomingConnections.test.ts | refuse a start with the figure that it needs |
 * | a start with too little memory | test/runtime/byteLedger.test.ts | is told with the figure that it needs |
 * | a start in a container with too little memory | test/flow/littleMemory.test.ts | with 512 MiB says that it needs 1024 |
 * | a signed delivery under another id | test/flow/webhookReplays.test.ts | is a duplicate for seven days under another id |
 * | a preset beside a scheme | test/flow/webhookReplays.test.ts | is refused beside a scheme |
 * | a time outside five minutes | test/flow/webhookReplays.test.ts | outside five minutes is refused on every trigger |
 * | bodies over their limit | test/flow/attacks.test.ts | sends bodies over their limit on 20 connections |
 * | the refusal of a body, read by ordinary clients | test/runtime/refusedBodies.test.ts | Ordinary clients read why |
 * | a data directory that cannot be made | test/runtime/makeDirectory.test.ts | is created with its parents |
 * | a stop beside runs with large journals | test/flow/largeJournals.test.ts | are left by a stop within its grace |
 * | a stop beside what hangs | test/flow/restart.test.ts | ends within its grace, whatever hangs |
 * | a planned restart | test/flow/restart.test.ts | answers what was accepted, and refuses the rest |
 * | a full disk of the tables | test/flow/fullDisk.test.ts | of the tables refuses what needs space, in words |
 * | a full disk of the write-ahead log | test/flow/fullDisk.test.ts | of the write-ahead log ends Postgres |
 * | a full disk, and other refusals of Postgres | test/http/databaseConditions.test.ts | that is read-only is not ready |
 * | runs that wait for a missing engine | test/flow/engines.test.ts | waits for a release that has that engine |
 */
import { afterAll, assert, beforeAll, describe } from "@effect/vitest"
import { answered, attackedWorld, code, refusedWith } from "../support/attacks.js"
import { holdBodies, leaveUnread, sendFlood } from "../support/flood.js"
import { type HostileProvider, startHostileProvider } from "../support/hostileProvider.js"
import { makeMemoryGroup } from "../support/memoryGroup.js"
import { isLong } from "../support/longForm.js"

let provider: HostileProvider
beforeAll(async () => {
  provider = await startHostileProvider()
})
afterAll(() => provider.stop())

// In a group of 1 GiB where this process may make one; elsewhere with a ledger as there.
const memory = makeMemoryGroup(1024)
const { attacker, baseUrl, run, vector, workflow } = attackedWorld(
  memory === undefined ? { SVC_HELD_MEMORY_MB: "256" } : {},
  () => provider.url,
  memory
)

/** Runs a workflow that fetches the path 64 times at once, and returns the number of bytes. */
const fetchMany =
  (path: string, more = "") =>
  async () =>
    run(
      attacker,
      await workflow(
        attacker,
        code(
          `const all = await Promise.all(Array.from({ length: 64 }, async () => (await (await fetch(${JSON.stringify(provider.url + path)}, {${more}})).text()).length)); return { ok: all.reduce((a, b) => a + b) }`
        ),
        { tier: "instant" }
      )
    )
/** On a machine that is several times slower, an Instant run may not get through so much before its deadline. */
const bytes = (expected: number) => (answer: { readonly status: number; readonly body: unknown }) => {
  if (answer.status === 408) return
  assert.deepStrictEqual(answer.body, { ok: expected })
}

const KiB = 1024

describe("a provider", () => {
  vector(
    "answers 64 requests at once with 768 KiB each",
    fetchMany(`/large?bytes=${768 * KiB}`),
    bytes(64 * 768 * KiB),
    // The ledger bounds the bytes; texts and copies of them take more.
    { most: 400 }
  )
  const chunked = (isLong ? 64 : 16) * KiB
  vector(
    `answers 64 requests at once with ${chunked / KiB} KiB each, in chunks of one byte`,
    fetchMany(`/chunks?bytes=${chunked}`),
    bytes(64 * chunked)
  )
  vector(
    "never answers 192 requests of three runs, which keep only the organisation's own connections busy",
    async () => {
      const hang = await workflow(
        attacker,
        code(
          `await Promise.allSettled(Array.from({ length: 64 }, () => fetch(${JSON.stringify(`${provider.url}/hang`)}, { signal: AbortSignal.timeout(3000) }))); return { ok: true }`
        )
      )
      const [first] = await Promise.all(Array.from({ length: 3 }, () => run(attacker, hang)))
      assert.isDefined(first)
      return first
    },
    answered
  )
})

describe("an address", () => {
  vector(
    "of a webhook with 15,000 equal parameters, without a key",
    async () => {
      const flow = await workflow(attacker, code("return 1"))
      const made = await attacker("POST", "/api/v1/triggers", {
        type: "webhook",
        name: "queries",
        routes: [{ workflowId: flow }],
        webhook: { auth: "access_key" }
      })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      const { url } = made.body.data.webhook
      const { pathname } = new URL(url)
      const all = await sendFlood({
        url: `${baseUrl()}${pathname}?${"a&".repeat(7_000)}`,
        headers: {},
        count: 40,
        atOnce: 8
      })
      assert.isTrue(
        all.every((status) => status >= 400 && status < 500),
        JSON.stringify(all)
      )
      return { status: all[0] ?? 0, body: null }
    },
    answered
  )
})

describe("a pattern", () => {
  for (const pattern of [
    String.raw`(?:\w{1000}){1000}`,
    `(?:${String.raw`[\p{L}\p{N}]{100}`}){100}`,
    `${"(a|b|c){900}".repeat(20)}`,
    "((((a{0}[^x]{0,1000}){0,1000}){0,1000}){0,1000})"
  ])
    vector(
      `in a route's filter: ${pattern.slice(0, 40)}`,
      async () => {
        const flow = await workflow(attacker, code("return 1"))
        return attacker("POST", "/api/v1/triggers", {
          type: "webhook",
          name: "pattern",
          routes: [{ workflowId: flow, filter: [{ path: "body.a", op: "matches", value: pattern }] }],
          webhook: { auth: "public" }
        })
      },
      refusedWith(422, /filter/)
    )
})

describe("a time", () => {
  for (const createdAfter of ["https://[::1", "%00", "1", "2026-13-01", "Mon Nov 23"])
    vector(
      `of a replay's filter: ${createdAfter}`,
      () => attacker("POST", "/api/v1/dlq/replay", { filter: { createdAfter } }),
      refusedWith(422, /createdAfter/)
    )
})

describe("a client without a key", () => {
  for (const path of ["/docs", "/api/v1/openapi.json"])
    vector(
      `requests ${path} four times on each of 200 connections, and reads nothing`,
      async () => {
        const { hostname, port } = new URL(baseUrl())
        await leaveUnread({ host: hostname, port: Number(port), path, count: 200, pipelined: 4, millis: 3_000 })
        return { status: 200, body: null }
      },
      answered
    )
  vector(
    "sends bodies over their limit on 20 connections",
    async () => {
      const headers = { "content-type": "application/json", "content-length": 6_000_000 }
      const url = `${baseUrl()}/api/v1/customers`
      await holdBodies({ url, headers, count: 20, bytes: 5_900_000, millis: 1_000 })
      return { status: 200, body: null }
    },
    answered
  )
})
