import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { actionResult } from "../../../src/domain/connector/request/ActionResult.js"
import { type ActionManifest, answer, connector } from "../../support/actionAnswers.js"
import type { ProviderAnswer } from "../../../src/domain/connector/request/ProviderAnswer.js"
import { ignoredReset, readRateHeaders, retryAfterAt } from "../../../src/domain/connector/request/RateReading.js"
import { compiledPatterns } from "../../support/patterns.js"

const now = Date.UTC(2026, 10, 21, 12, 0, 0)

const result = (given: ProviderAnswer, response: ActionManifest["response"] = {}) => {
  const { action, definition } = connector({ response })
  return actionResult(definition, action, given, now, compiledPatterns, { id: "asked" })
}
const failure = (given: ProviderAnswer, response: ActionManifest["response"] = {}) =>
  Either.match(result(given, response), {
    onLeft: (left) => left,
    onRight: (right) => assert.fail(JSON.stringify(right))
  })

describe("a result", () => {
  it("is the whole body, the part at a path, or an object of templates", () => {
    const given = answer({ results: [{ id: 1 }], total: 1 }, { headers: { ETag: "x" }, status: 201 })
    assert.deepStrictEqual(result(given), Either.right({ results: [{ id: 1 }], total: 1 }))
    assert.deepStrictEqual(result(given, { map: "$.results[0].id" }), Either.right(1))
    assert.deepStrictEqual(result(given, { map: "$.missing" }), Either.right(null))
    assert.deepStrictEqual(
      result(given, { map: { of: "{{args.id}}", page: "{{body.results}}" } }),
      Either.right({ of: "asked", page: [{ id: 1 }] })
    )
    assert.deepStrictEqual(
      result(given, { map: { n: "{{body.total}}", status: "{{status}}", tag: "{{headers.etag}}" } }),
      Either.right({ n: 1, status: 201, tag: "x" })
    )
  })

  it("maps headers that are sent in several lines as one list; a line that repeats a single value is left out", () => {
    const given = answer({})
    const headers = [
      ["Link", "<a>"],
      ["X-Id", "1"],
      ["link", "<b>"],
      ["ETag", "x"],
      ["etag", "y"]
    ] as const
    const map = { link: "{{headers.link}}", id: '{{headers["x-id"]}}', tag: "{{headers.etag}}" }
    assert.deepStrictEqual(
      result({ ...given, headers: [...given.headers, ...headers] }, { map }),
      Either.right({ link: "<a>, <b>", id: "1", tag: "x" })
    )
  })

  it("of an empty body is null, with any status and type", () => {
    for (const given of [
      answer("", { status: 204, type: "" }),
      answer(""),
      answer(" \n"),
      answer("", { type: "text/html" })
    ]) {
      assert.deepStrictEqual(result(given), Either.right(null))
    }
    assert.deepStrictEqual(result(answer(" \n"), { type: "auto" }), Either.right(null))
  })

  it("is JSON even if the content type does not say so", () => {
    assert.deepStrictEqual(result(answer('{"a":1}', { type: "text/plain" })), Either.right({ a: 1 }))
    assert.deepStrictEqual(result(answer('\ufeff{"a":1}', { type: "" })), Either.right({ a: 1 }))
  })

  it("is text, base64 or by content type, as the action says", () => {
    assert.deepStrictEqual(result(answer("<p>", { type: "text/html" }), { type: "text" }), Either.right("<p>"))
    assert.deepStrictEqual(result(answer(new Uint8Array([0, 255])), { type: "base64" }), Either.right("AP8="))
    assert.deepStrictEqual(
      result(answer({ a: 1 }, { type: "application/problem+json" }), { type: "auto" }),
      Either.right({ a: 1 })
    )
    assert.deepStrictEqual(result(answer("a,b", { type: "text/csv" }), { type: "auto" }), Either.right("a,b"))
    assert.deepStrictEqual(
      result(answer(new Uint8Array([1]), { type: "image/png" }), { type: "auto" }),
      Either.right("AQ==")
    )
    assert.deepStrictEqual(
      result(answer(new Uint8Array([0xe9]), { type: "text/plain; charset=iso-8859-1" }), { type: "text" }),
      Either.right("é")
    )
  })
})

