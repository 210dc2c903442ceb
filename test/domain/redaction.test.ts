import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { makeScrubber } from "../../src/domain/access/Redaction.js"
import { isSecretHeader, isSecretMember, redactHeaders, redactMembers } from "../../src/domain/access/SecretNames.js"
import type { Json } from "../../src/domain/Json.js"

/** Long enough not to occur by chance in the surrounding text. */
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
  // oxlint-disable-next-line -- Workflows have this function of JavaScript.
  "escaped as the function escape does": escape,
  "json in json": (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  json: (text) => JSON.stringify(text).slice(1, -1)
}

describe("the scrubber", () => {
  for (const [name, encode] of Object.entries(encodings)) {
    it.prop(`removes a secret wherever it stands (${name})`, [secret, around, around], ([value, before, after]) => {
      const scrubber = makeScrubber([value])
      const encoded = encode(value)
      assert.notInclude(scrubber.scrubText(before + encoded + after), encoded)
      assert.notInclude(
        JSON.stringify(scrubber.scrubJson({ a: [{ b: before + encoded + after }] })),
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
        const scrubbed = makeScrubber([value]).scrubText(whole.toString(encoding))
        assert.include(scrubbed, "[redacted]")
        assert.notInclude(Buffer.from(scrubbed.replaceAll("[redacted]", ""), encoding).toString(), value)
      }
    }
  )

  it("removes a secret with Latin-1 letters in what btoa makes of it, also together with its neighbours", () => {
    for (const value of ["pässwort", "é-geheim", "\xff\x80\xff\x80\xff\x80"]) {
      const { scrubText } = makeScrubber([value])
      for (const [before, after] of [
        ["", ""],
        ["user:", ""],
        ["ab", "cd"],
        ["a", "ÿ"]
      ] as const) {
        const bytes = Buffer.from(before + value + after, "latin1")
        for (const encoding of ["base64", "base64url", "hex"] as const) {
          const scrubbed = scrubText(bytes.toString(encoding))
          assert.include(scrubbed, "[redacted]", `${before}${value}${after} ${encoding}`)
          assert.notInclude(Buffer.from(scrubbed.replaceAll("[redacted]", ""), encoding).toString("latin1"), value)
        }
        assert.include(scrubText(btoa(before + value + after)), "[redacted]")
      }
    }
  })

  it.prop(
    "changes nothing that holds no secret, and keeps the very value",
    [fc.jsonValue({ stringUnit: undefined })],
    ([value]) => {
      const json: Json = JSON.parse(JSON.stringify(value))
      assert.strictEqual(makeScrubber(["\u2603 not in there \u2603"]).scrubJson(json), json)
      assert.strictEqual(makeScrubber([]).scrubJson(json), json)
    }
  )

  it("leaves nothing of a secret that begins another one", () => {
    assert.strictEqual(makeScrubber(["abcd", "abcdefgh"]).scrubText("x abcdefgh abcd"), "x [redacted] [redacted]")
  })

  it("matches values literally, not as patterns", () => {
    const scrubber = makeScrubber(["a.*b$^()[]{}|\\-/"])
    assert.strictEqual(scrubber.scrubText("a.*b$^()[]{}|\\-/ axxb"), "[redacted] axxb")
  })

  it("ignores values that are shorter than four characters", () => {
    assert.strictEqual(makeScrubber(["", "a", "abc"]).scrubText("abcabc a"), "abcabc a")
    assert.strictEqual(makeScrubber(["abcd"]).scrubText("abcd"), "[redacted]")
  })

  it("replaces credential headers by name, if it has any secret", () => {
    const value = { headers: { Authorization: "Bearer other", accept: "*/*" } }
    assert.deepStrictEqual(makeScrubber(["hunter22"]).scrubJson(value), {
      headers: { Authorization: "[redacted]", accept: "*/*" }
    })
    assert.strictEqual(makeScrubber([]).scrubJson(value), value)
  })

  it("scrubs member names and numbers, and a name that is special stays data", () => {
    const scrubber = makeScrubber(["hunter22", "12345678"])
    assert.deepStrictEqual(scrubber.scrubJson({ hunter22: 1, n: 12345678, m: 5 }), {
      "[redacted]": 1,
      n: "[redacted]",
      m: 5
    })
    const special: Json = JSON.parse(`{"__proto__":{"a":"hunter22"}}`)
    assert.strictEqual(JSON.stringify(scrubber.scrubJson(special)), `{"__proto__":{"a":"[redacted]"}}`)
  })

  it("hides a long secret in steps that are short, whatever the length of the secret", () => {
    const scrubber = makeScrubber([])
    const value = Array.from({ length: 8 * 1024 }, (_, n) => n.toString(16).padStart(8, "x")).join("")
    let steps = 0
    for (const _step of scrubber.hideInSteps(value)) steps++
    // The encodings have some 600,000 characters, of which one step processes 8,192.
    assert.isAbove(steps, 60)
    for (const encode of Object.values(encodings))
      assert.notInclude(scrubber.scrubText(`a ${encode(value)} b`), encode(value).slice(1_000, 1_040))
  })

  it.prop(
    "hides a long secret also where a part of it stands, and in pieces wherever they are cut",
    [fc.hexaString({ minLength: 100, maxLength: 400 }), fc.array(fc.nat(700), { maxLength: 6 }), around, around],
    ([value, cuts, before, after]) => {
      const scrubber = makeScrubber([value])
      const whole = `${before}${value}${after}`
      const places = [...cuts.map((cut) => cut % whole.length), whole.length].sort((a, b) => a - b)
      let waiting = ""
      let shown = ""
      let at = 0
      for (const place of places) {
        const piece = scrubber.scrubChunk(waiting + whole.slice(at, place))
        shown += piece.safe
        waiting = piece.pending
        at = place
      }
      shown += scrubber.scrubText(waiting)
      for (let from = 0; from + 16 <= value.length; from++) assert.notInclude(shown, value.slice(from, from + 16))
      assert.strictEqual(shown.replace(/(\[redacted\])+/, ""), before + after)
    }
  )

  it("replaces everything if it cannot search", () => {
    let deep: Json = "hunter22"
    for (let n = 0; n < 100_000; n++) deep = [deep]
    assert.strictEqual(makeScrubber(["hunter22"]).scrubJson(deep), "[redacted]")
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
