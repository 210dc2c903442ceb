/** The proxy's target stays below the base URL in every reading, and its answer has the provider's limits. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { buildProxyRequest, forwardedHeaders } from "../../../src/domain/connector/request/ProxyRequest.js"
import { RateLimit } from "../../../src/domain/connector/Definition.js"
import { connector } from "../../support/actionAnswers.js"

const { definition } = connector({}, { baseUrl: "https://api.acme.example/api/v4" })

const target = (path: string) =>
  Either.match(
    buildProxyRequest(definition, {}, { method: "GET", target: path, headers: {}, body: null, timeoutMillis: 1 }),
    { onLeft: () => null, onRight: ({ url }) => url }
  )

describe("the target", () => {
  it.each([
    "projects/group%2Fproject/issues",
    "@scope%2fname",
    "files/a%2Fb.txt?ref=x%2Fy",
    "a%252Fb",
    "a%2Fb..c%2F...",
    "files/%2Froot%2Ffile"
  ])("%s is sent as it is", (path) => assert.strictEqual(target(path), `https://api.acme.example/api/v4/${path}`))

  it.each([
    "a%2F..%2F..%2Fsecret",
    "a%2f..%2f..%2fsecret",
    "%2e%2e%2fsecret",
    "..%2Fsecret",
    "x/..%2F..%2Fsecret",
    "%2F..",
    "a%2F.%2Fb",
    "a%2F%2e%2e%2Fb",
    "a%252F..%252Fb",
    "a%252f%252e%252e%252fb",
    "..%252fsecret",
    "%252e%252e%252fsecret",
    "a%25252F..%25252Fb",
    "a%2F..;v=1%2Fb",
    "a%2F..%3Bv%2Fb",
    "a%2F..%20%2Fb",
    "a%5Cb",
    "a%5c..%5cb",
    "a%255Cb",
    "a%2F%5C..%2Fb",
    "a%c0%af..%c0%afb",
    "a%u002f..%u002fb",
    "a%EF%BC%8F..%EF%BC%8Fb",
    "a%EF%BC%BCb",
    "a%2F..%00%2Fb",
    "a//b"
  ])("%s is refused", (path) => assert.isNull(target(path)))
})

describe("the headers of an answer", () => {
  const rateLimit = Schema.decodeUnknownSync(RateLimit)
  const limitsOf = (headers: ReadonlyArray<readonly [string, string]>, named: object = {}) => {
    const found = forwardedHeaders({ rateLimit: rateLimit({ headers: named }) }, headers)
    return Object.fromEntries(
      Object.entries(found).map(([name, value]) => [name.replace("x-provider-ratelimit-", "*"), value])
    )
  }

  it("have the provider's limits under names that are not the service's own", () => {
    assert.deepStrictEqual(
      limitsOf([
        ["X-RateLimit-Limit", "60"],
        ["X-Ratelimit-Remaining-Tokens", "9"]
      ]),
      {
        "*limit": "60",
        "*remaining-tokens": "9"
      }
    )
    assert.deepStrictEqual(
      limitsOf([
        ["RateLimit-Reset", "7"],
        ["X-RateLimit-Reset", "8"]
      ]),
      {
        "ratelimit-reset": "7",
        "*reset": "8"
      }
    )
  })

  it("have those that the connector names before others", () => {
    assert.deepStrictEqual(
      limitsOf(
        [
          ["x-ratelimit-remaining", "1"],
          ["X-Left", "5"],
          ["X-Until", "99"]
        ],
        { remaining: "x-left", reset: "X-Until" }
      ),
      { "x-left": "5", "x-until": "99", "*remaining": "5", "*reset": "99" }
    )
    assert.deepStrictEqual(limitsOf([["X-Calls", "32/40"]], { usage: "x-calls" }), {
      "x-calls": "32/40",
      "*limit": "40",
      "*remaining": "8"
    })
  })

  it("that are repeated are one list", () =>
    assert.deepStrictEqual(
      limitsOf([
        ["Link", "<a>; rel=next"],
        ["link", "<b>; rel=last"],
        ["Set-Cookie", "a=1"],
        ["Content-Type", "a"]
      ]),
      { link: "<a>; rel=next, <b>; rel=last", "content-type": "a" }
    ))
})