describe("the text of a result", () => {
  const latin1 = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"))
  const utf16 = (text: string) => Uint8Array.from(Buffer.from(text, "utf16le"))
  const swapped = (text: string) => Uint8Array.from(Buffer.from(text, "utf16le").swap16())
  const declared = '<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>'

  it.each<readonly [what: string, body: Uint8Array, type: string, ends: string]>([
    ["the declaration of XML", latin1(declared), "application/xml", "<a>é</a>"],
    ["one in other quotes", latin1(declared.replaceAll('"', "'")), "text/xml", "<a>é</a>"],
    [
      "the content type, before the declaration",
      new TextEncoder().encode(declared),
      "text/xml; charset=utf-8",
      "<a>é</a>"
    ],
    [
      "a byte order mark, before all",
      new TextEncoder().encode(`\ufeff${declared}`),
      "text/xml; charset=latin1",
      "<a>é</a>"
    ],
    ["UTF-16 by its mark", utf16('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>é</a>'), "text/xml", "<a>é</a>"],
    ["UTF-16, big endian", swapped("\ufeff<a>é</a>"), "text/plain", "<a>é</a>"],
    ["UTF-16 by its first letters", utf16("<?xml version='1.0' encoding='UTF-16'?><a>é</a>"), "text/xml", "<a>é</a>"],
    [
      "a declaration that cannot be true",
      new TextEncoder().encode("<?xml encoding='UTF-16'?><a>é</a>"),
      "text/xml",
      "<a>é</a>"
    ],
    ["windows-1252", latin1("\x80\xe9"), "text/csv; charset=ISO-8859-1", "€é"],
    ["an unknown name, if it is UTF-8", new TextEncoder().encode("é"), "text/csv; charset=nope", "é"]
  ])("is decoded by %s", (_what, body, type, ends) => {
    for (const way of ["text", "auto"] as const) {
      const text = Either.getOrThrow(result(answer(body, { type }), { type: way }))
      assert.isTrue(typeof text === "string" && text.endsWith(ends) && !text.startsWith("\ufeff"), String(text))
    }
  })

  it("is JSON in any character set, after any byte order mark", () => {
    for (const body of [
      utf16('\ufeff{"a":"é"}'),
      swapped('\ufeff{"a":"é"}'),
      new TextEncoder().encode('\ufeff{"a":"é"}')
    ])
      assert.deepStrictEqual(result(answer(body)), Either.right({ a: "é" }))
    const type = "application/json; charset=iso-8859-1"
    assert.deepStrictEqual(result(answer(latin1('{"a":"\xe9"}'), { type })), Either.right({ a: "é" }))
  })

  it.each([
    ["json", "application/json", /^the provider's answer has bytes that are no text in utf-8$/],
    ["auto", "application/json", /^the provider's answer has bytes that are no text in utf-8$/],
    ["text", "text/csv", /no text in utf-8: read it with the response type base64$/],
    ["auto", "text/csv", /no text in utf-8: read it with the response type base64$/],
    ["text", "text/csv; charset=nope", /neither UTF-8 nor in a known character set: its content type names nope/]
  ] as const)("fails if it cannot be decoded: %s, %s", (way, type, message) => {
    const given = answer(latin1('{"a":"\xe9"}'), { type })
    assert.match(failure(given, { type: way }).message, message)
    assert.strictEqual(failure(given, { type: way }).category, "provider")
    assert.deepStrictEqual(result(given, { type: "base64" }), Either.right("eyJhIjoi6SJ9"))
  })

  it("of an error may have replacement characters", () => {
    assert.include(failure(answer(latin1("caf\xe9"), { status: 400, type: "text/plain" })).message, "caf\ufffd")
  })
})

describe("a failure", () => {
  it.each([
    [400, "provider"],
    [401, "auth"],
    [403, "provider"],
    [404, "provider"],
    [408, "transient"],
    [409, "provider"],
    [429, "transient"],
    [500, "transient"],
    [503, "transient"],
    [302, "provider"]
  ])("of the status %s is %s", (status, category) => {
    const found = failure(answer({ error: { code: "x_y", message: "no" } }, { status }))
    assert.deepStrictEqual([found.category, found.status, found.message, found.code], [category, status, "no", "x_y"])
  })

  it("of the status 403 is a rate limit if no calls are left or there is a retry-after, else a refusal", () => {
    const { action, definition } = connector({}, { rateLimit: { headers: { remaining: "x-left" } } })
    const forbidden = (headers: Record<string, string>) => {
      const found = actionResult(
        definition,
        action,
        answer({ message: "no" }, { status: 403, headers }),
        now,
        compiledPatterns
      )
      return Either.isLeft(found) ? found.left : assert.fail("a 403 is no result")
    }
    assert.strictEqual(forbidden({ "X-Left": "0" }).category, "transient")
    assert.deepInclude(forbidden({ "Retry-After": "60" }), { category: "transient", retryAfterMillis: 60_000 })
    assert.strictEqual(forbidden({ "X-Left": "1" }).category, "provider")
  })

  it("whose code is final is a refusal, whatever its status", () => {
    const told = (code: string) =>
      failure(answer({ error: { code, message: "no" } }, { status: 429 }), { finalCodes: ["out_of_credit"] })
    assert.strictEqual(told("out_of_credit").category, "provider")
    assert.strictEqual(told("too_fast").category, "transient")
  })

  it("whose code says that there is no such record counts as one with the status 404", () => {
    const response = {
      errorWhen: { path: "errors", op: "exists", value: true },
      errorCode: "$.errors[0].type",
      notFoundCodes: ["NOT_FOUND"]
    } as const
    const told = (type: string) => failure(answer({ errors: [{ type, message: "no" }] }), response)
    assert.deepInclude(told("NOT_FOUND"), { status: 404, category: "provider", code: "NOT_FOUND" })
    assert.strictEqual(told("FORBIDDEN").status, 200)
  })

  it("inside a success is recognised, with the provider's words and code", () => {
    const response = {
      errorWhen: { path: "ok", op: "eq", value: false },
      errorMessage: "$.error",
      errorCode: "$.error",
      authCodes: ["invalid_auth"],
      transientCodes: ["ratelimited"]
    } as const
    assert.deepStrictEqual(result(answer({ ok: true }), response), Either.right({ ok: true }))
    const asked = (error: string) => failure(answer({ ok: false, error }), response)
    assert.deepInclude(asked("channel_not_found"), {
      category: "provider",
      status: 200,
      message: "channel_not_found",
      code: "channel_not_found",
      body: { ok: false, error: "channel_not_found" }
    })
    assert.strictEqual(asked("invalid_auth").category, "auth")
    assert.strictEqual(asked("ratelimited").category, "transient")
  })

  it("is also HTML, a broken or an unexpected body", () => {
    const page = "<!doctype html><html><head><title>Sign\n in</title></head><body>…</body></html>"
    assert.deepInclude(failure(answer(page, { type: "text/html" })), { category: "provider", body: page })
    assert.match(failure(answer(page, { type: "text/html" })).message, /text\/html where JSON was expected/)
    assert.strictEqual(failure(answer(page, { type: "text/html", status: 502 })).message, "HTTP 502: Sign in")
    assert.match(failure(answer('{"a":', {})).message, /has the content type JSON but is not JSON/)
    assert.match(failure(answer(new Uint8Array([1, 2]), { type: "image/png" })).message, /image\/png/)
    assert.match(failure(answer('{"a":"\\u0000"}')).message, /cannot be stored: a contains the character U\+0000/)
    assert.match(failure(answer(`${"[".repeat(20_000)}${"]".repeat(20_000)}`)).message, /nests deeper/)
    assert.strictEqual(failure(answer("", { status: 500, type: "" })).message, "HTTP 500")
  })

  it("has the time to wait, and a shortened body", () => {
    const found = failure(
      answer({ message: "m".repeat(9_000), x: "y".repeat(100_000) }, { status: 429, headers: { "Retry-After": "7" } })
    )
    assert.strictEqual(found.retryAfterMillis, 7_000)
    assert.strictEqual(found.message.length, 2_000)
    assert.isString(found.body)
    assert.isBelow(String(found.body).length, 65_600)
  })

  it.prop(
    "or a result: there is nothing else that any answer becomes",
    [
      fc.integer({ min: 100, max: 599 }),
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => new TextEncoder().encode(text))
      ),
      fc.constantFrom("", "application/json", "text/html", "nonsense", "text/plain; charset=nope")
    ],
    ([status, body, type]) => {
      const found = result(answer(body, { status, type }))
      if (Either.isLeft(found)) assert.isAbove(found.left.message.length, 0)
      else assert.isTrue(status >= 200 && status < 300)
    }
  )
})

