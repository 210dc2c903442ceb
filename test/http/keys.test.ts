import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { createHash, createHmac } from "node:crypto"
import { signIdentity } from "../../src/domain/delivery/Signature.js"
import { eventually } from "../support/eventually.js"
import { type Answer, type Running, start } from "../support/InProcess.js"

let svc: Running
let full: string
beforeAll(async () => {
  svc = await start({ SVC_TRUSTED_PROXIES: "10.9.0.0/16" })
  full = svc.first.key
})
afterAll(() => svc.stop())

interface Made {
  readonly id: string
  readonly key: string
  readonly hmacSecret: string | null
}

const make = async (body: object, key = full): Promise<Made> => {
  const made = await svc.ask("POST", "/api/v1/api-keys", {
    key,
    body: { name: "k", mode: "live", preset: "full_access", ...body }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data
}

const list = (key: string, ask: object = {}) => svc.ask("GET", "/api/v1/customers", { key, ...ask })
const run = (key: string, ask: object = {}) =>
  svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key, body: { input: {} }, ...ask })
/** The same request to the typed API and to the hot route. */
const both = async (key: string, ask: object = {}): Promise<ReadonlyArray<Answer>> => [
  await list(key, ask),
  await run(key, ask)
]

const assertRefused = (answers: ReadonlyArray<Answer>, status: number, code: string) => {
  for (const { body, status: got } of answers) assert.deepStrictEqual([got, body.code], [status, code])
}
const assertServed = (answers: ReadonlyArray<Answer>) => {
  for (const { status, text } of answers) assert.strictEqual(status, 200, text)
}

describe("authentication", () => {
  it("accepts the key in either header, or in both if they agree", async () => {
    assertServed(await both(full))
    for (const headers of [{ "x-svc-api-key": full }, { "x-svc-api-key": full, authorization: `bearer ${full}` }]) {
      assert.strictEqual((await svc.ask("GET", "/api/v1/customers", { headers })).status, 200)
    }
  })

  it.each([
    {},
    { authorization: "Bearer" },
    { authorization: "Basic abc" },
    { authorization: "Bearer svk_live_short" },
    { "x-svc-api-key": "" },
    { authorization: `Bearer svk_live_${"A".repeat(43)}` },
    { "x-svc-api-key": `svk_live_${"A".repeat(43)}` }
  ])("refuses %j with 401", async (headers) => {
    assertRefused(
      [
        await svc.ask("GET", "/api/v1/customers", { headers }),
        await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { headers, body: {} })
      ],
      401,
      "UNAUTHORIZED"
    )
  })

  it("refuses two keys that differ, and another workspace than the key's", async () => {
    assertRefused(
      await both(full, { headers: { authorization: `Bearer ${full}`, "x-svc-api-key": `svk_live_${"A".repeat(43)}` } }),
      401,
      "UNAUTHORIZED"
    )
    assertRefused(
      await both(full, {
        headers: { authorization: `Bearer ${full}`, "x-svc-space-id": "spc_00000000000000000000000000" }
      }),
      403,
      "FORBIDDEN"
    )
  })
})

