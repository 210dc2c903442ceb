/**
 * E-mail over a customer's own server: tested when it is connected, sent by workflows, never to a forbidden address.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { type SmtpServer, startSmtpServer } from "../support/smtpServer.js"

const password = "canary/of+the mailbox"
let svc: Running
let server: SmtpServer
let inner: SmtpServer

beforeAll(async () => {
  server = await startSmtpServer(["ada", password])
  inner = await startSmtpServer(["ada", password])
  svc = await start({ SVC_EGRESS_ALLOW: `127.0.0.1:${server.port}` })
})
afterAll(async () => {
  await svc.stop()
  await Promise.all([server.close(), inner.close()])
})

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, target, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
/** Without TLS, since the service does not trust a test's certificate. */
const connect = (config: object, credential: object = { username: "ada", password }, label = "Main") =>
  ask("POST", "/api/v1/connections", {
    connector: "email",
    customerId: svc.first.customerId,
    authMethod: "login",
    label,
    config: { host: "127.0.0.1", port: server.port, security: "none", ...config },
    credential
  })
const sends = async (name: string) => {
  const made = await ask("POST", "/api/v1/workflows", {
    name,
    form: "code",
    tier: "standard",
    code: `export default async (ctx) => {
      try { return await svc.connector.email.sendEmail({ from: "ada@example.com", to: "bob@example.com", subject: "Hello", text: "Hi" }) }
      catch (e) { return { name: e.name, code: e.code, category: e.category, status: e.status, message: e.message } }
    }`
  })
  await ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, {})
  const started = await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/execute`, {
    key: svc.first.key,
    body: { input: {} },
    headers: { "x-org-id": svc.first.customerId }
  })
  return eventually(
    () => ask("GET", `/api/v1/executions/${started.body.executionId}`),
    ({ body }) => ["completed", "failed"].includes(body.data.status)
  )
}

describe("E-mail", () => {
  it("is connected if the server accepts the login, and else not", async () => {
    server.script = { EHLO: "250-smtp.example\r\n250 AUTH PLAIN", AUTH: `535 not with ${password}` }
    const refused = await connect({})
    assert.deepStrictEqual([refused.status, refused.body.code], [422, "CREDENTIAL_TEST_FAILED"], refused.text)
    assert.include(refused.body.message, "401")
    assert.notInclude(refused.text, "canary")
    server.script = { EHLO: "250-smtp.example\r\n250 AUTH PLAIN" }
    const made = await connect({})
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.body.data, { status: "active", accountLabel: "127.0.0.1" })
    const tested = await ask("POST", `/api/v1/connections/${made.body.data.id}/test`)
    assert.strictEqual(tested.body.data.ok, true, tested.text)
    assert.isTrue(server.commands.some(({ line }) => line.startsWith("AUTH PLAIN")))
  })

  it("is sent by a workflow, and again after a temporary refusal, with the same Message-ID", async () => {
    let refusals = 0
    server.script = {
      EHLO: "250-smtp.example\r\n250 AUTH PLAIN",
      RCPT: () => (refusals++ === 0 ? "450 4.2.0 Greylisted" : undefined)
    }
    const { body, text } = await sends("greylisted")
    assert.strictEqual(body.data.status, "completed", text)
    assert.deepInclude(body.data.output, { accepted: ["bob@example.com"], response: "250 2.0.0 Ok: queued as 4711" })
    assert.match(body.data.output.messageId, /^<[0-9a-f]{64}@example\.com>$/)
    assert.lengthOf(server.messages, 1)
    assert.include(server.messages[0], `Message-ID: ${body.data.output.messageId}`)
    assert.deepInclude(body.data.steps[0], { name: "connector.email.sendEmail#1", status: "completed" })
    assert.lengthOf(body.data.steps[0].attempts, 2)
    assert.notInclude(text, "canary")
  })

  it("that the server refuses permanently is a typed failure at once, without a password that the server repeats", async () => {
    server.script = {
      EHLO: "250-smtp.example\r\n250 AUTH PLAIN",
      RCPT: `550 5.1.1 no such mailbox, ${password}, ${Buffer.from(`\0ada\0${password}`).toString("base64")}`
    }
    const { body, text } = await sends("refused")
    assert.deepInclude(body.data.output, { name: "ConnectorError", code: "550", category: "provider", status: 422 })
    assert.include(body.data.output.message, "no such mailbox")
    assert.notInclude(text, password)
    assert.notInclude(text, Buffer.from(password).toString("base64").slice(0, 20))
  })

  it("reaches no server at a forbidden address, when it is connected or later", async () => {
    for (const host of ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"]) {
      const made = await connect({ host, port: inner.port }, undefined, host)
      assert.strictEqual(made.status, 422, `${host}: ${made.text}`)
    }
    for (const host of ["::1", "[::1]", "a@b", "127.0.0.1:25", "127.0.0.1/", "x\r\nQUIT"])
      assert.strictEqual((await connect({ host, port: inner.port }, undefined, "x")).status, 422, host)
    assert.strictEqual(inner.connections(), 0)
  })
})
