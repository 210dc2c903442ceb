/** Promise 6 and 7: no tenant delays the service or a neighbour by what it has a workflow, a document or a key do. */
import { assert, describe } from "@effect/vitest"
import { answered, attackedWorld, code, failedWith, refusedWith } from "../support/attacks.js"
import { sendFlood, holdBodies } from "../support/flood.js"

const { attacker, baseUrl, run, vector, workflow, world } = attackedWorld({})
let named = 0

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
    // A slow machine reaches the limit of computing first.
    failedWith(/OUTPUT_TOO_LARGE|OUT_OF_MEMORY|CPU_LIMIT/)
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
    // The service paces the flood, so that the neighbour makes more than a hundred runs meanwhile; without pacing it
    // makes two dozen.
    { leastRuns: 40 }
  )
})