describe("a key", () => {
  it("is shown once", async () => {
    const made = await make({ name: "once" })
    assert.match(made.key, /^svk_live_[\w-]{43}$/)
    const [shown, listed] = [
      await svc.ask("GET", `/api/v1/api-keys/${made.id}`, { key: full }),
      await svc.ask("GET", "/api/v1/api-keys", { key: full })
    ]
    assert.strictEqual(shown.body.data.key, `svk_live_…${made.key.slice(-4)}`)
    for (const { text } of [shown, listed]) assert.notInclude(text, made.key)
  })

  it("has the defaults of the contract: test, viewer, 90 days", async () => {
    const made = await svc.ask("POST", "/api/v1/api-keys", { key: full, body: { name: "plain" } })
    const { expiresAt, mode, preset } = made.body.data
    assert.deepStrictEqual([mode, preset], ["test", "viewer"])
    assert.approximately((Date.parse(expiresAt) - Date.now()) / 86_400_000, 90, 0.1)
    assert.strictEqual(made.headers["cache-control"], "no-store")
    assert.strictEqual(made.headers["location"], `/api/v1/api-keys/${made.body.data.id}`)
  })

  it("can be narrowed, and then may do less", async () => {
    const made = await make({ preset: "custom", permissions: { users: ["read"], workflows: ["execute"] } })
    assertServed(await both(made.key))
    const narrowed = await svc.ask("PUT", `/api/v1/api-keys/${made.id}`, {
      key: full,
      body: { permissions: { workflows: ["execute"] } }
    })
    assert.strictEqual(narrowed.status, 200)
    assertRefused([await list(made.key, { later: "2 seconds" })], 403, "FORBIDDEN")
    assertServed([await run(made.key)])
  })

  it("grants no more than it has itself", async () => {
    const manager = await make({
      preset: "custom",
      permissions: { settings: ["read", "manage"], users: ["read", "invite"] }
    })
    const ask = (body: object) =>
      svc.ask("POST", "/api/v1/api-keys", { key: manager.key, body: { name: "more", ...body } })
    assertRefused(
      [await ask({ preset: "full_access" }), await ask({ preset: "custom", permissions: { secrets: ["read"] } })],
      403,
      "FORBIDDEN"
    )
    assert.strictEqual((await ask({ preset: "custom", permissions: { users: ["read"] } })).status, 201)
    const stronger = await make({})
    assertRefused(
      [
        await svc.ask("POST", `/api/v1/api-keys/${stronger.id}/rotate`, { key: manager.key, body: {} }),
        await svc.ask("POST", "/api/v1/users/invite", {
          key: manager.key,
          body: { email: "boss@example.com", role: "owner" }
        })
      ],
      403,
      "FORBIDDEN"
    )
  })

  it("reaches the customers that it names and no others", async () => {
    const other = (await svc.ask("POST", "/api/v1/customers", { key: full, body: { name: "Not reached" } })).body.data
    const made = await make({ customers: { mode: "subset", ids: [svc.first.customerId] } })
    const seen = await list(made.key)
    assert.deepStrictEqual(
      seen.body.data.map(({ id }: { id: string }) => id),
      [svc.first.customerId]
    )
    assert.strictEqual((await svc.ask("GET", `/api/v1/customers/${other.id}`, { key: made.key })).status, 404)
    assertRefused(
      [
        await run(made.key),
        await run(made.key, { headers: { authorization: `Bearer ${made.key}`, "x-end-org-id": other.id } })
      ],
      403,
      "CUSTOMER_NOT_REACHABLE"
    )
    assertServed([
      await run(made.key, { headers: { authorization: `Bearer ${made.key}`, "x-end-org-id": svc.first.customerId } })
    ])
    const wrong = await svc.ask("POST", "/api/v1/secrets", {
      key: made.key,
      body: { name: "X", value: "x", customerId: other.id }
    })
    assert.deepStrictEqual([wrong.status, wrong.body.details[0].path], [422, "customerId"])
  })

  it("works after a rotation for its grace period only; the new one works at once", async () => {
    const made = await make({})
    const rotated = await svc.ask("POST", `/api/v1/api-keys/${made.id}/rotate`, {
      key: full,
      body: { graceSeconds: 60 }
    })
    assert.strictEqual(rotated.status, 200)
    assertServed(await both(rotated.body.data.key))
    assertServed(await both(made.key, { later: "58 seconds" }))
    assertRefused(await both(made.key, { later: "61 seconds" }), 401, "UNAUTHORIZED")
    const again = await svc.ask("POST", `/api/v1/api-keys/${made.id}/rotate`, { key: full, body: {} })
    assertRefused(await both(rotated.body.data.key, { later: "2 seconds" }), 401, "UNAUTHORIZED")
    assertServed(await both(again.body.data.key))
  })

  it("is refused soon after its revocation, and stays revoked", async () => {
    const made = await make({})
    assertServed(await both(made.key))
    const revoked = await svc.ask("DELETE", `/api/v1/api-keys/${made.id}`, { key: full })
    assert.deepStrictEqual([revoked.status, revoked.body.data.status], [200, "revoked"])
    const answers = await eventually(
      () => both(made.key),
      (found) => found.every(({ status }) => status === 401)
    )
    assertRefused(answers, 401, "KEY_REVOKED")
    assert.strictEqual((await svc.ask("DELETE", `/api/v1/api-keys/${made.id}`, { key: full })).status, 200)
    assertRefused(
      [await svc.ask("POST", `/api/v1/api-keys/${made.id}/rotate`, { key: full, body: {} })],
      409,
      "INVALID_STATE"
    )
  })

  it("is refused once it has expired", async () => {
    const made = await make({ expires: "30d" })
    assertServed(await both(made.key, { later: "29 days" }))
    assertRefused(await both(made.key, { later: "721 hours" }), 401, "KEY_EXPIRED")
  })

  it("of Test mode needs the header that says so", async () => {
    const made = await make({ mode: "test" })
    assert.match(made.key, /^svk_test_/)
    assertRefused(await both(made.key), 403, "TEST_MODE_HEADER_REQUIRED")
    assertServed(await both(made.key, { headers: { authorization: `Bearer ${made.key}`, "x-svc-test-mode": "true" } }))
  })

  it("is used only from its addresses, of either family, and a forwarded address counts only from a trusted proxy", async () => {
    const made = await make({ allowedIps: ["192.0.2.7", "198.51.100.0/24", "2001:db8::/32"] })
    for (const from of ["192.0.2.7", "198.51.100.200", "2001:db8::1", "::ffff:192.0.2.7"])
      assertServed(await both(made.key, { from }))
    for (const from of ["192.0.2.8", "198.51.101.1", "2001:db9::1", "127.0.0.1", "::1", ""])
      assertRefused(await both(made.key, { from }), 403, "IP_NOT_ALLOWED")
    const forwarded = { headers: { authorization: `Bearer ${made.key}`, "x-forwarded-for": "192.0.2.7" } }
    assertServed(await both(made.key, { from: "10.9.1.1", ...forwarded }))
    assertRefused(await both(made.key, { from: "203.0.113.5", ...forwarded }), 403, "IP_NOT_ALLOWED")
    const behind = (hop: string) =>
      both(made.key, { from: "10.9.1.1", headers: { ...forwarded.headers, "x-forwarded-for": hop } })
    for (const hop of ["192.0.2.7:4711", "[2001:db8::1]:4711", "203.0.113.5, 192.0.2.7:4711, 10.9.1.2:80"])
      assertServed(await behind(hop))
    assertRefused(await behind("192.0.2.8:4711"), 403, "IP_NOT_ALLOWED")
    const wrong = await svc.ask("POST", "/api/v1/api-keys", {
      key: full,
      body: { name: "x", allowedIps: ["192.0.2.7", "300.1.1.1"] }
    })
    assert.deepStrictEqual([wrong.status, wrong.body.details[0].path], [422, "allowedIps[1]"])
  })

  it("narrowed to one workflow runs no other", async () => {
    const made = await make({ resourceScope: [{ type: "workflow", ids: ["wf_000000000000"] }] })
    assertRefused([await run(made.key)], 403, "RESOURCE_OUT_OF_SCOPE")
    const mine = await make({ resourceScope: [{ type: "workflow", ids: [svc.first.workflowId] }] })
    assertServed([await run(mine.key)])
  })
})

