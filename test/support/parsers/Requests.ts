/** Parsers of what clients send: targets, headers, forms and bodies. */
import { Redacted, Schema } from "effect"
import { createHmac } from "node:crypto"
import type { WebSocket } from "ws"
import { type AskedText, askedTexts, everyText } from "../../../src/domain/AskedTexts.js"
import { WebhookDefinition } from "../../../src/domain/connector/Webhook.js"
import type { Json } from "../../../src/domain/Json.js"
import { settingsLength } from "../../../src/domain/run/CallSettings.js"
import { runApproval } from "../../../src/domain/run/Approval.js"
import { runMessage } from "../../../src/domain/organisation/RunMessage.js"
import { bodyBytes, headerBytes, largeWebhookBytes, webhookForm } from "../../../src/domain/Limits.js"
import { verifyDelivery } from "../../../src/domain/event/InboundWebhook.js"
import { exactIntegerBytes } from "../../../src/domain/LargeIntegers.js"
import { contractOfDelivery, queryFields, queryChallenge } from "../../../src/domain/event/WebhookPayload.js"
import { exactInput } from "../../../src/http/execution/ExecuteBody.js"
import { readRecord } from "../../../src/http/JsonBody.js"
import { makeMatcher } from "../../../src/http/pipeline/Routes.js"
import { rpcLimits } from "../../../src/domain/rpc/RpcLimits.js"
import { RpcConnection } from "../../../src/runtime/http/rpc/RpcConnection.js"
import { readPayload } from "../../../src/http/webhook/Payload.js"
import { makeDigests } from "../../../src/runtime/process/Crypto.js"
import { readJsonBytes, withLargeInteger, worstJsonBytes } from "./JsonTexts.js"
import { type Parser, parser, repeated } from "./Parser.js"

const digests = {
  ...makeDigests({ pepper: Redacted.make("pepper of the tests") }),
  hmac: (algorithm: string, key: Uint8Array, data: Uint8Array) =>
    new Uint8Array(createHmac(algorithm, key).update(data).digest())
}

const bytes = (text: string) => new TextEncoder().encode(text)

const form = (text: string) => ({
  method: "POST",
  target: "/",
  remoteAddress: "",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: bytes(text)
})

const json = (body: Uint8Array) => ({
  method: "POST",
  target: "/",
  remoteAddress: "",
  headers: { "content-type": "application/json" },
  body
})

const itemsOf = Schema.decodeUnknownSync(WebhookDefinition)({ id: "app", type: "app", items: "$.data.items" })

/** Contracts whose every place asks for texts, in as many branches as are looked at. */
const contractsThatAsk = () => {
  const contract = {
    type: "string",
    properties: Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`k${n}`, { $ref: "#/$defs/branches" }])),
    additionalProperties: { $ref: "#/$defs/branches" },
    items: { $ref: "#/$defs/branches" },
    $defs: {
      branches: {
        anyOf: Array.from({ length: 64 }, () => ({
          type: ["string", "null"],
          additionalProperties: { $ref: "#/$defs/branches" },
          items: { $ref: "#/$defs/branches" }
        }))
      }
    }
  }
  return askedTexts([contract, contractOfDelivery(itemsOf, contract)]) ?? everyText
}

const mostFields = (part: string) => (size: number) => {
  const length = Math.floor(size / webhookForm.fields)
  return Array.from({ length: webhookForm.fields }, () => part.repeat(length / part.length)).join("&")
}

const findRoute = makeMatcher([])

const verify = (header: string) => (value: string) =>
  verifyDelivery(
    { preset: header === "stripe-signature" ? "stripe" : "shopify", maxAgeSeconds: 300 },
    ["whsec_c2VjcmV0"],
    { headers: { [header]: value }, body: bytes("{}"), nowMillis: 0 },
    digests
  )

const slack = { scheme: "hmac", preset: "slack", maxAgeSeconds: 300 } as const
const slackHeaders = { "x-slack-signature": "v0=00", "x-slack-request-timestamp": "0" }
/** The id of a delivery is read once its signature is verified. */
const digestsThatAgree = { ...digests, equal: () => true }

/** A connection whose messages go nowhere. */
const rpcConnection = () =>
  new RpcConnection(
    {
      OPEN: 1,
      readyState: 1,
      bufferedAmount: 0,
      send: () => undefined,
      close: () => undefined
    } as unknown as WebSocket,
    {
      id: 1,
      head: json(bytes("")),
      holding: {
        bytes: 0,
        tryTake: () => true,
        take: () => () => undefined,
        give: () => undefined,
        release: () => undefined
      },
      pass: () => undefined,
      run: () => () => undefined,
      failureOf: () => null
    }
  )

