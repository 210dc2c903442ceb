/** Parsers of what providers send. */
import { Effect, Encoding, Redacted, Schema } from "effect"
import { everyText } from "../../../src/domain/AskedTexts.js"
import { keepIntegers } from "../../../src/domain/connector/request/ExactIntegers.js"
import type { Json } from "../../../src/domain/Json.js"
import { readLargeIntegers } from "../../../src/domain/LargeIntegers.js"
import { Egress } from "../../../src/actors/ports/Egress.js"
import { ActionDefinition } from "../../../src/domain/connector/Action.js"
import { actionResult } from "../../../src/domain/connector/request/ActionResult.js"
import { answerText, exactAnswerJson, mediaType } from "../../../src/domain/connector/request/ProviderAnswer.js"
import { HeldBytes } from "../../../src/actors/ports/HeldBytes.js"
import { ByteLedger } from "../../../src/runtime/memory/ByteLedger.js"
import { guest, workspaceDb } from "../../../src/domain/Limits.js"
import { AuthMethod } from "../../../src/domain/connector/AuthMethod.js"
import { injectParts } from "../../../src/domain/connector/request/Injection.js"
import { signRequest } from "../../../src/domain/connector/request/Signing.js"
import { encodePathValue } from "../../../src/domain/connector/request/ValueEncoding.js"
import type { UnsignedRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { echoFilter } from "../../../src/runtime/egress/Echo.js"
import { make as makeTokenEndpoint } from "../../../src/runtime/oauth/TokenEndpoint.js"
import { valueOf } from "../../../src/runtime/workspace/Values.js"
import { organisation } from "../journal.js"
import { linkToFollow, nextPageArgs } from "../../../src/domain/connector/request/Pagination.js"
import { buildMessage } from "../../../src/domain/connector/request/MailMessage.js"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { readJsonBytes, withLargeInteger, worstJson, worstJsonBytes } from "./JsonTexts.js"
import { type Parser, parser, repeated } from "./Parser.js"
import { layerOwnAccounts } from "../shareOwners.js"

const MiB = 1024 * 1024

/** Bytes of the headers of an answer that the HTTP client accepts. */
const answerHeaderBytes = 16 * 1024

const bytes = (text: string) => new TextEncoder().encode(text)

const byLink = Schema.decodeUnknownSync(ActionDefinition)({
  id: "list",
  name: "list",
  request: { method: "GET", path: "/" },
  pagination: { type: "link" }
})

/** As many objects in sixty others each as a JSON text may have at all. */
const deepObjects = 2_000

/** A JSON text as it is parsed, and with every large integer as text. */
const twice = (text: string): readonly [Json, Json] => [
  JSON.parse(text),
  JSON.parse(readLargeIntegers(text, everyText).text)
]

const answered = (body: Uint8Array, type = "application/json") => ({
  status: 200,
  headers: [["content-type", type] as const],
  body
})

const request = (url: string, type: string, body: string | null): UnsignedRequest => ({
  method: "POST",
  url,
  origin: "https://a.example",
  headers: [["content-type", type]],
  body,
  timeoutMillis: 1
})

const injected = (place: "query" | "body", type: string) => (text: string) =>
  injectParts(
    place === "query" ? request(`https://a.example/?${text}`, type, null) : request("https://a.example/", type, text),
    [{ in: place, name: "key", value: Redacted.make("secret") }]
  )

const pairs = {
  ampersands: repeated("&"),
  "escaped names": repeated("%C3%A9=&"),
  "broken escapes": repeated("%=&"),
  "plus signs": repeated("+"),
  "equal signs": repeated("=")
}

const digestMethod = Schema.decodeUnknownSync(AuthMethod)({
  id: "digest",
  type: "custom",
  fields: [{ name: "username" }, { name: "password" }],
  sign: "hook:digest"
})

const sign = (challenge: string) =>
  digestMethod.type === "custom"
    ? signRequest(
        digestMethod,
        { method: "GET", url: "https://a.example/", body: null, challenge },
        { credential: {}, now: 0, nonce: "00", digests: { hash: (_, data) => data, hmac: (_, __, data) => data } }
      )
    : undefined

const secret = "abcdefgh-0123456789"
const echo = echoFilter([Redacted.make(secret)])

/** The answer of a token endpoint with this body. */
const tokenAnswer = (type: string) => (body: Uint8Array) =>
  Effect.runSync(
    Effect.flatMap(makeTokenEndpoint, (endpoint) =>
      Effect.either(
        endpoint.request({
          organisationId: organisation,
          url: "https://a.example/token",
          client: { clientId: "a", clientSecret: null, auth: "none" },
          grant: { type: "client_credentials", scope: "" },
          params: {},
          expiresInField: "expires_in",
          scopeSeparator: " ",
          config: {}
        })
      )
    ).pipe(
      Effect.provideService(Egress, {
        ask: () => {
          throw new Error("no test asks for it")
        },
        send: () => Effect.succeed({ ...answered(body, type), url: "" }),
        open: () => Effect.dieMessage("open"),
        check: () => Effect.void,
        checkTarget: () => Effect.void,
        readings: Effect.dieMessage("readings")
      }),
      Effect.provideService(HeldBytes, new ByteLedger({ bytes: 64 * MiB })),
      Effect.provide(layerOwnAccounts)
    )
  )

/** Bytes of an answer of a token endpoint. */
const tokenBytes = 256 * 1024

const byLinkParameter = Schema.decodeUnknownSync(ActionDefinition)({
  id: "list",
  name: "list",
  request: { method: "GET", path: "/" },
  pagination: { type: "link", param: "page" }
})

const links = {
  "a long query": (size: number) => `https://a.example/?${"a=b&".repeat(size / 4)}`,
  "a long path": (size: number) => `https://a.example/${"a/".repeat(size / 2)}`,
  "dot segments": (size: number) => `https://a.example/${"a/../".repeat(size / 5)}`,
  "letters to escape": (size: number) => `https://a.example/${"é".repeat(size / 2)}`
}

/** Characters of base64 in an argument of a call. */
const base64Length = Math.ceil((guest.fetchBytes * 4) / 3)

export const answerParsers: ReadonlyArray<Parser> = [
  parser(
    [
      "src/domain/connector/request/Pagination.ts#afterLink",
      "src/domain/connector/request/Pagination.ts#answeredUrl",
      "src/domain/connector/request/Pagination.ts#linkToFollow"
    ],
    answerHeaderBytes,
    (link: string) => [
      nextPageArgs(
        byLinkParameter,
        {},
        { status: 200, url: link, headers: [["link", `<${link}>; rel="next"`]], body: bytes("[]") },
        "https://a.example/x"
      ),
      linkToFollow(byLink, { $next: link }, "https://a.example")
    ],
    links
  ),
  parser(
    [
      "src/domain/connector/request/RequestContent.ts#bytesOf",
      "src/domain/connector/request/MailMessage.ts#filePart",
      "src/actors/execution/calls/FetchCalls.ts#bodyOf"
    ],
    base64Length,
    (text: string) => Encoding.decodeBase64(text),
    { "valid text": repeated("QUJD"), "text with a mistake at its end": (size) => `${repeated("QUJD")(size - 1)}!` }
  ),
  parser(
    "src/domain/connector/request/ValueEncoding.ts#encodePathValue",
    MiB,
    (text: string) => [encodePathValue(text, "a", false), encodePathValue(text, "a", true)],
    { slashes: repeated("a/"), letters: repeated("é"), dots: repeated("."), "leading slashes": repeated("/") }
  ),
  parser(
    [
      "src/domain/connector/request/Injection.ts#withParameter",
      "src/domain/connector/request/Injection.ts#decodeOrKeep"
    ],
    guest.fetchHead,
    injected("query", ""),
    pairs
  ),
  parser(
    "src/domain/connector/request/Injection.ts#withCookies",
    guest.fetchHead,
    (text: string) =>
      injectParts({ ...request("https://a.example/", "", null), headers: [["cookie", text]] }, [
        { in: "header", name: "Cookie", value: Redacted.make("a=1") }
      ]),
    { cookies: repeated("a=1;"), names: repeated("b"), blanks: repeated(" "), semicolons: repeated(";") }
  ),
  parser(
    "src/domain/connector/request/Injection.ts#withParameter",
    guest.fetchBytes,
    injected("body", "application/x-www-form-urlencoded"),
    pairs
  ),
  parser(
    "src/domain/connector/request/Injection.ts#jsonBody",
    guest.fetchBytes,
    injected("body", "application/json"),
    worstJson
  ),
  parser(
    "src/domain/connector/request/Injection.ts#replaceMember",
    2 * MiB,
    injected("body", "application/json"),
    Object.fromEntries(
      Object.entries(worstJson).map(([name, make]) => [name, (size: number) => `{"key":1,"a":${make(size - 20)}}`])
    )
  ),
  parser(
    ["src/domain/connector/request/Signing.ts#digest", "src/domain/connector/request/Signing.ts#challengeOf"],
    answerHeaderBytes,
    sign,
    {
      "one long word": (size) => `Digest ${"a".repeat(size)}`,
      words: (size) => `Digest ${repeated("a ")(size)}`,
      "open quotes": (size) => `Digest ${repeated('a="')(size)}`,
      "qop of commas": (size) => `Digest nonce="a", qop="${",".repeat(size)}"`,
      spaces: (size) => `Digest a${" ".repeat(size)}`
    }
  ),
  parser(
    [
      "src/runtime/egress/Echo.ts#isBroken",
      "src/runtime/egress/Echo.ts#bodyOf",
      "src/runtime/egress/Echo.ts#scrubbedJson"
    ],
    guest.fetchBytes,
    (text: string) => {
      const answer = { ...answered(bytes(text)), url: "" }
      return echo.refusal(answer) ?? echo.answer(answer)
    },
    {
      ...worstJson,
      "beginnings of the secret": repeated(secret.slice(0, -1)),
      "the secret many times": repeated(secret),
      "the secret in JSON": (size) => `[${repeated(`"${secret}",`)(size)}0]`
    }
  ),
  parser(
    ["src/runtime/oauth/TokenEndpoint.ts#answerOf", "src/runtime/oauth/TokenEndpoint.ts#tokensOf"],
    tokenBytes,
    (body: Uint8Array) => [
      tokenAnswer("application/json")(body),
      tokenAnswer("application/x-www-form-urlencoded")(body)
    ],
    {
      ...worstJsonBytes,
      ampersands: (size) => bytes(repeated("a&")(size)),
      escapes: (size) => bytes(repeated("%C3%A9=&")(size)),
      "a long scope": (size) => bytes(`{"access_token":"a","scope":"${repeated("a ")(size)}"}`)
    }
  ),
  parser(
    ["src/runtime/workspace/Values.ts#jsonOf"],
    workspaceDb.resultBytes,
    (text: string) => {
      try {
        return valueOf(114, text, { left: workspaceDb.values })
      } catch (error) {
        return error
      }
    },
    worstJson
  ),
  parser(
    [
      "src/domain/connector/request/ProviderAnswer.ts#readJsonText",
      "src/domain/connector/request/ActionResult.ts#readJsonBody"
    ],
    guest.fetchBytes,
    (body: Uint8Array) => actionResult({}, byLink, answered(body), 0, () => undefined),
    worstJsonBytes
  ),
  parser(
    "src/domain/connector/request/ProviderAnswer.ts#exactAnswerJson",
    guest.fetchBytes,
    (body: Uint8Array) => exactAnswerJson(answered(withLargeInteger(body))),
    readJsonBytes
  ),
  parser(
    "src/domain/connector/request/ExactIntegers.ts#Join",
    guest.fetchBytes,
    ([plain, exact]: readonly [Json, Json]) => keepIntegers(plain, exact, undefined),
    {
      integers: (size) => twice(`[${"9007199254740993,".repeat(size / 17)}1]`),
      "integers in objects": (size) => twice(`[${'{"id":9007199254740993,"n":"x"},'.repeat(size / 31)}1]`),
      "deep objects": (size) =>
        twice(
          `[${`${'{"a":'.repeat(60)}9007199254740993${"}".repeat(60)},`.repeat(Math.min(size / 377, deepObjects))}1]`
        ),
      "small numbers": (size) => twice(`[${"1,".repeat(size / 2)}1]`),
      texts: (size) => twice(`[${'"x",'.repeat(size / 4)}1]`)
    }
  ),
  parser(
    "src/domain/connector/request/ProviderAnswer.ts#answerText",
    guest.fetchBytes,
    ({ body, type }: { readonly body: Uint8Array; readonly type: string }) => answerText(answered(body, type)),
    Object.fromEntries(
      ["utf-8", "utf-16le", "gb18030", "iso-2022-jp", "shift_jis", "windows-1252", "big5", "unknown"].map((charset) => [
        charset,
        (size: number) => ({ body: new Uint8Array(size).fill(0xc3), type: `text/plain; charset=${charset}` })
      ])
    )
  ),
  parser(
    [
      "src/domain/connector/request/ProviderAnswer.ts#mediaType",
      "src/domain/connector/request/ProviderAnswer.ts#answerText"
    ],
    answerHeaderBytes,
    (type: string) => [mediaType(answered(bytes("a"), type)), answerText(answered(bytes("a"), type))],
    {
      semicolons: repeated(";"),
      "spaces after charset": (size) => `charset${" ".repeat(size)}`,
      "charset many times": repeated("charset")
    }
  ),
  parser(
    "src/domain/connector/request/Pagination.ts#linkWithRelation",
    answerHeaderBytes,
    (link: string) =>
      nextPageArgs(byLink, {}, { status: 200, headers: [["link", link]], body: bytes("[]") }, "https://a.example/"),
    {
      "open brackets": repeated("<"),
      "links without a relation": repeated("<a>;"),
      "relations with spaces": repeated("<a>;rel= "),
      "one long relation": (size) => `<a>; rel="${" ".repeat(size)}"`
    }
  ),
  parser(
    "src/domain/connector/request/RateReading.ts#readRateHeaders",
    answerHeaderBytes,
    (text: string) => readRateHeaders({}, [["retry-after", text]], 0),
    {
      "spaces before a letter": (size) => `1${" ".repeat(size)}x`,
      digits: (size) => `${"1".repeat(size)}x`,
      "a long date": repeated("1 Jan ")
    }
  ),
  parser(
    "src/domain/connector/request/MailMessage.ts#parseAddress",
    MiB,
    (from: string) => buildMessage({ from, to: "ada@example.com" }, "key", 0),
    {
      spaces: repeated(" "),
      "spaces before an address": (size) => `a${" ".repeat(size)}b`,
      "open brackets": repeated("<"),
      quotes: repeated('"')
    }
  )
]
