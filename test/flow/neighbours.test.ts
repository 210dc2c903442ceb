/**
 * Promise 6 and 7 over the public interface: whatever a tenant sends ends as its own typed failure, the service answers
 * everybody else meanwhile, and a neighbour's runs and queries succeed. `SVC_TEST_LONG=1` holds it to the goals on a
 * quiet machine: no request delays `/healthz` by more than 250 ms, neighbours keep a p99 of three times theirs.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createSecondOrganisation } from "../support/secondOrganisation.js"
import { sendFlood, holdBodies } from "../support/flood.js"
import {
  type Answer,
  type Attacker,
  attackerOf,
  runBesideNeighbour,
  type Client,
  clientOf,
  type Probe
} from "../support/neighbours.js"
import { worldOf } from "../support/World.js"

const long = process.env["SVC_TEST_LONG"] === "1"
/** Generous, since other test files run beside this one: the defects that this prevents took seconds to minutes. */
const mostDelay = long ? 250 : 1_500
/** The neighbour's runs that the long form measures beside each attack, which it repeats: fewer make no percentile. */
const measured = long ? 200 : 0

const world = worldOf({ allow: true, env: { SVC_RUNNERS: "2" } })
const baseUrl = () => world.api().dev.baseUrl
let thread: Attacker
let attacker: Client
let neighbour: Client
let quiet: Probe

