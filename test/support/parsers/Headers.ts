/** Parsers of the headers and the paths of requests, and of text in records. */
import { Either } from "effect"
import {
  parseIdentityHeader,
  verifyIdentity,
  verifyWebhook,
  webhookKey
} from "../../../src/domain/delivery/Signature.js"
import { readAppWebhookId } from "../../../src/domain/trigger/AppWebhookAddress.js"
import { parseTenancy } from "../../../src/domain/Tenancy.js"
import { scheduleMistakes } from "../../../src/domain/trigger/Schedule.js"
import { secretText, secretValue } from "../../../src/domain/access/Secret.js"
import { readTopics } from "../../../src/domain/watch/WatchTopic.js"
import { readWatchPosition } from "../../../src/domain/watch/WatchPosition.js"
import { readStepPlace } from "../../../src/domain/run/StepPlace.js"
import { parseUrl } from "../../../src/domain/Url.js"
import { bodyBytes, headerBytes, triggerLimits } from "../../../src/domain/Limits.js"
import { makeSessionCookie } from "../../../src/http/auth/SessionCookie.js"
import { isSameBrowser } from "../../../src/http/connect/BrowserCookie.js"
import { nextOf, safeNext } from "../../../src/http/connect/SignInFrame.js"
import type { ConnectField as Field } from "../../../src/domain/connection/ConnectForm.js"
import { displayedValues, readEntries } from "../../../src/http/connect/Form.js"
import { canEscape, buildProxyRequest } from "../../../src/domain/connector/request/ProxyRequest.js"
import { github } from "../../../src/domain/connectors/github/GitHub.js"
import { encodingsOf } from "../../../src/runtime/egress/Inflate.js"
import { make as makeAddresses } from "../../../src/runtime/process/Addresses.js"
import { worstJson } from "./JsonTexts.js"
import { type Parser, parser, repeated } from "./Parser.js"

const bytes = (text: string) => new TextEncoder().encode(text)

const digests = { hmacBase64: () => "", hmacHex: () => "", equal: () => false }

const field: Field = {
  name: "config.name",
  title: "",
  description: null,
  secret: false,
  required: false,
  options: null,
  type: "string",
  initial: null,
  min: null,
  max: null,
  form: { pattern: null, format: null }
}

const { client } = makeAddresses(["10.0.0.0/8", "192.168.0.0/16", "fd00::/8"])

const organisation = "org_01jd0000000000000000000000"

const proxied = (target: string) =>
  buildProxyRequest(github.definition(), {}, { method: "GET", target, headers: {}, body: null, timeoutMillis: 1 })

