/** Customers and users whose references are beyond ASCII are named in headers, as bytes of UTF-8 or Latin-1, and over the RPC. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { createHash, createHmac } from "node:crypto"
import { request } from "node:http"
import { connect } from "../../src/http/rpc/client/Package.js"
import { identityMessage } from "../../src/domain/delivery/Signature.js"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import type { Answer } from "../support/InProcess.js"

let baseUrl: string
let flow: string
const customers = new Map<string, string>()
beforeAll(async () => {
  await startSharedCalls()
  baseUrl = (await svc.listen()).baseUrl
  flow = await workflow(
    `const { headers } = ctx
    return { ...ctx.customer, user: headers["x-user-id"], named: headers["x-end-org-id"] }`
  )
  for (const externalRef of ["Zoë", "日本"]) {
    const made = await ask("POST", "/api/v1/customers", { name: externalRef, externalRef })
    customers.set(externalRef, made.body.data.id)
  }
})
afterAll(() => stopCalls())

const ask = async (method: string, target: string, body?: object) => {
  const answer = await svc.ask(method, target, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer
}

const utf8 = (text: string) => Buffer.from(text).toString("latin1")

/** Sends a request whose headers are these bytes, one character each. */
const send = (
  method: string,
  target: string,
  headers: { readonly [name: string]: string },
  body = ""
): Promise<Pick<Answer, "status" | "body">> =>
  new Promise((resolve, reject) => {
    const outgoing = request(`${baseUrl}${target}`, { method, headers }, (answer) => {
      const parts: Array<Buffer> = []
      answer.on("data", (part: Buffer) => parts.push(part))
      answer.on("end", () => {
        const text = Buffer.concat(parts).toString()
        resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) })
      })
    })
    outgoing.on("error", reject)
    // Node writes the headers before a text in the encoding of the text.
    outgoing.end(Buffer.from(body))
  })

const json = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" })
const run = (headers: { readonly [name: string]: string }, key = svc.first.key) =>
  send("POST", `/api/v1/workflows/${flow}/execute`, { ...json(key), ...headers }, '{"input":{}}')

describe("a reference beyond ASCII in a header", () => {
  const table = [
    ["x-end-org-id in UTF-8", { "x-end-org-id": utf8("ref:Zoë") }, "Zoë"],
    ["x-end-org-id in Latin-1", { "x-end-org-id": "ref:Zoë" }, "Zoë"],
    ["x-end-org-id beyond Latin-1", { "x-end-org-id": utf8("ref:日本") }, "日本"],
    ["x-end-org-ref", { "x-end-org-ref": utf8("日本") }, "日本"],
    ["x-org-id", { "x-org-id": utf8("ref:日本") }, "日本"],
    ["x-svc-space-tenantid", { "x-svc-space-tenantid": utf8("ref:日本") }, "日本"]
  ] as const
  for (const [name, headers, externalRef] of table)
    it(`names the customer of a run and of management: ${name}`, async () => {
      const id = customers.get(externalRef)
      const started = await run(headers)
      assert.deepInclude(started.body, { id, ref: externalRef }, JSON.stringify(started.body))
      const listed = await send("GET", "/api/v1/customers", { ...json(svc.first.key), ...headers })
      assert.deepStrictEqual(
        listed.body.data.map((one: { id: string }) => one.id),
        [id]
      )
    })

  it("is text for the workflow and in the record of the run", async () => {
    const started = await run({ "x-end-org-id": utf8("ref:日本"), "x-user-id": utf8("Zoë") })
    assert.deepInclude(started.body, { user: "Zoë", named: "ref:日本" })
    const [record] = (await ask("GET", `/api/v1/executions?workflow_id=${flow}&page_size=1`)).body.data
    assert.strictEqual((await ask("GET", `/api/v1/executions/${record.id}`)).body.data.userId, "Zoë")
  })

  it("is not percent-decoded, and what names nobody is refused in a valid answer", async () => {
    for (const value of [`ref:${encodeURIComponent("日本")}`, utf8("ref:日"), "ref:\xff"])
      assert.deepInclude((await run({ "x-end-org-id": value })).body, { code: "NOT_FOUND" }, value)
    const two = await run({ "x-end-org-id": utf8("ref:日本"), "x-end-org-ref": utf8("Zoë") })
    assert.deepInclude(two.body, { code: "INVALID_HEADER" })
  })

  it("names the customer of an event behind an access key", async () => {
    const made = await ask("POST", "/api/v1/triggers", {
      type: "webhook",
      name: "Orders",
      webhook: { auth: "access_key" },
      routes: [{ workflowId: flow }]
    })
    const { accessKey, webhook } = made.body.data
    const headers = { "x-svc-access-key": accessKey, "content-type": "application/json" }
    const sent = await send(
      "POST",
      new URL(webhook.url).pathname,
      { ...headers, "x-end-org-id": utf8("ref:日本") },
      "{}"
    )
    assert.strictEqual(sent.status, 202, JSON.stringify(sent.body))
    const event = (await ask("GET", `/api/v1/events/${sent.body.eventId}`)).body.data
    assert.strictEqual(event.customerId, customers.get("日本"))
  })
})