let named = 0
/** Publishes a workflow. Returns its id, or the refusal. */
const workflow = async (client: Client, code: string, more: object = {}): Promise<string> => {
  const made = await client("POST", "/api/v1/workflows", {
    name: `flow_${(named += 1)}`,
    form: "code",
    tier: "instant",
    code,
    ...more
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { id } = made.body.data
  assert.strictEqual((await client("POST", `/api/v1/workflows/${id}/publish`, {})).status, 200)
  return id
}
const run = (client: Client, id: string, input: object = {}) =>
  client("POST", `/api/v1/workflows/${id}/execute`, { input })
const code = (body: string) => `export default async function (ctx) { ${body} }`

let calling = ""
let querying = ""

const succeeds = async (id: string) => {
  const { body: answer, status } = await run(neighbour, id)
  assert.strictEqual(status, 200, JSON.stringify(answer))
  assert.deepInclude(answer, { ok: true }, "a run of the neighbour failed")
}
const probed = <A>(body: (count: () => number) => Promise<A>) =>
  runBesideNeighbour(
    { baseUrl: world.api().dev.baseUrl, runs: [() => succeeds(calling), () => succeeds(querying)] },
    body
  )

beforeAll(async () => {
  await world.start()
  thread = attackerOf(baseUrl, world.api().dev.apiKey)
  attacker = thread.send
  neighbour = clientOf(baseUrl, await createSecondOrganisation(world.dataDir, "Neighbour"))
  calling = await workflow(
    neighbour,
    code(`for (let i = 0; i < 3; i++) await (await fetch("${world.systems().url}/ok")).text(); return { ok: true }`)
  )
  querying = await workflow(
    neighbour,
    code(`const rows = await svc.db.query("SELECT 1 AS one"); return { ok: rows[0].one === 1 }`)
  )
  await run(neighbour, querying)
  quiet = (await probed(() => new Promise((resolve) => setTimeout(resolve, long ? 6_000 : 3_000)))).probe
}, 120_000)
afterAll(async () => {
  await thread.stop()
  await world.stop()
})

/** Asserts that the attack ends as `judge` expects, and that no neighbour is delayed or fails. */
const vector = (
  name: string,
  attack: () => Promise<Answer>,
  judge: (answer: Answer) => void,
  { millis = 120_000, leastRuns = 1 }: { readonly millis?: number; readonly leastRuns?: number } = {}
) =>
  it(name, { timeout: millis }, async () => {
    const { probe, value: answers } = await probed(async (count) => {
      const answers: Array<Answer> = []
      do answers.push(await attack())
      while (count() < measured)
      return answers
    })
    for (const answer of answers) judge(answer)
    assert.isBelow(probe.worst, mostDelay, `/healthz was delayed (${JSON.stringify({ probe, quiet })})`)
    if (long) assert.isBelow(probe.p99, Math.max(3 * quiet.p99, 100), "the neighbour's runs were delayed")
    assert.isAtLeast(probe.runs, leastRuns, "the neighbour's runs came to nothing")
    if (process.env["SVC_TEST_FIGURES"] === "1")
      console.log(
        `${name}: healthz ${probe.worst.toFixed(0)} ms, neighbour p99 ${probe.p99.toFixed(0)} ms (${quiet.p99.toFixed(0)} quiet), ${answers.length} times`
      )
  })

/** Expects a failed run with this code or name. */
const failedWith =
  (expected: RegExp) =>
  ({ body, status }: Answer) => {
    assert.strictEqual(status, 200)
    assert.match(`${body.error?.code} ${body.error?.name} ${body.error?.message}`, expected, JSON.stringify(body))
  }
const refusedWith =
  (expected: number, detail: RegExp) =>
  ({ body, status }: Answer) => {
    assert.strictEqual(status, expected, JSON.stringify(body))
    assert.match(JSON.stringify(body), detail)
  }
/** Expects any outcome except an error of the service. */
const answered = ({ body, status }: Answer) => assert.isBelow(status, 500, JSON.stringify(body))

const endless = "^(a+)+$"
const bait = `${"a".repeat(60)}!`

describe("a workspace's SQL", () => {
  const query = (sql: string) => async () =>
    run(attacker, await workflow(attacker, code(`return await svc.db.query(${JSON.stringify(sql)})`)))
  vector(
    "answers JSON that nests 6,000 deep",
    query(`SELECT (repeat('[', 6000) || repeat(']', 6000))::json AS deep`),
    failedWith(/deep|stack/i)
  )
  vector(
    "answers one row of 200 MB",
    query("SELECT repeat('x', 200000000) AS long"),
    failedWith(/TOO_LARGE|memory|too large/i)
  )
  vector("computes without end", query("SELECT count(*) FROM generate_series(1, 100000000000) AS n"), answered, {
    millis: 90_000
  })
})

describe("a workflow", () => {
  const runs =
    (body: string, more: object = {}) =>
    async () =>
      run(attacker, await workflow(attacker, code(body), more))
  vector(
    "makes 2,500 calls that it does not wait for",
    runs(`for (let i = 0; i < 2500; i++) svc.state.get("k" + i); return 1`),
    answered
  )
  vector("sets 9,000 timers", runs(`for (let i = 0; i < 9000; i++) setTimeout(() => {}, 10); return 1`), answered)
  vector(
    "returns 1.3 million empty objects",
    runs(`return Array.from({ length: 1300000 }, () => ({}))`),
    failedWith(/OUTPUT_TOO_LARGE|OUT_OF_MEMORY/)
  )
  vector(
    "makes 9,900 calls with long arguments at once",
    runs(
      `const a = "x".repeat(1500); await Promise.all(Array.from({ length: 9900 }, (_, i) => svc.state.get("k" + i + a).catch(() => 0))); return 1`
    ),
    answered
  )
  vector("computes without end", runs("for (;;);"), failedWith(/CPU_LIMIT/))
  vector(
    "holds 100 MB, forty times",
    async () => {
      const id = await workflow(
        attacker,
        code(
          `const kept = []; for (let i = 0; i < 100; i++) kept.push(new Uint8Array(1024 * 1024).fill(i)); await new Promise((done) => setTimeout(done, 300)); return kept.length`
        )
      )
      const all = await Promise.all(Array.from({ length: 40 }, () => run(attacker, id)))
      for (const one of all) answered(one)
      return all[0] ?? { status: 0, body: null }
    },
    answered,
    { millis: 90_000 }
  )
})

describe("a contract", () => {
  const violating = (contract: object, input: unknown) => async () =>
    run(attacker, await workflow(attacker, code("return 1"), { inputContract: { properties: { a: contract } } }), {
      a: input
    })
  vector(
    "has a pattern that backtracks without end",
    violating({ pattern: endless }, bait),
    refusedWith(422, /TOO_COSTLY/)
  )
  vector(
    "has a format that does",
    violating({ format: "url" }, `http://${"a".repeat(60)}!`),
    refusedWith(422, /TOO_COSTLY/)
  )
  vector(
    "compares 200,000 items with each other",
    violating(
      { uniqueItems: true },
      Array.from({ length: 200_000 }, (_, n) => n)
    ),
    refusedWith(422, /TOO_COSTLY/)
  )
  const save = (inputContract: object) => () =>
    attacker("POST", "/api/v1/workflows", {
      name: `flow_${(named += 1)}`,
      form: "code",
      code: code("return 1"),
      inputContract
    })
  const doubling = {
    $ref: "#/$defs/d0",
    $defs: {
      ...Object.fromEntries(
        Array.from({ length: 40 }, (_, n) => [
          `d${n}`,
          { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
        ])
      ),
      d40: { type: "null" }
    }
  }
  vector("has definitions that double", save(doubling), refusedWith(422, /TOO_COSTLY/))
  vector("refers to itself without end", save({ $ref: "#" }), refusedWith(422, /refers to itself/))
  vector("has a nested pattern that is none", save({ items: { pattern: "(" } }), refusedWith(422, /pattern/))
  vector(
    "of an output backtracks in a run",
    async () =>
      run(attacker, await workflow(attacker, code(`return "${bait}"`), { outputContract: { pattern: endless } })),
    failedWith(/OutputContractViolation/)
  )
})

describe("a document", () => {
  const discover = (openapi: unknown) => {
    const body = JSON.stringify({ openapi })
    return () => attacker("POST", "/api/v1/connectors/discover", body)
  }
  const paths = (count: number, operation: (n: number) => object) => ({
    openapi: "3.0.3",
    info: { title: "A", version: "1" },
    servers: [{ url: "https://a.example.com" }],
    paths: Object.fromEntries(Array.from({ length: count }, (_, n) => [`/p${n}`, { get: operation(n) }]))
  })
  const responses = { 200: { description: "" } }
  const emptyObjects = `{"a":[${Array.from({ length: 300_000 }, () => "{}").join(",")}]}`
  vector(
    "has 40,000 keys in YAML",
    discover(Array.from({ length: 40_000 }, (_, n) => `k${n}: 1`).join("\n")),
    refusedWith(422, /OpenAPI/)
  )
  vector(
    "has 12,000 equal operation ids",
    discover(paths(12_000, () => ({ operationId: "same", responses }))),
    answered
  )
  vector(
    "has 9,000 equal names of references",
    discover({
      ...paths(9_000, (n) => ({
        responses: { 200: { description: "", content: { "application/json": { schema: { $ref: `#/x/n${n}/same` } } } } }
      })),
      x: Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`n${n}`, { same: {} }]))
    }),
    answered
  )
  vector(
    "holds 300,000 empty objects",
    () => attacker("POST", "/api/v1/workflows", emptyObjects),
    refusedWith(422, /too many values/)
  )
  vector(
    "is a source of half a megabyte",
    () =>
      attacker("POST", "/api/v1/workflows", {
        name: "nested",
        form: "code",
        code: code(`return ${"[".repeat(60_000)}${"]".repeat(60_000)}`)
      }),
    refusedWith(422, /code/)
  )
})