export const headerParsers: ReadonlyArray<Parser> = [
  parser("src/domain/delivery/Signature.ts#parseIdentityHeader", headerBytes, parseIdentityHeader, {
    commas: repeated(","),
    "empty members": repeated("a=,"),
    spaces: (size) => `t=${" ".repeat(size)}1`
  }),
  parser(
    ["src/domain/delivery/Signature.ts#verifyWebhook", "src/domain/delivery/Signature.ts#webhookKey"],
    headerBytes,
    (signature: string) => [
      webhookKey(signature),
      verifyWebhook(
        digests,
        ["whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"],
        { "webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": signature },
        "",
        1
      )
    ],
    { spaces: repeated(" "), signatures: repeated("v1, "), "one long key": (size) => `whsec_${"A".repeat(size)}` }
  ),
  parser(
    "src/domain/delivery/Signature.ts#signedForms",
    headerBytes,
    (user: string) =>
      verifyIdentity(
        digests,
        ["svs_a"],
        {
          method: "GET",
          target: "/",
          header: (name) => (name === "x-user-id" ? `${user}\u00c3` : undefined),
          bodySha256: ""
        },
        `t=1,v1=${"0".repeat(64)}`,
        1
      ),
    {
      letters: repeated("a"),
      "letters of UTF-8": repeated("\u00c3\u00ab"),
      "invalid bytes": repeated("\u00c3"),
      "line breaks": repeated("\n")
    }
  ),
  parser(
    "src/domain/trigger/AppWebhookAddress.ts#readAppWebhookId",
    headerBytes,
    (id: string) => readAppWebhookId(`app.${id}`),
    { dots: repeated("."), escapes: repeated("%41"), "broken escapes": repeated("%") }
  ),
  parser(
    ["src/domain/Tenancy.ts#parseConnections", "src/domain/Tenancy.ts#parseConfig"],
    headerBytes,
    (text: string) => [
      parseTenancy((name) => (name === "x-svc-connections" ? text : undefined), organisation),
      parseTenancy((name) => (name === "x-svc-installation-config" ? text : undefined), organisation)
    ],
    { commas: repeated(","), "slugs without an end": repeated("a"), ...worstJson }
  ),
  parser(
    ["src/http/auth/SessionCookie.ts#makeSessionCookie", "src/http/auth/SessionCookie.ts#makeTokenCookie"],
    headerBytes,
    (cookie: string) => makeSessionCookie("https://svc.example").tokenOf({ headers: { cookie } }),
    { semicolons: repeated(";"), spaces: repeated(" "), names: repeated("__Host-svc_session;") }
  ),
  parser(
    ["src/http/connect/SignInFrame.ts#nextOf", "src/http/connect/SignInFrame.ts#safeNext"],
    headerBytes,
    (query: string) => [
      nextOf(`/login?${query}`),
      nextOf(`/login?next=/console/${query}`),
      safeNext(`/console/${query}`)
    ],
    {
      ampersands: repeated("&"),
      "names without an end": repeated("next="),
      escapes: repeated("%2F"),
      dots: repeated("../")
    }
  ),
  parser(
    ["src/domain/run/StepPlace.ts#readStepPlace", "src/domain/watch/CommitPosition.ts#readPosition"],
    headerBytes,
    (text: string) => readStepPlace(Buffer.from(text).toString("base64url")),
    {
      spaces: repeated(" "),
      "open transactions": (size) => `-1 1:2:${repeated("1,")(size - 8)}`,
      digits: (size) => `-1 1:${repeated("9")(size - 8)}:`
    }
  ),
  parser("src/domain/watch/WatchTopic.ts#readTopics", headerBytes, readTopics, {
    commas: repeated(","),
    names: repeated("events,"),
    runs: (size) =>
      Array.from({ length: Math.floor(size / 16) }, (_, n) => `execution:${n}`)
        .join(",")
        .slice(0, size)
  }),
  parser(
    "src/domain/watch/WatchPosition.ts#readWatchPosition",
    headerBytes,
    (text: string) => readWatchPosition({ keyHash: () => "x".repeat(24), equal: () => true }, text),
    {
      letters: repeated("x"),
      "open transactions": (size) => `${"x".repeat(24)}.1-1:2:${repeated("1,")(size - 32)}`,
      digits: (size) => `${"x".repeat(24)}.1-1:${repeated("9")(size - 32)}:`
    }
  ),
  parser(
    "src/http/connect/BrowserCookie.ts#isSameBrowser",
    headerBytes,
    (cookie: string) => isSameBrowser((text) => text, { headers: { cookie } }, "state"),
    { semicolons: repeated(";"), spaces: repeated(" "), pairs: repeated("a=b; ") }
  ),
  parser(
    ["src/http/connect/Form.ts#parseForm", "src/http/connect/Form.ts#readEntries"],
    bodyBytes.management,
    (body: Uint8Array) => [readEntries([field], body), displayedValues([field], body)],
    {
      "one name many times": (size) => bytes(repeated("a&")(size)),
      "escaped bytes": (size) => bytes(repeated("%C3%A9=&")(size)),
      spaces: (size) => bytes(`config.name=${"+".repeat(size - 20)}a`)
    }
  ),
  parser("src/runtime/process/Addresses.ts#make", headerBytes, (forwarded: string) => client("10.0.0.1", forwarded), {
    "trusted proxies": (size) => `${"10.0.0.1,".repeat(size / 9)}10.0.0.1`,
    "trusted proxies, IPv6": (size) => `${"fd00::1,".repeat(size / 8)}fd00::1`,
    commas: repeated(","),
    "one long address": repeated("1."),
    colons: repeated(":"),
    "an open bracket": repeated("[")
  }),
  parser(
    [
      "src/domain/connector/request/ProxyRequest.ts#canEscape",
      "src/domain/connector/request/ProxyRequest.ts#decodeOnce",
      "src/domain/connector/request/ProxyRequest.ts#hasEscape",
      "src/domain/connector/request/ProxyRequest.ts#buildProxyRequest"
    ],
    headerBytes,
    (target: string) => [canEscape(target), proxied(target)],
    {
      "escapes of escapes": (size) => `%${"25".repeat(size / 2)}41`,
      "many escapes of escapes": repeated("%252525252541"),
      slashes: repeated("a/"),
      "encoded slashes": repeated("a%2F"),
      "slashes in escapes of escapes": repeated("a%25252525252F"),
      dots: repeated("."),
      "spaces after dots": (size) => `..${" ".repeat(size)}a`,
      semicolons: repeated(";"),
      "invalid bytes": repeated("%C3")
    }
  ),
  parser(
    "src/runtime/egress/Inflate.ts#encodingsOf",
    headerBytes,
    (text: string) => encodingsOf([["content-encoding", text]]),
    {
      commas: repeated(","),
      encodings: repeated("gzip,"),
      spaces: repeated(" ")
    }
  )
]