describe("a key that verifies its callers", () => {
  const digests = {
    hmacHex: (key: string | Uint8Array, data: string | Uint8Array) =>
      createHmac("sha256", key).update(data).digest("hex")
  }
  let made: Made
  beforeAll(async () => {
    made = await make({ hmac: { enabled: true } })
  })

  const signed = (
    secret: string,
    about: {
      readonly method: string
      readonly target: string
      readonly body: string
      readonly at?: number
      readonly nonce?: string
    }
  ) =>
    Option.getOrThrow(
      signIdentity(
        digests,
        [secret],
        {
          method: about.method,
          target: about.target,
          header: () => undefined,
          bodySha256: createHash("sha256").update(about.body).digest("hex")
        },
        about.at ?? Math.floor(Date.now() / 1000),
        about.nonce
      )
    )

  const ask = (header: string | undefined, method: string, target: string, raw: string, later = 0) =>
    svc.ask(method, target, {
      ...(raw === "" ? {} : { raw }),
      later,
      headers: {
        authorization: `Bearer ${made.key}`,
        ...(raw === "" ? {} : { "content-type": "application/json" }),
        ...(header === undefined ? {} : { "x-identity-hmac": header })
      }
    })

  const targets = () =>
    [
      ["GET", "/api/v1/customers?page_size=2", ""],
      ["POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, '{"input":{}}']
    ] as const

  it("refuses a request without a signature, and one of another request, secret or time", async () => {
    for (const [method, target, body] of targets()) {
      const good = { method, target, body }
      const secret = made.hmacSecret ?? ""
      assertRefused([await ask(undefined, method, target, body)], 401, "IDENTITY_HMAC_REQUIRED")
      for (const bad of [
        "nonsense",
        "t=1,v1=00",
        signed("svs_other", good),
        signed(secret, { ...good, target: `${target}x` }),
        signed(secret, { ...good, body: `${body} ` }),
        signed(secret, { ...good, method: "PUT" }),
        signed(secret, { ...good, at: Math.floor(Date.now() / 1000) - 310 })
      ])
        assertRefused([await ask(bad, method, target, body)], 401, "IDENTITY_HMAC_INVALID")
      assertServed([await ask(signed(secret, good), method, target, body)])
    }
  })

  it("accepts a nonce once", async () => {
    for (const [method, target, body] of targets()) {
      const header = signed(made.hmacSecret ?? "", { method, target, body, nonce: `n-${method}` })
      assertServed([await ask(header, method, target, body)])
      assertRefused([await ask(header, method, target, body)], 401, "IDENTITY_HMAC_INVALID")
    }
  })

  it("creates no key that does not, and reveals its secret to no narrower key", async () => {
    const target = "/api/v1/api-keys"
    const body = JSON.stringify({ name: "n", mode: "live" })
    const header = signed(made.hmacSecret ?? "", { method: "POST", target, body })
    const refused = await ask(header, "POST", target, body)
    assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.path], [403, "hmac"], refused.text)
    const limited = await make({ rateLimitPerMinute: 10 })
    const told = await svc.ask("POST", `/api/v1/api-keys/${made.id}/identity-secret`, { key: limited.key })
    assert.deepStrictEqual([told.status, told.body.details?.[0]?.path], [403, "rateLimitPerMinute"], told.text)
  })

  it("reveals its secret to a manager, audited", async () => {
    const told = await svc.ask("POST", `/api/v1/api-keys/${made.id}/identity-secret`, { key: full })
    assert.deepStrictEqual(
      [told.status, told.body.data.hmacSecret, told.headers["cache-control"]],
      [200, made.hmacSecret, "no-store"]
    )
    const trail = await svc.ask("GET", `/api/v1/audit?resource_id=${made.id}&action=api_key.reveal_identity_secret`, {
      key: full
    })
    // The entry of the previous refusal is written soon as well.
    const successes = trail.body.data.filter(({ outcome }: { readonly outcome: string }) => outcome === "success")
    assert.strictEqual(successes.length, 1)
  })
})

