/** A credential that a provider repeats in its answer is removed, in whichever encoding. */
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Redacted, Schema } from "effect"
import { EgressBlocked, EgressTimedOut, EgressUnreachable } from "../../src/actors/ports/Egress.js"
import { AuthMethod } from "../../src/domain/connector/AuthMethod.js"
import { injectedSecrets } from "../../src/domain/connector/request/Injection.js"
import { type EchoFilter, echoFilter } from "../../src/runtime/egress/Echo.js"

const answered = (body: string | Uint8Array, headers: ReadonlyArray<readonly [string, string]> = []) => ({
  status: 200,
  headers,
  body: typeof body === "string" ? Buffer.from(body) : body,
  url: "https://api.acme.example/x"
})
const filter = (...secrets: ReadonlyArray<string>) => echoFilter(secrets.map((secret) => Redacted.make(secret)))
const text = (answer: { readonly body: Uint8Array }) => Buffer.from(answer.body).toString()

async function* cut(bytes: Buffer, at: string): AsyncGenerator<Uint8Array> {
  for (const piece of bytes.toString("latin1").split(at)) yield Buffer.from(piece, "latin1")
}
async function* sized(bytes: Buffer, sizes: ReadonlyArray<number>): AsyncGenerator<Uint8Array> {
  for (let at = 0, nth = 0; at < bytes.length; nth++) {
    const size = sizes[nth % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}
const inPieces = async (echo: EchoFilter, bytes: Buffer, sizes: ReadonlyArray<number>) => {
  const answer = { ...answered(""), body: sized(bytes, sizes), cancel: () => undefined, ended: Effect.void }
  const out: Array<Uint8Array> = []
  for await (const piece of echo.opened(answer).body) out.push(piece)
  return Buffer.concat(out)
}

const secret = fc
  .fullUnicodeString({ minLength: 12, maxLength: 60 })
  .filter((value) => value.isWellFormed() && /[^[\]redact]/.test(value))
const around = fc.stringOf(fc.constantFrom("0", "1", " ", "\n", "ß"), { maxLength: 12 })

const forms: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  base64: (value) => Buffer.from(value).toString("base64"),
  "base64 of a pair": (value) => Buffer.from(`user:${value}`).toString("base64"),
  base64url: (value) => Buffer.from(value).toString("base64url"),
  hex: (value) => Buffer.from(value).toString("hex"),
  "hex in capitals": (value) => Buffer.from(value).toString("hex").toUpperCase(),
  "URL-encoded": encodeURIComponent,
  "form-encoded": (value) => new URLSearchParams([["x", value]]).toString().slice(2),
  JSON: (value) => JSON.stringify({ it: value }),
  "JSON in ASCII": (value) =>
    JSON.stringify({ it: value }).replace(
      /[\u0080-\uffff]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
    ),
  "JSON with slashes escaped": (value) => JSON.stringify({ it: value }).replaceAll("/", "\\/"),
  HTML: (value) =>
    `<p>${value.replace(/[&<>"']/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[one] ?? one)}</p>`
}

describe("A credential that a provider repeats", () => {
  for (const [name, form] of Object.entries(forms)) {
    it.prop(
      `is removed from the body and from headers: ${name}`,
      [secret, around, around],
      ([value, before, after]) => {
        const written = form(value)
        const clean = filter(value).answer(answered(`${before}${written}${after}`, [["x-echo", written]]))
        assert.notInclude(text(clean), written)
        assert.notInclude(clean.headers.map(([, header]) => header).join(), written)
        assert.include(text(clean), "[redacted]")
      }
    )
  }

  for (const [name, form] of Object.entries(forms)) {
    it.effect.prop(
      `is removed from a streamed body, wherever its chunks are split: ${name}`,
      [secret, around, around, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 })],
      ([value, before, after, sizes]) =>
        Effect.promise(async () => {
          const whole = `${before}${form(value)}${after}${form(value)}${before}`
          const out = await inPieces(filter(value), Buffer.from(whole), sizes)
          assert.notInclude(out.toString(), form(value))
          assert.include(out.toString(), "[redacted]")
          const clean = Buffer.from(`${before}${after}`.repeat(3))
          assert.deepStrictEqual(await inPieces(filter(value), clean, sizes), clean)
        })
    )
  }

  it("delays only those bytes of a chunk that may begin a secret", async () => {
    const seen: Array<string> = []
    const { body } = filter("canary-of-mine").opened({
      ...answered(""),
      body: cut(Buffer.from("data: 1\n\nca|n't say|canary-|of-mine|!"), "|"),
      cancel: () => undefined,
      ended: Effect.void
    })
    for await (const piece of body) seen.push(Buffer.from(piece).toString())
    assert.deepStrictEqual(seen, ["data: 1\n\n", "can't say", "[redacted]", "!"])
  })

  it("is removed in Latin-1, and as a number", () => {
    assert.strictEqual(
      filter("langes pässwort").answer(answered(Buffer.from("a langes pässwort b", "latin1"))).body.length,
      "a [redacted] b".length
    )
    assert.deepStrictEqual(JSON.parse(text(filter("123456789012").answer(answered('{"pin":123456789012,"n":1}')))), {
      pin: "[redacted]",
      n: 1
    })
  })

  it("leaves an answer without it unchanged, and the same object", () => {
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7919) % 256))
    for (const body of [bytes, gzipSync("x".repeat(9999)), Buffer.from('{"a":1}'), Buffer.alloc(0)]) {
      const answer = answered(body, [["content-length", String(body.length)]])
      assert.strictEqual(filter("canary-of-the-connection", "another/secret+one==").answer(answer), answer)
    }
  })

  it("leaves every other byte of a binary body unchanged, and no wrong length", () => {
    const head = Buffer.from([0, 255, 128, 13, 10, 195, 40])
    const body = Buffer.concat([head, Buffer.from("canary-in-the-middle"), head])
    const clean = filter("canary-in-the-middle").answer(answered(body, [["content-length", "34"]]))
    assert.deepStrictEqual(Buffer.from(clean.body), Buffer.concat([head, Buffer.from("[redacted]"), head]))
    assert.deepStrictEqual(clean.headers, [])
  })

  it("is in no failure and in no URL", () => {
    const { answer, failure } = filter("canary/in a path")
    const url = "https://evil.example/canary%2Fin%20a%20path"
    assert.strictEqual(answer({ ...answered(""), url }).url, "https://evil.example/[redacted]")
    for (const one of [
      new EgressBlocked({ url, reason: "leads to canary/in a path" }),
      new EgressUnreachable({ url, reason: "canary/in a path is not a header" })
    ])
      assert.notInclude(JSON.stringify(failure(one)), "canary")
    const timedOut = new EgressTimedOut({ url: "https://a.example/", afterMillis: 1 })
    assert.strictEqual(failure(timedOut), timedOut)
  })

  it("is removed in the base64 and the hexadecimal form of its Latin-1 bytes", () => {
    const value = "größe-des-schlüssels"
    const bytes = Buffer.from(`user:${value}`, "latin1")
    for (const written of [btoa(value), bytes.toString("base64url"), bytes.toString("base64"), bytes.toString("hex")]) {
      const clean = text(filter(value).answer(answered(`a ${written} b`)))
      assert.include(clean, "[redacted]")
      assert.isFalse(/^a \S{30,} b$/.test(clean), clean)
    }
  })

  it("of fewer than twelve characters changes no answer, and is reported if the answer may contain it", async () => {
    const body = '{"state":"alive","year":2024,"note":"live 2024","deadline":"2024-01-01"}'
    for (const secrets of [["live"], ["2024"], ["live", "2024"], ["elevenchars", "live"], ["abc", ""], []]) {
      const answer = answered(body, [["x-live", "2024"]])
      const echo = filter(...secrets)
      assert.strictEqual(echo.answer(answer), answer)
      assert.isUndefined(echo.refusal(answered(body.repeat(20_000))))
      assert.strictEqual((await inPieces(echo, Buffer.from(body), [3, 7])).toString(), body)
      assert.deepStrictEqual(
        echo.shortSecrets(answer).map((one) => Redacted.value(one)),
        secrets.filter((one) => one === "live" || one === "2024")
      )
    }
    const encoded = answered(JSON.stringify({ it: btoa("user:live"), hex: Buffer.from("live").toString("hex") }))
    assert.strictEqual(filter("live").shortSecrets(encoded).length, 1)
    assert.deepStrictEqual(filter("live").shortSecrets(answered("{}")), [])
    assert.strictEqual(filter("live").shortSecrets(answered("{}", [["x-a", "alive"]])).length, 1)
  })

  it("of exactly twelve characters is removed", () => {
    const echo = filter("twelve-chars")
    assert.strictEqual(text(echo.answer(answered("a twelve-chars b"))), "a [redacted] b")
    assert.deepStrictEqual(echo.shortSecrets(answered("a twelve-chars b")), [])
  })

  it("is in no failure, however short it is", () => {
    const url = "https://a.example/live"
    const { failure } = filter("live")
    assert.notInclude(JSON.stringify(failure(new EgressUnreachable({ url, reason: "live is down" }))), "live")
    assert.notInclude(JSON.stringify(failure(new EgressBlocked({ url, reason: "leads to live" }))), "live")
  })
})