/** Characters of a URL in a record, of a schedule's pattern, and of a secret. */
const longest = {
  url: 64 * 1024,
  cron: triggerLimits.cronLength,
  secret: 64 * 1024
}

export const textParsers: ReadonlyArray<Parser> = [
  parser("src/domain/Url.ts#parseUrl", longest.url, (url: string) => parseUrl(url), {
    "a long host": (size) => `http://${"a".repeat(size)}`,
    "a host of dots": (size) => `http://${"a.".repeat(size / 2)}`,
    "a host of other letters": (size) => `http://${"ü".repeat(size / 2)}.example`,
    "different letters in a host": (size) =>
      `http://${Array.from({ length: size / 4 }, (_, at) => String.fromCodePoint(0x4e00 + (at % 20_000))).join("")}`,
    "a host in punycode": (size) => `http://xn--${"a".repeat(size)}`,
    "dot segments": (size) => `http://a/${"../".repeat(size / 3)}`,
    "segments and dot segments": (size) => `http://a/${"a/".repeat(size / 8)}${"../".repeat(size / 8)}`,
    "a long query": (size) => `http://a/?${"é".repeat(size / 2)}`,
    "at signs": (size) => `http://${"@".repeat(size)}a`,
    tabs: (size) => `http://a/${"\t".repeat(size)}`,
    "different letters after a scheme and a tab": (size) =>
      ` ht\ttp:${Array.from({ length: size / 4 }, (_, at) => String.fromCodePoint(0x4e00 + (at % 20_000))).join("")}`
  }),
  parser(
    [
      "src/domain/trigger/Schedule.ts#parseCron",
      "src/domain/trigger/Schedule.ts#cronMistakes",
      "src/domain/trigger/Schedule.ts#nextCron"
    ],
    longest.cron,
    (cron: string) => scheduleMistakes({ mode: "cron", cron }, 0),
    {
      spaces: repeated(" "),
      stars: repeated("*"),
      lists: (size) => `${"1,".repeat(size / 2)}1 * * * *`,
      ranges: (size) => `${"0-59,".repeat(size / 5)}1 0-23 * * *`,
      "spaces between fields": (size) => `* ${" ".repeat(size)}* * * *a`,
      steps: (size) => `*${"/1".repeat(size / 2)} * * * *`,
      names: (size) => `* * * ${"JAN,".repeat(size / 4)}JAN *`,
      "days that never come": () => "0 0 30 2 *"
    }
  ),
  parser(
    ["src/domain/access/Secret.ts#jsonMistake", "src/domain/access/Secret.ts#secretValue"],
    longest.secret,
    (text: string) => [secretText("json", text), Either.isRight(secretText("json", text)) && secretValue("json", text)],
    worstJson
  )
]