describe("a credential's field", () => {
  vector(
    "has a pattern that backtracks, on the page without a key",
    async () => {
      const definition = {
        svcConnector: 1,
        slug: `evil-${(named += 1)}`,
        name: "Evil",
        kind: "custom",
        version: "1.0.0",
        baseUrl: "https://evil.example.com",
        auth: [
          {
            id: "key",
            type: "api_key",
            default: true,
            fields: [{ name: "apiKey", secret: true, title: "Key", pattern: endless }],
            inject: [{ in: "header", name: "x-key", value: "{{credential.apiKey}}" }]
          }
        ],
        actions: [{ name: "me", request: { method: "GET", path: "/me" } }]
      }
      assert.strictEqual((await attacker("POST", "/api/v1/connectors", definition)).status, 201)
      assert.strictEqual((await attacker("POST", `/api/v1/connectors/${definition.slug}/publish`, {})).status, 200)
      return attacker("POST", "/api/v1/connections", {
        connector: definition.slug,
        customerId: world.api().dev.customerId,
        credential: { apiKey: "a".repeat(500) + "!" }
      })
    },
    refusedWith(422, /TOO_COSTLY/)
  )
})

describe("secrets", () => {
  vector(
    "of the greatest length, thirty of them, are hidden in time",
    async () => {
      const names = Array.from({ length: 30 }, (_, n) => `LONG_${n}`)
      for (const name of names) {
        const stored = await attacker("POST", "/api/v1/secrets", {
          name,
          type: "text",
          value: `${name} `.padEnd(60_000, "secret value ")
        })
        assert.include([200, 201], stored.status)
      }
      return run(
        attacker,
        await workflow(
          attacker,
          code(
            `const all = []; for (const name of ${JSON.stringify(names)}) all.push(await svc.secrets.get(name)); console.log(all.join("\\n").slice(0, 8000)); return { ok: all.length }`
          )
        )
      )
    },
    ({ body }) => {
      assert.deepStrictEqual(body, { ok: 30 })
      assert.notInclude(world.output(), "secret value secret value")
    }
  )
})

describe("a client without a key", () => {
  vector(
    "holds 200 connections with 1.9 MB each",
    async () => {
      const headers = { "content-type": "application/json", "content-length": 1_900_000 }
      const url = `${baseUrl()}/api/v1/customers`
      assert.strictEqual(await holdBodies({ url, headers, count: 200, bytes: 1_000_000, millis: 2_000 }), 200)
      return { status: 200, body: null }
    },
    answered
  )
  vector(
    "tries 2,000 keys",
    async () => {
      const authorization = `Bearer svk_live_${"x".repeat(43)}`
      const url = `${baseUrl()}/api/v1/customers`
      const all = await sendFlood({ url, headers: { authorization }, count: 2_000, atOnce: 50 })
      assert.isAbove(all.filter((status) => status === 429).length, 1_000)
      return { status: all[0] ?? 0, body: null }
    },
    ({ status }) => assert.strictEqual(status, 401),
    // The service paces the flood, so that the neighbour makes hundreds of runs meanwhile; without pacing it makes
    // dozens.
    { leastRuns: 80 }
  )
})
