import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Redacted } from "effect"
import { createHash, createHmac } from "node:crypto"
import { AuthMethod, CustomMethod } from "../../../src/domain/connector/AuthMethod.js"
import type { UnsignedRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { injectedParts, injectParts } from "../../../src/domain/connector/request/Injection.js"
import { signRequest, type SigningDigests } from "../../../src/domain/connector/request/Signing.js"
import { Schema } from "effect"

const method = Schema.decodeUnknownSync(AuthMethod)
const custom = Schema.decodeUnknownSync(CustomMethod)

const request: UnsignedRequest = {
  method: "POST",
  url: "https://api.acme.example/x?a=1&key=old",
  origin: "https://api.acme.example",
  headers: [
    ["accept", "application/json"],
    ["authorization", "by the arguments"]
  ],
  body: '{"a":1}',
  timeoutMillis: 1
}

const parts = (auth: unknown, credential: { [name: string]: string }, config = {}) =>
  Either.map(injectedParts(method(auth), credential, config), (found) =>
    found.map(({ in: place, name, value }) => [place, name, Redacted.value(value)])
  )

describe("a credential", () => {
  it.each([
    [
      { id: "o", type: "oauth2", tokenUrl: "https://t" },
      { accessToken: "t" },
      [["header", "Authorization", "Bearer t"]]
    ],
    [{ id: "k", type: "api_key" }, { apiKey: "k" }, [["header", "Authorization", "Bearer k"]]],
    [
      { id: "b", type: "basic" },
      { username: "Ä", password: "p:w" },
      [["header", "Authorization", `Basic ${Buffer.from("Ä:p:w").toString("base64")}`]]
    ],
    [
      { id: "b", type: "basic" },
      { username: "only" },
      [["header", "Authorization", `Basic ${Buffer.from("only:").toString("base64")}`]]
    ],
    [{ id: "n", type: "none" }, {}, []]
  ])("of %j becomes its parts", (auth, credential, expected) =>
    assert.deepStrictEqual(parts(auth, credential), Either.right(expected))
  )

  it("may be several parts, with config in them; those of absent optional fields are left out", () => {
    const auth = {
      id: "c",
      type: "custom",
      fields: [{ name: "key" }, { name: "team", required: false }],
      inject: [
        { in: "query", name: "key", value: "{{credential.key}}" },
        { in: "header", name: "X-Team", value: "{{credential.team}}" },
        { in: "header", name: "X-Region", value: "{{connection.config.region}}" }
      ]
    }
    assert.deepStrictEqual(
      parts(auth, { key: "k" }, { region: "eu" }),
      Either.right([
        ["query", "key", "k"],
        ["header", "X-Region", "eu"]
      ])
    )
  })

  it("that lacks a required value, or cannot be encoded, is a mistake that does not contain it", () => {
    for (const credential of [
      {},
      { apiKey: "" },
      { apiKey: "canary\r\nX-Evil: 1" },
      { apiKey: "canary\0" },
      { apiKey: "canary☃" }
    ]) {
      const found = parts({ id: "k", type: "api_key" }, credential)
      assert.isTrue(Either.isLeft(found))
      assert.notInclude(JSON.stringify(found), "canary")
    }
    assert.isTrue(Either.isLeft(parts({ id: "b", type: "basic" }, { username: "a:b", password: "c" })))
  })

  it("replaces what the arguments put in its place", () => {
    const made = injectParts(request, [
      { in: "header", name: "Authorization", value: Redacted.make("Bearer t") },
      { in: "query", name: "key", value: Redacted.make("a&b=c#") },
      { in: "body", name: "token", value: Redacted.make("b") }
    ])
    assert.deepStrictEqual(
      made,
      Either.right({
        ...request,
        url: "https://api.acme.example/x?a=1&key=a%26b%3Dc%23",
        headers: [
          ["accept", "application/json"],
          ["Authorization".toLowerCase(), "Bearer t"]
        ],
        body: '{"a":1,"token":"b"}'
      })
    )
  })

  it.each([
    ["theme=dark; session=old", "theme=dark; session=s1"],
    ["session=old;session=older", "session=s1"],
    ["", "session=s1"]
  ])("in a cookie replaces its own among %j", (sent, expected) => {
    const made = injectParts({ ...request, headers: [["cookie", sent]] }, [
      { in: "header", name: "Cookie", value: Redacted.make("session=s1") }
    ])
    assert.deepStrictEqual(Either.getOrThrow(made).headers, [["cookie", expected]])
  })

  it("is injected into JSON objects and forms only", () => {
    const token = [{ in: "body" as const, name: "t", value: Redacted.make("x&y") }]
    const form = {
      ...request,
      headers: [["content-type", "application/x-www-form-urlencoded"]] as const,
      body: "a=1&t=old"
    }
    assert.strictEqual(Either.getOrThrow(injectParts(form, token)).body, "a=1&t=x%26y")
    assert.strictEqual(Either.getOrThrow(injectParts({ ...request, body: null }, token)).body, '{"t":"x&y"}')
    for (const body of ["[1]", "text", new Uint8Array(1)])
      assert.isTrue(Either.isLeft(injectParts({ ...request, body }, token)))
  })

  it.prop(
    "in a query is one value and changes no other",
    [fc.fullUnicodeString().filter((text) => text.isWellFormed())],
    ([value]) => {
      const made = Either.getOrThrow(injectParts(request, [{ in: "query", name: "key", value: Redacted.make(value) }]))
      assert.deepStrictEqual(
        [...new URL(made.url).searchParams],
        [
          ["a", "1"],
          ["key", value]
        ]
      )
    }
  )
})

const digests: SigningDigests = {
  hmac: (algorithm, key, data) => createHmac(algorithm, key).update(data).digest(),
  hash: (algorithm, data) => createHash(algorithm).update(data).digest()
}
const signed = (auth: unknown, credential: { [name: string]: string }, more: object = {}) =>
  signRequest(
    custom(auth),
    { method: "POST", url: "https://h.example/p/q?a=1", body: "body", challenge: null, ...more },
    { credential, now: 1_795_244_400_123, nonce: "abcdef0123456789", digests }
  )

describe("a signature", () => {
  const auth = { id: "s", type: "custom", sign: "hook:hmacSha256", fields: [{ name: "secret" }] }

  it("covers what the definition says, in the encoding that it says", () => {
    const mac = (text: string, encoding: "hex" | "base64") => createHmac("sha256", "s3").update(text).digest(encoding)
    assert.deepStrictEqual(
      signed(auth, { secret: "s3" }),
      Either.right([["x-signature", mac("1795244400POST/p/q?a=1body", "hex")]])
    )
    const signing = {
      payload: "{method}\n{host}\n{path}\n{query}\n{bodySha256}\n{timestamp}\n{nonce}{other}",
      header: "Auth",
      encoding: "base64",
      prefix: "v1=",
      timestampHeader: "X-Time",
      timestampFormat: "iso",
      nonceHeader: "X-Nonce"
    }
    const sha = createHash("sha256").update("body").digest("hex")
    assert.deepStrictEqual(
      signed({ ...auth, signing }, { secret: "s3" }),
      Either.right([
        [
          "auth",
          `v1=${mac(`POST\nh.example\n/p/q\na=1\n${sha}\n2026-11-21T07:00:00.123Z\nabcdef0123456789{other}`, "base64")}`
        ],
        ["x-time", "2026-11-21T07:00:00.123Z"],
        ["x-nonce", "abcdef0123456789"]
      ])
    )
  })

  it("covers the exact bytes of a body", () => {
    const body = new Uint8Array([0, 200, 255])
    const expected = createHmac("sha512", Buffer.from("aGk=", "base64"))
      .update(Buffer.concat([Buffer.from("é"), body]))
      .digest("hex")
    const found = signed(
      { ...auth, sign: "hook:hmacSha512", signing: { payload: "é{body}", keyEncoding: "base64" } },
      { secret: "aGk=" },
      { body }
    )
    assert.deepStrictEqual(found, Either.right([["x-signature", expected]]))
  })

  it("by an unknown signer, or without its key, is a mistake", () => {
    for (const sign of ["hook:toString", "hook:__proto__", "eval"])
      assert.isTrue(Either.isLeft(signed({ ...auth, sign }, { secret: "s" })))
    assert.isTrue(Either.isLeft(signed(auth, {})))
    assert.isTrue(Either.isLeft(signed({ ...auth, signing: { keyEncoding: "hex" } }, { secret: "zz" })))
  })

  it("of Digest waits for the challenge and answers as RFC 7616 and RFC 2617 do in their examples", () => {
    const digest = { id: "d", type: "custom", sign: "hook:digest" }
    const user = { username: "Mufasa", password: "Circle Of Life" }
    assert.deepStrictEqual(signed(digest, user), Either.right([]))
    const found = signRequest(
      custom(digest),
      {
        method: "GET",
        url: "http://www.nowhere.org/dir/index.html",
        body: null,
        challenge:
          'Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"'
      },
      { credential: user, now: 0, nonce: "0a4f113b", digests }
    )
    const [[, text = ""] = []] = Either.getOrThrow(found)
    assert.include(text, 'response="6629fae49393a05397450978507c4ef1"')
    const sha = signRequest(
      custom(digest),
      {
        method: "GET",
        url: "http://www.example.org/dir/index.html",
        body: null,
        challenge:
          'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
      },
      {
        credential: { username: "Mufasa", password: "Circle of Life" },
        now: 0,
        nonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
        digests
      }
    )
    const [[, answer = ""] = []] = Either.getOrThrow(sha)
    assert.include(answer, 'response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"')
    assert.match(answer, /^Digest username="Mufasa".*algorithm=SHA-256, qop=auth, nc=00000001$/)
  })
})