describe("a signature over a reference beyond ASCII", () => {
  it("covers the bytes as they are sent", async () => {
    const made = await ask("POST", "/api/v1/api-keys", {
      name: "signs",
      mode: "live",
      preset: "full_access",
      hmac: { enabled: true }
    })
    const { hmacSecret, key } = made.body.data
    const target = `/api/v1/workflows/${flow}/execute`
    const signed = (value: string) => {
      const [at, body] = [Math.floor(Date.now() / 1_000), '{"input":{}}']
      const header = (name: string) => (name === "x-end-org-id" ? value : undefined)
      const bodySha256 = createHash("sha256").update(body).digest("hex")
      const message = Option.getOrThrow(identityMessage({ method: "POST", target, header, bodySha256 }, at, ""))
      return `t=${at},v1=${createHmac("sha256", hmacSecret).update(message, "latin1").digest("hex")}`
    }
    for (const [value, externalRef] of [
      [utf8("ref:Zoë"), "Zoë"],
      ["ref:Zoë", "Zoë"],
      [utf8("ref:日本"), "日本"]
    ] as const) {
      const own = await run({ "x-end-org-id": value, "x-identity-hmac": signed(value) }, key)
      assert.deepInclude(own.body, { ref: externalRef })
      const other = await run({ "x-end-org-id": value, "x-identity-hmac": signed("ref:Zoe") }, key)
      assert.deepInclude(other.body, { code: "IDENTITY_HMAC_INVALID" })
    }
  })
})

describe("a reference beyond ASCII over the typed RPC", () => {
  const calling = async <A>(options: object, call: (client: Awaited<ReturnType<typeof connect>>) => Promise<A>) => {
    const client = await connect({ url: baseUrl, key: svc.first.key, ...options })
    try {
      return await call(client)
    } finally {
      await client.close()
    }
  }
  const input = {}

  it("names customer and user in a payload, the options and the connection's headers", async () => {
    for (const externalRef of ["Zoë", "日本"]) {
      const named = { id: customers.get(externalRef), ref: externalRef, named: `ref:${externalRef}` }
      const customer = `ref:${externalRef}`
      const both = await calling({}, ({ executions }) =>
        // Text that looks like the bytes of another stays what it is.
        executions.run({ workflowId: flow, input, customer, user: "Ã«" })
      )
      assert.deepInclude(both.output, { ...named, user: "Ã«" })
      const option = await calling({ customer }, ({ executions }) => executions.run({ workflowId: flow, input }))
      assert.deepInclude(option.output, named)
      const headers = { "x-end-org-id": customer, "X-User-Id": "Zoë" }
      const opened = await calling({ headers }, ({ executions }) => executions.run({ workflowId: flow, input }))
      assert.deepInclude(opened.output, { ...named, user: "Zoë" })
    }
  })

  it("is refused where it cannot be sent, with what to change", async () => {
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => assert.fail("it succeeded"),
        (failure: unknown) => failure
      )
    for (const headers of [{ "x-proxy": "Zoë" }, { "x-user-id": "a\nb" }, { "x-user-id": "\ud800" }])
      assert.deepInclude(await refusal(connect({ url: baseUrl, key: svc.first.key, headers })), {
        _tag: "InvalidRequest"
      })
    for (const [member, text] of [
      ["customer", "ref:\ud800"],
      ["user", "a\u0000"]
    ] as const) {
      const failure = await calling({}, ({ executions }) =>
        refusal(executions.run({ workflowId: flow, input, [member]: text }))
      )
      assert.deepInclude(failure, { _tag: "InvalidRequest", code: "INVALID_REQUEST" })
      assert.match(String((failure as Error).message), new RegExp(`^${member} contains`))
    }
  })
})