describe("a key of five calls a minute", () => {
  it("gets exactly five of fifty concurrent calls, on both routes together, and every answer says so", async () => {
    const made = await make({ rateLimitPerMinute: 5 })
    // Starts in a new minute, so that no other call falls into the next one.
    const later = `${60_000 - (Date.now() % 60_000) + 1_000} millis` as const
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? list(made.key, { later }) : run(made.key, { later })))
    )
    const admitted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    assert.strictEqual(admitted.length, 5, JSON.stringify(answers.map(({ status }) => status)))
    assertRefused(refused, 429, "RATE_LIMITED")
    for (const { headers } of answers) {
      assert.strictEqual(headers["x-ratelimit-limit"], "5")
      assert.match(headers["x-ratelimit-remaining"] ?? "", /^[0-4]$/)
      assert.match(headers["x-ratelimit-reset"] ?? "", /^\d{10}$/)
    }
    for (const { body, headers } of refused) {
      assert.strictEqual(headers["x-ratelimit-remaining"], "0")
      assert.isAtLeast(Number(headers["retry-after"]), 1)
      assert.isAtMost(Number(headers["retry-after"]), 60)
      assert.isTrue(body.retryable)
    }
  })

  it("does not affect another key, and gets five more in the next minute", async () => {
    const made = await make({ rateLimitPerMinute: 5 })
    const minute = 60_000 - (Date.now() % 60_000) + 120_000
    const statuses = async (later: number) =>
      (await Promise.all(Array.from({ length: 8 }, () => list(made.key, { later })))).map(({ status }) => status).sort()
    assert.deepStrictEqual(await statuses(minute), [200, 200, 200, 200, 200, 429, 429, 429])
    assert.strictEqual((await list(full, { later: minute })).status, 200)
    assert.deepStrictEqual(await statuses(minute + 60_000), [200, 200, 200, 200, 200, 429, 429, 429])
  })
})
