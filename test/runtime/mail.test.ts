/**
 * E-mail over SMTP follows the rules of every request: allowed addresses, one time limit, TLS, no trace of the login.
 */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { Duration, Effect, Either } from "effect"
import { MailEgress, type MailRequest } from "../../src/actors/ports/delivery/MailEgress.js"
import { actionResult } from "../../src/domain/connector/request/ActionResult.js"
import { buildRequest } from "../../src/domain/connector/request/UnsignedRequest.js"
import { findAction } from "../../src/domain/connector/Definition.js"
import { retryPause } from "../../src/domain/connector/request/Retry.js"
import { email as builtIn } from "../../src/domain/connectors/Email.js"
import type { JsonObject } from "../../src/domain/Json.js"
import { parseAllowList } from "../../src/runtime/egress/Address.js"
import { layer } from "../../src/runtime/egress/Egress.js"
import type { Resolve } from "../../src/runtime/egress/Connect.js"
import { eventually } from "../support/eventually.js"
import { cert, type SmtpServer, startSmtpServer } from "../support/smtpServer.js"
import { compiledPatterns } from "../support/patterns.js"
import { organisation } from "../support/journal.js"
import { ownerOf } from "../support/shareOwners.js"

const email = builtIn.definition()
const password = "canary-of-the-mailbox"
let plain: SmtpServer
let tls: SmtpServer
beforeAll(async () => {
  plain = await startSmtpServer(["ada", password])
  tls = await startSmtpServer(["ada", password], true)
})
afterAll(() => Promise.all([plain.close(), tls.close()]))
beforeEach(() => {
  plain.script = {}
  tls.script = {}
})

interface World {
  readonly allow?: string
  readonly resolve?: Resolve
  readonly ca?: ReadonlyArray<string>
}
const here: Resolve = () => Promise.resolve(["127.0.0.1"])

const send = (request: Partial<MailRequest> & { readonly url: string }, world: World = {}) =>
  Effect.flatMap(MailEgress, (mail) =>
    mail.send({
      owner: ownerOf(organisation),
      method: "VERIFY",
      headers: login(),
      body: null,
      timeout: Duration.seconds(5),
      ...request
    })
  ).pipe(
    Effect.provide(
      layer({
        allow: Either.getOrThrow(parseAllowList(world.allow ?? "127.0.0.1/32")),
        resolve: world.resolve ?? here,
        ca: world.ca ?? [cert]
      })
    ),
    Effect.either,
    Effect.runPromise
  )

const login = (pass = password, security?: string): ReadonlyArray<readonly [string, string]> => [
  ["authorization", `Basic ${Buffer.from(`ada:${pass}`).toString("base64")}`],
  ...(security === undefined ? [] : [["security", security] as const])
]

/** Runs an action of the catalogue's connector, from its arguments to the workflow's result. */
const call = async (name: "sendEmail" | "verify", args: JsonObject, server: SmtpServer, security?: string) => {
  const action = findAction(email, name)
  if (action === undefined) throw new Error(`no action ${name}`)
  const config = { host: "tls.example", port: server.port, ...(security === undefined ? {} : { security }) }
  const request = Either.getOrThrow(buildRequest(email, action, { args, config, idempotencyKey: "k".repeat(64) }))
  const headers = [...request.headers, ...login()]
  const answer = await send({ ...request, headers, timeout: Duration.millis(5_000) })
  return Either.flatMap(answer, (found) => actionResult(email, action, found, 0, compiledPatterns))
}
const hello = { from: "Ada <ada@example.com>", to: ["bob@example.com", "eve@example.com"], subject: "Hi", text: "." }

const commandsOf = (server: SmtpServer, from: number) => server.commands.slice(from).map(({ line }) => line)

