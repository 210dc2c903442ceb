/** Whatever a provider does, a call ends as a typed failure within its limits, and never shows its credential. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { answer, misbehaviours } from "../support/misbehavingProvider.js"
import { call, canary, type ProviderWorld, providerWorld } from "../support/providerWorld.js"

let world: ProviderWorld
beforeAll(async () => {
  world = await providerWorld()
})
afterAll(() => world.close())

/** A time limit for calls that end for another reason, on any machine. */
const patientMillis = 20_000

interface End {
  readonly code: string | null
  readonly category: "transient" | "provider" | "auth"
  readonly status: number | null
  readonly message: RegExp
}
const unreachable = (message: RegExp): End => ({ code: "UNREACHABLE", category: "transient", status: null, message })
const timedOut: End = {
  code: "TIMED_OUT",
  category: "transient",
  status: null,
  message: /did not answer within 1000 ms/
}
const tooLarge: End = { code: "TOO_LARGE", category: "provider", status: null, message: /more than \d+ bytes/ }

const ends: Readonly<Record<string, End>> = {
  busyForSeconds: { code: null, category: "transient", status: 429, message: /429/ },
  broken: { code: "oops", category: "transient", status: 500, message: /It broke/ },
  html: { code: null, category: "provider", status: 200, message: /text\/html where JSON was expected/ },
  gateway: { code: null, category: "transient", status: 502, message: /HTTP 502: 502 Bad Gateway/ },
  notJson: { code: null, category: "provider", status: 200, message: /has the content type JSON but is not JSON/ },
  reset: unreachable(/was reset/),
  closed: unreachable(/closed/),
  silent: timedOut,
  drip: timedOut,
  dripHead: timedOut,
  endless: tooLarge,
  bomb: tooLarge,
  tooShort: unreachable(/closed|shorter/),
  twoLengths: unreachable(/shorter|not valid HTTP/),
  loop: unreachable(/redirected more than 3 times/),
  headers: unreachable(/headers/),
  notHttp: unreachable(/not valid HTTP/),
  errorInside: { code: "no_such_room", category: "provider", status: 200, message: /No such room/ }
}