describe("The secret part of a credential", () => {
  const method = Schema.decodeUnknownSync(AuthMethod)
  const secrets = (auth: object, credential: { readonly [name: string]: string }) =>
    injectedSecrets(method(auth), credential)
      .map((one) => Redacted.value(one))
      .toSorted()

  it("is what the request contains, except members that are not secret", () => {
    assert.deepStrictEqual(secrets({ id: "k", type: "api_key" }, { apiKey: "the-key", other: "not sent" }), ["the-key"])
    assert.deepStrictEqual(
      secrets({ id: "o", type: "oauth2", tokenUrl: "https://t.example" }, { accessToken: "at", refreshToken: "rt" }),
      ["at"]
    )
    const inject = [
      { in: "header", name: "x-a", value: "{{credential.account}}" },
      { in: "query", name: "k", value: "{{credential.key ?? credential.old}}" }
    ]
    const fields = [{ name: "account" }, { name: "key", secret: true }, { name: "old", secret: true, required: false }]
    const custom = { id: "c", type: "custom", fields, inject }
    assert.deepStrictEqual(secrets(custom, { account: "acme", key: "k1", old: "k0" }), ["k0", "k1"])
  })

  it("is the password of a login, both together, and the user name if that is the key", () => {
    const joined = (text: string) => Buffer.from(text).toString("base64")
    const basic = { id: "b", type: "basic" }
    assert.deepStrictEqual(secrets(basic, { username: "ada", password: "pw" }), [joined("ada:pw"), "pw"].toSorted())
    assert.deepStrictEqual(secrets(basic, { username: "sk_1", password: "" }), [joined("sk_1:"), "sk_1"].toSorted())
  })
})