describe("An e-mail", () => {
  it("is sent after a login over STARTTLS to all recipients, and returns the server's replies", async () => {
    const from = plain.commands.length
    const sent = Either.getOrThrow(await call("sendEmail", { ...hello, bcc: "max@example.com" }, plain))
    assert.deepStrictEqual(sent, {
      messageId: `<${"k".repeat(64)}@example.com>`,
      accepted: ["bob@example.com", "eve@example.com", "max@example.com"],
      rejected: [],
      response: "250 2.0.0 Ok: queued as 4711"
    })
    const seen = plain.commands.slice(from)
    const before = seen.filter(({ secure }) => !secure).map(({ line }) => line)
    assert.deepStrictEqual(before, ["EHLO [127.0.0.1]", "STARTTLS"])
    assert.include(seen.find(({ line }) => line.startsWith("MAIL"))?.line, "MAIL FROM:<ada@example.com>")
    const [message = ""] = plain.messages.slice(-1)
    assert.include(message, "Subject: Hi\r\n")
    assert.include(message, "To: bob@example.com,\r\n eve@example.com")
    assert.notInclude(message, "max@example.com")
    await eventually(
      async () => plain.open(),
      (open) => open === 0
    )
    assert.include(commandsOf(plain, from), "QUIT")
  })

  it("is sent over TLS from the first byte, if the connection says so", async () => {
    const from = tls.commands.length
    assert.deepStrictEqual(Either.getOrThrow(await call("verify", {}, tls, "tls")), { server: "tls.example" })
    assert.isTrue(tls.commands.slice(from).every(({ secure }) => secure))
  })

  it("that some recipients do not get names them", async () => {
    plain.script = { RCPT: (line) => (line.includes("eve@") ? "550 5.1.1 no such mailbox" : undefined) }
    const sent = Either.getOrThrow(await call("sendEmail", hello, plain))
    assert.deepInclude(sent, { accepted: ["bob@example.com"], rejected: ["eve@example.com"] })
  })

  it.each([
    ["the login", { AUTH: "535 5.7.8 Username and Password not accepted" }, "auth", 401, "535"],
    ["whoever has not logged in", { MAIL: "530 5.7.0 Authentication required" }, "auth", 401, "530"],
    ["everybody whom it is for", { RCPT: "550 5.1.1 no such mailbox" }, "provider", 422, "550"],
    ["its sender", { MAIL: "553 5.1.8 not yours" }, "provider", 422, "553"],
    ["what it says", { MESSAGE: "554 5.7.1 looks like spam" }, "provider", 422, "554"],
    ["for now (greylisting)", { RCPT: "450 4.2.0 Greylisted, try again" }, "transient", 450, "450"],
    ["for now, when it has all of it", { MESSAGE: "451 4.3.0 try later" }, "transient", 451, "451"],
    ["for now, before a word is said", { CONNECT: "421 too many connections" }, "transient", 421, "421"],
    ["for ever, before a word is said", { CONNECT: "554 no service here" }, "provider", 422, "554"]
  ] as const)("refused by the server: %s", async (_, script, category, status, code) => {
    plain.script = script
    const failure = Either.getOrThrow(Either.flip(await call("sendEmail", hello, plain)))
    assert.deepInclude(failure, { category, status, code })
    if (!("_tag" in failure)) {
      // Only temporary refusals are retried.
      assert.strictEqual(retryPause(email.retry, 1, failure, 0.5) !== null, category === "transient")
      assert.include(Object.values(script).join(), failure.message)
    }
    assert.notInclude(JSON.stringify(failure), password)
  })

  it("that is not a valid message is refused before a connection is made", async () => {
    const before = plain.connections()
    const failure = Either.getOrThrow(
      Either.flip(await call("sendEmail", { ...hello, to: "bob@example.com\r\nRCPT TO:<x@example.com>" }, plain))
    )
    assert.deepInclude(failure, {
      status: 422,
      code: "INVALID_MESSAGE",
      message: "args.to has characters that a header cannot hold"
    })
    assert.strictEqual(plain.connections(), before)
  })

  it("above the server's maximum size is refused", async () => {
    const text = "x".repeat(900_000)
    assert.deepInclude(Either.getOrThrow(Either.flip(await call("sendEmail", { ...hello, text }, plain))), {
      status: 413,
      code: "TOO_LARGE",
      category: "provider"
    })
  })
})