describe("A provider that misbehaves", () => {
  it("has a typed failure for every kind of misbehaviour", () =>
    assert.sameMembers(Object.keys(ends), Object.keys(misbehaviours)))

  it("ends a workflow's call as its typed failure, within the action's time", async () => {
    await world.publish("bad", { actions: [call] })
    const id = await world.attempt("bad")
    for (const how of Object.keys(ends)) await world.connected("bad", { how }, { label: how })
    const all = await Promise.all(
      Object.entries(ends).map(async ([how, end]) => {
        const { body, text } = await world.run(id, {
          opts: { connection: how, retry: false, ...(end === timedOut ? {} : { timeoutMs: patientMillis }) }
        })
        return { how, end, body, text }
      })
    )
    for (const { body, end, how, text } of all) {
      assert.deepInclude(
        body,
        { name: "ConnectorError", code: end.code, category: end.category, status: end.status },
        `${how}: ${text}`
      )
      assert.strictEqual(body.retryable, end.category === "transient", how)
      assert.match(body.message, end.message, how)
      assert.notInclude(text, canary, how)
    }
  })

  it("fails the test of a connection with the reason, and nothing is stored", async () => {
    await world.publish("badtest", { actions: [call], test: { action: "call" } })
    const before = (await world.ask("GET", "/api/v1/connections?connector=badtest")).body.data.length
    const all = await Promise.all(
      Object.keys(ends).map(async (how) => {
        return { how, made: await world.connect("badtest", { how }) }
      })
    )
    for (const { how, made } of all) {
      assert.deepInclude(made.body, { code: "CREDENTIAL_TEST_FAILED" }, `${how}: ${made.text}`)
      assert.strictEqual(made.status, 422, how)
      assert.notInclude(made.text, canary, how)
    }
    assert.strictEqual((await world.ask("GET", "/api/v1/connections?connector=badtest")).body.data.length, before)
  })

  it.each([
    ["in seconds", () => "2"],
    ["as a date", () => new Date(Date.now() + 3_000).toUTCString()]
  ])(
    "and names the time of the next request %s gets the next request at that time, and not before",
    async (form, retryAfter) => {
      const how = `later_${form.length}`
      const due = { at: 0 }
      world.scripts.set(`/${how}`, (socket, _, nth) => {
        if (nth > 1) return answer(socket, 200, JSON.stringify({ nth }))
        const value = retryAfter()
        due.at = value === "2" ? Date.now() + 2_000 : Date.parse(value)
        return answer(socket, 429, "{}", { "content-type": "application/json", "retry-after": value })
      })
      const slug = `later${form.length}`
      await world.publish(slug, { actions: [call], retry: { maxAttempts: 3, initialMs: 1, jitter: 0 } })
      await world.connected(slug, { how })
      const id = await world.workflow(`return await svc.connector.${slug}.call({})`, "standard")
      const { body } = await world.run(id)
      const ended = await eventually(
        async () => (await world.ask("GET", `/api/v1/executions/${body.executionId}`)).body.data,
        ({ status }) => status === "completed" || status === "failed"
      )
      assert.deepStrictEqual([ended.status, ended.output], ["completed", { nth: 2 }])
      const [first, second, ...more] = world.systems.requests.filter(({ head }) => head.startsWith(`GET /${how} `))
      assert.isEmpty(more)
      assert.isAtLeast(second?.at ?? 0, due.at - 20)
      assert.isAbove(second?.at ?? 0, first?.at ?? 0)
    }
  )

  it("is cut off at the limit of an answer, however many calls it answers without end", async () => {
    const id = await world.attempt("bad")
    await world.run(id, { opts: { connection: "bomb" } })
    const calls = Array.from({ length: 48 }, (_, at) =>
      world.run(id, { opts: { connection: at % 2 === 0 ? "endless" : "bomb", timeoutMs: patientMillis } })
    )
    const codes = (await Promise.all(calls)).map(({ body }) => body.code)
    assert.deepStrictEqual([...new Set(codes)].toSorted(), ["TOO_LARGE"])
  })

  it("cannot make a second answer count for the next request", async () => {
    const forged = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"forged":true}'
    world.scripts.set("/smuggle", (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}${forged}`)
    })
    await world.connected("bad", { how: "smuggle" }, { label: "smuggle" })
    await world.connected("bad", { how: "fine" }, { label: "fine" })
    const id = await world.attempt("bad")
    for (let i = 0; i < 4; i++) {
      assert.deepStrictEqual((await world.run(id, { opts: { connection: "smuggle" } })).body, { result: {} })
      assert.notInclude((await world.run(id, { opts: { connection: "fine" } })).text, "forged")
    }
  })

  it("that repeats the credential cannot show it in the workflow, the trace or the connection", async () => {
    const secret = "canary/echo+1=="
    const echoed = [secret, encodeURIComponent(secret), Buffer.from(`x:${secret}`).toString("base64")]
    const body = JSON.stringify({ ok: true, echoed, error: { message: `bad key ${secret}` }, email: secret })
    const headers = { "content-type": "application/json", "x-echo": secret }
    world.scripts.set("/echo", (socket) => answer(socket, 200, body.replaceAll("/", "\\/"), headers))
    world.scripts.set("/echo401", (socket) => answer(socket, 401, body, headers))
    await world.publish("echoing", {
      test: { action: "call", accountLabel: "$.email" },
      actions: [{ ...call, response: { map: { body: "{{body}}", headers: "{{headers}}" } } }, call].map((one, at) => ({
        ...one,
        name: at === 0 ? "whole" : "call"
      }))
    })
    const credential = { apiKey: secret }
    const made = await world.connect("echoing", { how: "echo" }, { credential })
    assert.deepInclude(made.body.data, { status: "active", accountLabel: "[redacted]" })
    const ran = await world.run(await world.attempt("echoing", "whole"))
    assert.include(ran.text, "[redacted]")
    const trace = await world.ask("GET", `/api/v1/executions/${ran.headers["x-svc-execution-id"]}`)
    assert.include(trace.text, "[redacted]")
    const refused = await world.connect("echoing", { how: "echo401" }, { credential })
    assert.strictEqual(refused.body.code, "CREDENTIAL_TEST_FAILED", refused.text)
    for (const { text } of [made, ran, trace, refused])
      for (const form of [...echoed, JSON.stringify(secret).slice(1, -1)]) assert.notInclude(text, form)
  })
})