describe("a provider's quota in headers", () => {
  it.each([
    ["7", 7_000],
    ["0", 0],
    ["1.5", 1_500],
    ["250ms", 250],
    ["60 Seconds", 60_000],
    ["Sat, 21 Nov 2026 12:00:30 GMT", 30_000],
    ["2026-11-21T12:00:01Z", 1_000],
    ["Sat, 21 Nov 2026 11:00:00 GMT", -3_600_000],
    ["99999999999", 86_400_000],
    ["soon", null],
    ["", null],
    ["-5", null],
    ["2027", 2_027_000],
    [String(now / 1000 + 90), 90_000],
    [String(now + 90_000), 90_000],
    [String(now / 1000 - 5), -5_000],
    ["1000000000 s", 86_400_000]
  ])("Retry-After: %s", (text, after) =>
    assert.strictEqual(retryAfterAt(text, now), after === null ? null : now + after)
  )

  const reading = (headers: Record<string, string>, named: object) =>
    readRateHeaders(connector({}, { rateLimit: { headers: named } }).definition, Object.entries(headers), now)

  it.each([
    ["unix", String(now / 1000 + 60), 60_000],
    ["unix", `${now / 1000 + 60}.5`, 60_500],
    ["ms", String(now + 60_000), 60_000],
    ["seconds", "60", 60_000],
    ["seconds", "0.25", 250],
    ["http-date", "Sat, 21 Nov 2026 12:01:00 GMT", 60_000],
    ["iso", "2026-11-21T12:01:00.000Z", 60_000],
    ["duration", "1m0.5s", 60_500],
    ["duration", "20ms", 20],
    ["duration", "6", 6_000],
    ["duration", `${"1".repeat(50)}x`, null],
    ["unix", "Sat, 21 Nov 2026 12:01:00 GMT", 60_000],
    ["unix", "nonsense", null],
    ["unix", String(now + 60_000), 60_000],
    ["unix", "30", 30_000],
    ["seconds", String(now / 1000 + 60), 60_000],
    ["seconds", String(now + 60_000), 60_000],
    ["ms", String(now / 1000 + 60), 60_000],
    ["unix", String(now / 1000 - 60), -60_000],
    ["unix", String(now / 1000 + 86_400), 86_400_000],
    ["unix", String(now / 1000 + 86_401), null],
    ["seconds", "86400", 86_400_000],
    ["seconds", "86401", null],
    ["ms", "12345", null],
    ["unix", "9".repeat(18), null],
    ["duration", "2d", 86_400_000]
  ] as const)("a reset as %s: %s", (resetFormat, text, after) => {
    const { resetAt } = reading({ "X-Reset": text }, { reset: "x-reset", resetFormat })
    assert.strictEqual(resetAt, after === null ? null : now + after)
  })

  it.each([
    ["0", "86401", "X-Reset"],
    ["0", "soon", "X-Reset"],
    ["1", "soon", undefined],
    ["0", "60", undefined]
  ])("with %s calls left and the reset %s reports the header that is ignored: %s", (remaining, reset, header) => {
    const { definition } = connector(
      {},
      { rateLimit: { headers: { remaining: "x-left", reset: "X-Reset", resetFormat: "seconds" } } }
    )
    const headers = Object.entries({ "x-left": remaining, "x-reset": reset })
    assert.strictEqual(ignoredReset(definition, headers, readRateHeaders(definition, headers, now)), header)
  })

  it("has limit and remaining calls, also with policies and as `used/limit`", () => {
    const plain = reading({ L: "100, 100;w=60", R: "7" }, { limit: "l", remaining: "r" })
    assert.deepStrictEqual([plain.limit, plain.remaining], [100, 7])
    const usage = reading({ "X-Shopify-Shop-Api-Call-Limit": "32/40" }, { usage: "x-shopify-shop-api-call-limit" })
    assert.deepStrictEqual([usage.limit, usage.remaining], [40, 8])
    assert.deepStrictEqual(readRateHeaders({}, [["Retry-After", "1"]], now), {
      limit: null,
      remaining: null,
      resetAt: null,
      retryAfterAt: now + 1_000
    })
  })

  it.prop(
    "is never an endless wait, whatever the headers say",
    [fc.string(), fc.constantFrom("unix", "seconds", "ms", "duration", "http-date", "iso")],
    ([text, resetFormat]) => {
      const found = reading(
        { a: text, "retry-after": text },
        { reset: "a", limit: "a", remaining: "a", usage: "a", resetFormat }
      )
      for (const at of [found.resetAt, found.retryAfterAt])
        assert.isTrue(at === null || (at <= now + 86_400_000 && !Number.isNaN(at)))
      for (const n of [found.limit, found.remaining]) assert.isTrue(n === null || (Number.isFinite(n) && n >= 0))
    }
  )
})