describe("A login at an SMTP server", () => {
  const url = (server: SmtpServer, scheme = "smtp") => `${scheme}://tls.example:${server.port}`

  it("is refused like any credential, without the password in the answer", async () => {
    const answer = Either.getOrThrow(await send({ url: url(plain), headers: login("wrong") }))
    assert.strictEqual(answer.status, 401)
    assert.deepStrictEqual(JSON.parse(Buffer.from(answer.body).toString()), {
      code: "535",
      message: "535 5.7.8 not you"
    })
  })

  it("is not sent before TLS: neither without TLS nor to a server with a wrong certificate", async () => {
    const from = plain.commands.length
    plain.script = { EHLO: "250-smtp.example\r\n250 AUTH PLAIN LOGIN", STARTTLS: "502 not here" }
    const none = Either.getOrThrow(Either.flip(await send({ url: url(plain) })))
    assert.deepInclude(none, { _tag: "EgressUnreachable" })
    assert.include(JSON.stringify(none), "does not offer TLS")
    plain.script = {}
    for (const request of [
      { url: url(plain) },
      { url: url(tls, "smtps") },
      { url: url(tls), headers: login(password, "tls") }
    ]) {
      const untrusted = Either.getOrThrow(Either.flip(await send(request, { ca: [] })))
      assert.include(JSON.stringify(untrusted), "self-signed")
      const misnamed = { ...request, url: request.url.replace("tls.example", "other.example") }
      assert.include(JSON.stringify(Either.getOrThrow(Either.flip(await send(misnamed)))), "altnames")
    }
    assert.notInclude(commandsOf(plain, from).join(), "AUTH")
  })

  it("is sent without TLS if the connection says so", async () => {
    plain.script = { EHLO: "250-smtp.example\r\n250-STARTTLS\r\n250 AUTH PLAIN" }
    const from = plain.commands.length
    const answer = Either.getOrThrow(await send({ url: url(plain), headers: login(password, "none") }))
    assert.strictEqual(answer.status, 200)
    assert.isTrue(plain.commands.slice(from).every(({ secure }) => !secure))
  })

  it("is not affected by replies that a server sends before TLS begins", async () => {
    plain.script = { STARTTLS: "220 go ahead\r\n250-injected\r\n250 AUTH PLAIN" }
    const answer = await send({ url: url(plain), timeout: Duration.seconds(2) })
    if (Either.isRight(answer)) assert.strictEqual(answer.right.status, 200)
    else assert.oneOf(answer.left._tag, ["EgressUnreachable", "EgressTimedOut"])
  })
})

describe("An SMTP server", () => {
  it("is reached at public addresses only, also if its name resolves to another address later", async () => {
    const before = plain.connections()
    for (const host of [
      "127.0.0.1",
      "localhost",
      "0x7f000001",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "10.0.0.1",
      "169.254.169.254"
    ])
      assert.deepInclude(
        Either.getOrThrow(Either.flip(await send({ url: `smtp://${host}:${plain.port}` }, { allow: "" }))),
        { _tag: "EgressBlocked" },
        host
      )
    // The name is resolved once: the connection goes to the checked address.
    let asked = 0
    const rebinding: Resolve = () => Promise.resolve(asked++ === 0 ? ["192.0.2.1"] : ["127.0.0.1"])
    const url = `smtp://rebinding.example:${plain.port}`
    const blocked = await send({ url }, { allow: "", resolve: rebinding })
    assert.deepInclude(Either.getOrThrow(Either.flip(blocked)), { _tag: "EgressBlocked" })
    assert.strictEqual(asked, 1)
    assert.strictEqual(plain.connections(), before)
  })

  it("that does not reply, replies slowly or never ends a reply fails at the limit of time or size, and is disconnected", async () => {
    const url = `smtp://tls.example:${plain.port}`
    for (const command of ["CONNECT", "EHLO", "AUTH"]) {
      plain.script = { [command]: null }
      const failure = Either.getOrThrow(Either.flip(await send({ url, timeout: Duration.millis(300) })))
      assert.deepInclude(failure, { _tag: "EgressTimedOut", afterMillis: 300 }, command)
    }
    plain.script = { CONNECT: "220-x\r\n".repeat(200_000) }
    assert.include(JSON.stringify(Either.getOrThrow(Either.flip(await send({ url })))), "maximum allowed size")
    await eventually(
      async () => plain.open(),
      (open) => open === 0
    )
  })

  it("that does not listen or uses another protocol is unreachable", async () => {
    const gone = await startSmtpServer(["a", "b"])
    await gone.close()
    assert.deepInclude(Either.getOrThrow(Either.flip(await send({ url: `smtp://tls.example:${gone.port}` }))), {
      _tag: "EgressUnreachable",
      reason: "the connection was refused"
    })
    plain.script = { CONNECT: "HTTP/1.1 400 Bad Request" }
    const other = await send({ url: `smtp://tls.example:${plain.port}` })
    assert.strictEqual(Either.isLeft(other) && other.left._tag, "EgressUnreachable")
  })

  it("is requested only by the methods of mail, at the host of the connection", async () => {
    for (const request of [
      { url: "smtp://tls.example:25", method: "GET" },
      { url: "http://tls.example:25" },
      { url: "smtp://user:pass@tls.example:25" },
      { url: "smtp:tls" }
    ])
      assert.deepInclude(Either.getOrThrow(Either.flip(await send(request))), { _tag: "EgressBlocked" }, request.url)
  })
})
