import { it as effectIt } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { assert, describe, it } from "vitest"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { injectedParts } from "../../../src/domain/connector/request/Injection.js"
import { type MailMessage, buildMessage } from "../../../src/domain/connector/request/MailMessage.js"
import { mapsOf } from "../../../src/domain/connector/EntityMaps.js"
import { entityPlan } from "../../../src/domain/connector/EntityPlan.js"
import { MapCost } from "../../../src/domain/mapping/MapCost.js"
import { readRecord } from "../../../src/domain/mapping/RecordReading.js"
import { writeNewRecord } from "../../../src/domain/mapping/RecordWriting.js"
import { runAtOnce } from "../../support/RunAtOnce.js"
import { email as builtIn } from "../../../src/domain/connectors/Email.js"
import type { JsonObject } from "../../../src/domain/Json.js"

const email = builtIn.definition()

const now = Date.parse("2026-11-21T07:10:41Z")
const key = "k".repeat(64)

/** Builds the request by the action, as the transport gets it. */
const request = (name: string, args: JsonObject, config: JsonObject) => {
  const action = findAction(email, name)
  if (action === undefined) throw new Error(`no action ${name}`)
  return buildRequest(email, action, { args, config, idempotencyKey: key })
}

const sent = (args: JsonObject): Either.Either<MailMessage, { readonly path: string; readonly message: string }> =>
  Either.flatMap(request("sendEmail", args, { host: "smtp.example.com" }), ({ body }) =>
    buildMessage(JSON.parse(String(body)), key, now)
  )

const hello = { from: "Ada Byron <ada@example.com>", to: "bob@example.com", subject: "Hello", text: "Hi Bob" }

/** Unfolded headers, and the body unchanged. */
const read = ({ content }: MailMessage) => {
  const end = content.indexOf("\r\n\r\n")
  const lines = content.slice(0, end).replace(/\r\n /g, " ").split("\r\n")
  const headers = lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)] as const)
  return { names: headers.map(([name]) => name), headers: Object.fromEntries(headers), body: content.slice(end + 4) }
}

const decoded = (base64: string) => Buffer.from(base64, "base64").toString()