export const requestParsers: ReadonlyArray<Parser> = [
  parser(
    "src/runtime/http/rpc/RpcConnection.ts#RpcConnection",
    rpcLimits.callFrame,
    (body: Uint8Array) => rpcConnection().readFrame(Buffer.from(body), false),
    Object.fromEntries(
      Object.entries(worstJsonBytes).map(([name, make]) => [
        name,
        (size: number) =>
          Buffer.concat([
            Buffer.from('{"_tag":"Request","id":"1","tag":"x","payload":'),
            make(size - 60),
            Buffer.from("}")
          ])
      ])
    )
  ),
  parser(
    [
      "src/domain/JsonText.ts#parseBounded",
      "src/domain/event/InboundWebhook.ts#signedBytes",
      "src/domain/event/InboundWebhook.ts#deliveryIdOf"
    ],
    largeWebhookBytes,
    (body: Uint8Array) =>
      verifyDelivery(slack, ["secret"], { headers: slackHeaders, body, nowMillis: 0 }, digestsThatAgree),
    worstJsonBytes
  ),
  parser(
    ["src/http/JsonBody.ts#readJson", "src/http/JsonBody.ts#refused", "src/domain/JsonText.ts#JsonScan"],
    largeWebhookBytes,
    (body: Uint8Array) => readPayload(json(body), Number.POSITIVE_INFINITY),
    worstJsonBytes
  ),
  parser(
    [
      "src/domain/LargeIntegers.ts#IntegerScan",
      "src/domain/AskedTexts.ts#referenced",
      "src/domain/event/WebhookPayload.ts#contractOfDelivery"
    ],
    exactIntegerBytes,
    ([body, asked]: readonly [Uint8Array, AskedText]) => readPayload(json(body), Number.POSITIVE_INFINITY, asked),
    Object.fromEntries(
      Object.entries({ every: () => everyText, contracts: contractsThatAsk }).flatMap(([asks, asked]) =>
        Object.entries(worstJsonBytes).map(([name, make]) => [
          `${name}, asked for by ${asks}`,
          (size: number) => [withLargeInteger(make(size - 30)), asked()] as const
        ])
      )
    )
  ),
  parser(
    "src/http/JsonBody.ts#readRecord",
    bodyBytes.management,
    (body: Uint8Array) => readRecord(json(body), Number.POSITIVE_INFINITY),
    worstJsonBytes
  ),
  parser(
    "src/http/JsonBody.ts#exactMember",
    bodyBytes.execute,
    (body: Uint8Array) => {
      const sent = json(Buffer.concat([bytes('{"input":{"n":12345678901234567,"v":'), body, bytes("}}")]))
      // The body was read before, in a turn of its own.
      return exactInput(sent, {})
    },
    readJsonBytes
  ),
  parser(
    "src/domain/event/WebhookPayload.ts#queryFields",
    headerBytes,
    (query: string) => queryChallenge(queryFields(query)),
    {
      "one name many times": repeated("a&"),
      "many names": (size) => Array.from({ length: size / 4 }, (_, n) => n.toString(36)).join("&"),
      "escaped bytes": repeated("%61=%C3&"),
      "a challenge many times": repeated("challenge&")
    }
  ),
  parser(
    ["src/domain/FormFields.ts#readFormFields", "src/http/webhook/Payload.ts#readForm"],
    largeWebhookBytes,
    (text: string) => readPayload(form(text), Number.POSITIVE_INFINITY),
    {
      "one name many times": mostFields("a"),
      "escaped bytes": mostFields("%C3%A9"),
      "separators only": repeated("&"),
      "one long escaped value": repeated("%61")
    }
  ),
  parser("src/http/pipeline/Routes.ts#makeMatcher", headerBytes, (path: string) => findRoute("GET", path), {
    slashes: repeated("/"),
    "slashes before a letter": (size) => `${"/".repeat(size - 1)}a`,
    "short parts": repeated("/a")
  }),
  parser(
    ["src/domain/event/InboundWebhook.ts#schemes", "src/domain/event/InboundWebhook.ts#normalise"],
    headerBytes,
    verify("x-shopify-hmac-sha256"),
    { padding: repeated("="), "padding before a letter": (size) => `${"=".repeat(size - 1)}a` }
  ),
  parser("src/domain/event/InboundWebhook.ts#schemes", headerBytes, verify("stripe-signature"), {
    "many signatures": (size) => `t=0,${repeated("v1=0,")(size)}`,
    "many pairs": (size) => `t=0,${repeated("a=,")(size)}`,
    "equal signs": (size) => `t=0,v1=${"=".repeat(size)}`
  }),
  parser(
    "src/domain/run/CallSettings.ts#settingsReader",
    settingsLength,
    (given: Json | undefined) => runApproval(given, settingsLength),
    {
      "a long message": (size) => ({ approvers: ["a@b.c"], message: "a".repeat(size) }),
      "many approvers": (size) => ({ approvers: Array.from({ length: size / 8 }, () => "a@b.c"), message: "a" }),
      "members that do not exist": (size) =>
        Object.fromEntries(Array.from({ length: size / 16 }, (_, at) => [`m${at}`, at]))
    }
  ),
  parser(
    "src/domain/run/CallSettings.ts#settingsReader",
    settingsLength,
    (given: Json | undefined) => runMessage(given, settingsLength),
    {
      "a long body": (size) => ({ channel: "in_app", body: "a".repeat(size) }),
      "many targets": (size) => ({ channel: "email", body: "a", to: Array.from({ length: size / 6 }, () => "a@b.c") }),
      "members that do not exist": (size) =>
        Object.fromEntries(Array.from({ length: size / 16 }, (_, at) => [`m${at}`, at]))
    }
  )
]
