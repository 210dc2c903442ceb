import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import {
  isSecretHeader,
  isSecretMember,
  makeScrubber,
  redactHeaders,
  redactMembers
} from "../../src/domain/Redaction.js"
import type { Json } from "../../src/domain/Json.js"

/** Long enough not to occur by chance in what surrounds it. */
const secret = fc
  .fullUnicodeString({ minLength: 8, maxLength: 40 })
  .filter((text) => text.isWellFormed() && /[^[\]redact]/.test(text))
const around = fc.stringOf(fc.constantFrom("0", "1", " ", "\n", "ß"), { maxLength: 12 })

const encodings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  base64: (text) => Buffer.from(text).toString("base64"),
  base64url: (text) => Buffer.from(text).toString("base64url"),
  hex: (text) => Buffer.from(text).toString("hex"),
  "URL-encoded": encodeURIComponent,
  "form-encoded": (text) => new URLSearchParams([["x", text]]).toString().slice(2),
  "URL-encoded twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "json in json": (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  json: (text) => JSON.stringify(text).slice(1, -1)
}

describe("the scrubber", () => {
  for (const [name, encode] of Object.entries(encodings)) {
    it.prop(`removes a secret wherever it stands (${name})`, [secret, around, around], ([value, before, after]) => {
      const scrubber = makeScrubber([value])
      const encoded = encode(value)
      assert.notInclude(scrubber.text(before + encoded + after), encoded)
      assert.notInclude(
        JSON.stringify(scrubber.json({ a: [{ b: before + encoded + after }] })),
        JSON.stringify(encoded).slice(1, -1)
      )
    })
  }

  it.prop(
    "removes a secret that was encoded together with its neighbours, as Basic authentication does",
    [secret, around, around],
    ([value, before, after]) => {
      const whole = Buffer.from(`${before}${value}${after}`)
      for (const encoding of ["base64", "base64url"] as const) {
        const scrubbed = makeScrubber([value]).text(whole.toString(encoding))
        assert.include(scrubbed, "[redacted]")
        assert.notInclude(Buffer.from(scrubbed.replaceAll("[redacted]", ""), encoding).toString(), value)
      }
    }
  )

  it.prop(
    "changes nothing that holds no secret, and keeps the very value",
    [fc.jsonValue({ stringUnit: undefined })],
    ([value]) => {
      const json: Json = JSON.parse(JSON.stringify(value))
      assert.strictEqual(makeScrubber(["\u2603 not in there \u2603"]).json(json), json)
      assert.strictEqual(makeScrubber([]).json(json), json)
    }
  )

  it("leaves nothing of a secret that begins another one", () => {
    assert.strictEqual(makeScrubber(["abcd", "abcdefgh"]).text("x abcdefgh abcd"), "x [redacted] [redacted]")
  })

  it("takes values literally, not as patterns", () => {
    const scrubber = makeScrubber(["a.*b$^()[]{}|\\-/"])
    assert.strictEqual(scrubber.text("a.*b$^()[]{}|\\-/ axxb"), "[redacted] axxb")
  })

  it("ignores values that are shorter than four characters", () => {
    assert.strictEqual(makeScrubber(["", "a", "abc"]).text("abcabc a"), "abcabc a")
    assert.strictEqual(makeScrubber(["abcd"]).text("abcd"), "[redacted]")
  })

  it("takes credential headers out by their name, where it is at work at all", () => {
    const value = { headers: { Authorization: "Bearer other", accept: "*/*" } }
    assert.deepStrictEqual(makeScrubber(["hunter22"]).json(value), {
      headers: { Authorization: "[redacted]", accept: "*/*" }
    })
    assert.strictEqual(makeScrubber([]).json(value), value)
  })

  it("scrubs member names and numbers, and a name that is special stays data", () => {
    const scrubber = makeScrubber(["hunter22", "12345678"])
    assert.deepStrictEqual(scrubber.json({ hunter22: 1, n: 12345678, m: 5 }), {
      "[redacted]": 1,
      n: "[redacted]",
      m: 5
    })
    const special: Json = JSON.parse(`{"__proto__":{"a":"hunter22"}}`)
    assert.strictEqual(JSON.stringify(scrubber.json(special)), `{"__proto__":{"a":"[redacted]"}}`)
  })

  it("is quick on much text with many secrets", () => {
    const scrubber = makeScrubber(Array.from({ length: 100 }, (_, at) => `secret-value-number-${at}`))
    const text = "nothing to see here, move along ".repeat(32_768)
    const start = performance.now()
    assert.strictEqual(scrubber.text(text), text)
    assert.isBelow(performance.now() - start, 2_000)
  })
})

describe("secrets by name", () => {
  it("headers", () => {
    for (const name of [
      "Authorization",
      "cookie",
      "Set-Cookie",
      "x-svc-api-key",
      "x-svc-access-key",
      "X-Identity-HMAC",
      "proxy-authorization",
      "x-api-key",
      "X-Shopify-Access-Token"
    ]) {
      assert.isTrue(isSecretHeader(name), name)
    }
    for (const name of ["content-type", "x-org-id", "accept", "x-request-id", "constructor"])
      assert.isFalse(isSecretHeader(name), name)
    assert.deepStrictEqual(redactHeaders({ Authorization: "Bearer x", accept: "*/*" }), {
      Authorization: "[redacted]",
      accept: "*/*"
    })
  })

  it("members, at any depth", () => {
    for (const name of [
      "password",
      "clientSecret",
      "client_secret",
      "api-key",
      "apiKey",
      "access_token",
      "refreshToken",
      "token",
      "stripeApiKey",
      "AUTHORIZATION"
    ]) {
      assert.isTrue(isSecretMember(name), name)
    }
    for (const name of ["id", "tokens", "nextPageToken", "secretary", "passwordChangedAt", "tokenType"])
      assert.isFalse(isSecretMember(name), name)
    assert.deepStrictEqual(redactMembers({ a: [{ password: { x: 1 }, b: 2 }], c: null }), {
      a: [{ password: "[redacted]", b: 2 }],
      c: null
    })
  })
})