describe("e-mail", () => {
  it("has the sender of the connection, where a message names none", () => {
    const { from, ...message } = hello
    const sender = (args: JsonObject) =>
      JSON.parse(
        String(Either.getOrThrow(request("sendEmail", args, { host: "a.example", from: "svc@acme.example" })).body)
      ).from
    assert.strictEqual(sender(message), "svc@acme.example")
    assert.strictEqual(sender({ ...message, from }), from)
  })

  it("is a direct message to an address", () => {
    const entity = email.entities.find(({ name }) => name === "message")
    const map = entity === undefined ? undefined : mapsOf(entity)[0]
    if (entity === undefined || map === undefined) return assert.fail("no entity")
    const plan = entityPlan(entity, map.model, map, "en")
    const { mistakes, record } = writeNewRecord(plan.writing, {
      email: "bob@example.com",
      text: "Hi",
      threadId: "<1@example.com>",
      attachments: [{ filename: "a.txt", base64: "SGk=" }]
    })
    assert.deepStrictEqual([...mistakes], [])
    const { content } = Either.getOrThrow(sent({ ...hello, ...record, from: "ada@example.com" }))
    assert.include(content, "To: bob@example.com")
    assert.include(content, "In-Reply-To: <1@example.com>")
    assert.include(content, "a.txt")
    const answer = { messageId: "<2@example.com>", accepted: ["bob@example.com"], rejected: [] }
    const { record: read } = runAtOnce(readRecord(plan.reading, answer, new MapCost()))
    assert.deepInclude(read, { id: "<2@example.com>", email: "bob@example.com" })
  })

  it("goes to the connection's server, with what an SMTP transport needs", () => {
    const one = Either.getOrThrow(request("sendEmail", hello, { host: "smtp.example.com", port: 2525 }))
    assert.deepInclude(one, { method: "SEND", origin: "smtp://smtp.example.com:2525", timeoutMillis: 60_000 })
    assert.deepStrictEqual(JSON.parse(String(one.body)), hello)
    const verify = Either.getOrThrow(request("verify", {}, { host: "smtp.example.com" }))
    assert.deepInclude(verify, { method: "VERIFY", origin: "smtp://smtp.example.com:587", body: null })
  })

  it("refuses a server's name that is more than one", () => {
    for (const host of ["a@b.example", "a.example/x", "a.example?x", "a b", "", "a.example#"]) {
      assert.isTrue(Either.isLeft(request("verify", {}, { host })), host)
    }
  })

  it("has the login as user name and password in Basic", () => {
    const [method] = email.auth
    if (method === undefined) return assert.fail("no method")
    const parts = Either.getOrThrow(injectedParts(method, { username: "ada", password: "pässwort" }, {}))
    assert.deepStrictEqual(
      parts.map((part) => [part.in, part.name]),
      [["header", "Authorization"]]
    )
  })

  it("is a message with its envelope, its date and an id that every attempt has", () => {
    const message = Either.getOrThrow(sent(hello))
    assert.deepInclude(message, { from: "ada@example.com", recipients: ["bob@example.com"] })
    const { body, headers } = read(message)
    assert.deepInclude(headers, {
      From: '"Ada Byron" <ada@example.com>',
      To: "bob@example.com",
      Subject: "Hello",
      Date: "Sat, 21 Nov 2026 07:10:41 +0000",
      "Message-ID": `<${key}@example.com>`,
      "Content-Type": "text/plain; charset=utf-8"
    })
    assert.strictEqual(decoded(body), "Hi Bob")
    assert.strictEqual(Either.getOrThrow(sent(hello)).content, message.content)
  })

  it("reaches every recipient once, and hides blind copies", () => {
    const message = Either.getOrThrow(
      sent({
        ...hello,
        to: ["bob@example.com", { name: "Eve", address: "eve@example.com" }],
        cc: "bob@example.com",
        bcc: "x@example.com"
      })
    )
    assert.deepStrictEqual(message.recipients, ["bob@example.com", "eve@example.com", "x@example.com"])
    assert.notInclude(message.content, "x@example.com")
    assert.strictEqual(read(message).headers["To"], 'bob@example.com, "Eve" <eve@example.com>')
  })

  it("shows an encoded word in a subject as the text that it is", () => {
    const subject = "=?UTF-8?B?WW91ciBpbnZvaWNl?="
    const { headers } = read(Either.getOrThrow(sent({ ...hello, subject })))
    assert.strictEqual(headers["Subject"], `=?UTF-8?B?${Buffer.from(subject).toString("base64")}?=`)
  })

  it("carries any language in subject, names and text", () => {
    const subject = "Grüße aus Zürich — 你好 ".repeat(8).trim()
    const message = Either.getOrThrow(
      sent({ ...hello, from: { name: "Åsa", address: "a@example.com" }, subject, text: "Größe" })
    )
    const { body, headers } = read(message)
    const words = (text = "") =>
      text.replace(/\?=\s+=\?/g, "?==?").replace(/=\?UTF-8\?B\?([^?]*)\?=/g, (_, word: string) => decoded(word))
    assert.strictEqual(words(headers["Subject"]), subject)
    assert.strictEqual(words(headers["From"]), "Åsa <a@example.com>")
    assert.strictEqual(decoded(body), "Größe")
    assert.match(message.content, /^[\r\n\x20-\x7e]*$/)
  })

  it("has text and HTML as alternatives, and files beside them", () => {
    const message = Either.getOrThrow(
      sent({
        ...hello,
        html: "<p>Hi</p>",
        attachments: [{ filename: "ü.pdf", contentType: "application/pdf", base64: "AQID" }]
      })
    )
    const { body, headers } = read(message)
    assert.strictEqual(headers["Content-Type"], `multipart/mixed; boundary="=_${key}m"`)
    const [, first = "", file = ""] = body.split(`--=_${key}m\r\n`)
    assert.include(first, `multipart/alternative; boundary="=_${key}a"`)
    assert.strictEqual(first.split(`--=_${key}a\r\n`).length, 3)
    assert.include(file, "filename*=UTF-8''%C3%BC.pdf")
    assert.include(file, "\r\n\r\nAQID\r\n")
    assert.isTrue(body.endsWith(`--=_${key}m--\r\n`))
  })

  it("sends the caller's headers, except those that the message sets", () => {
    const headers = (more: JsonObject) => sent({ ...hello, headers: more })
    assert.strictEqual(read(Either.getOrThrow(headers({ "X-Order": "7" }))).headers["X-Order"], "7")
    for (const name of ["Bcc", "from", "Content-Type", "Message-ID", "X Y", "X:Y", "Received"]) {
      assert.isTrue(Either.isLeft(headers({ [name]: "x" })), name)
    }
  })

  it("refuses invalid addresses, invalid files and no recipients", () => {
    const refused = (more: JsonObject) => Either.getOrThrow(Either.flip(sent({ ...hello, ...more }))).path
    assert.strictEqual(refused({ from: "ada" }), "args.from")
    assert.strictEqual(refused({ to: ["bob@example.com", "x@y, z@y"] }), "args.to[1]")
    assert.strictEqual(refused({ to: "bob@example.com\r\nRCPT TO:<eve@example.com>" }), "args.to")
    assert.strictEqual(refused({ to: [] }), "args.to")
    assert.strictEqual(refused({ subject: "x\r\nBcc: eve@example.com" }), "args.subject")
    assert.strictEqual(refused({ attachments: [{ filename: "x", base64: "***" }] }), "args.attachments[0].base64")
    assert.strictEqual(
      refused({ attachments: [{ filename: "x", contentType: "a/b\r\nX: y", base64: "" }] }),
      "args.attachments[0].contentType"
    )
  })

  const hostile = FastCheck.oneof(
    FastCheck.string({ unit: "binary" }),
    FastCheck.stringMatching(/^[\r\n:.\-<>@", a-z]{0,40}$/),
    FastCheck.constantFrom(
      "\r\n.\r\n",
      "x\r\nBcc: e@x.example",
      "a\nTo: b",
      '"<e@x.example>',
      "\u2028",
      "--=_",
      "\u0000"
    )
  )
  effectIt.prop(
    "never has more headers, recipients or an end than it was made with, whatever stands in its values",
    [hostile, hostile, hostile, hostile],
    ([subject, name, text, filename]) => {
      const made = sent({
        ...hello,
        from: { name, address: "ada@example.com" },
        subject,
        text,
        attachments: [{ filename, base64: "AQID" }]
      })
      if (Either.isLeft(made)) return
      const { names } = read(made.right)
      assert.deepStrictEqual(names, ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"])
      assert.deepStrictEqual(made.right.recipients, ["bob@example.com"])
      const lines = made.right.content.split("\r\n")
      assert.isTrue(lines.every((line) => line.length <= 998 && !line.startsWith(".") && /^[\x20-\x7e]*$/.test(line)))
      assert.lengthOf(
        lines.filter((line) => line === `--=_${key}m`),
        2
      )
    }
  )
})
