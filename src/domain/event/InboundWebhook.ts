/** Verifies webhooks that arrive, over their raw bytes. Pure. Contract: inbound webhooks. */
import { Either, Encoding, Option } from "effect"
import { valueAt } from "../expression/Path.js"
import { concatBytes } from "../connector/request/RequestContent.js"
import type { SigningDigests } from "../connector/request/Signing.js"
import type { WebhookVerification } from "../connector/Webhook.js"
import type { Json } from "../Json.js"
import { parseBounded } from "../JsonText.js"
import { type SignatureDigests, verifyWebhook, webhookKey } from "../delivery/Signature.js"
import { parseProviderTime } from "../Time.js"

/** A request with its raw body. Header names are in lower case. */
export interface WebhookRequest {
  readonly headers: { readonly [name: string]: string }
  readonly body: Uint8Array
  /** When it arrived, in Unix milliseconds. */
  readonly nowMillis: number
}

/** What a verified request says of itself. */
export interface VerifiedDelivery {
  /** The provider's id of the delivery, the same in all its attempts. */
  readonly deliveryId: string | null
  /**
   * The signature, if the scheme signs neither the id of the delivery nor a time: whoever repeats the request can choose
   * another id, but no other signature. `null`: the id, the time or the content tell a repetition.
   */
  readonly signature: string | null
  /** The provider's time, in Unix milliseconds. */
  readonly occurredAt: number | null
}

/**
 * Why a request is refused. `stale`: its time is outside the window. `unsigned`: it has no signature. `malformed`: its
 * signature cannot be read. `mismatch`: it is of another secret or request. `no_secret`: there is no usable secret.
 * `secret_form`: no secret matches, and one has not the form that Standard Webhooks needs.
 */
export type DeliveryProblem = "stale" | "unsigned" | "malformed" | "mismatch" | "no_secret" | "secret_form"

export type WebhookDigests = Pick<SignatureDigests, "hmacBase64" | "equal"> & Pick<SigningDigests, "hmac">

/**
 * Verifies that one of the secrets signed the request within the window. `secrets`: two while one is rotated; empty ones
 * never match. The id and time of the delivery are read only from a verified request.
 */
export const verifyDelivery = (
  verification: WebhookVerification,
  secrets: ReadonlyArray<string>,
  request: WebhookRequest,
  digests: WebhookDigests
): Either.Either<VerifiedDelivery, DeliveryProblem> => {
  const rule = ruleOf(verification)
  const usable = secrets.filter((secret) => secret !== "")
  if (rule.scheme !== "none" && usable.length === 0) return Either.left("no_secret")
  return Either.flatMap(commonFreshness(rule, request), () => schemes[rule.scheme](rule, usable, request, digests))
}

// --- Rules ---

/** How requests of a scheme are signed. */
export interface Rule extends Omit<WebhookVerification, "scheme"> {
  readonly scheme: "standard" | "hmac" | "token" | "none" | "stripe"
  /** A path into the signed body to the id of the delivery, of providers that send no header with it. */
  readonly idPath?: string
}

const presets: { readonly [name in NonNullable<WebhookVerification["preset"]>]: Partial<Rule> & Pick<Rule, "scheme"> } =
  {
    "standard-webhooks": { scheme: "standard" },
    svc: { scheme: "standard" },
    stripe: { scheme: "stripe", header: "stripe-signature", payload: "{timestamp}.{body}", idPath: "id" },
    slack: {
      scheme: "hmac",
      header: "x-slack-signature",
      prefix: "v0=",
      payload: "v0:{timestamp}:{body}",
      timestampHeader: "x-slack-request-timestamp",
      idPath: "event_id"
    },
    github: { scheme: "hmac", header: "x-hub-signature-256", prefix: "sha256=", idHeader: "x-github-delivery" },
    shopify: {
      scheme: "hmac",
      header: "x-shopify-hmac-sha256",
      encoding: "base64",
      idHeader: "x-shopify-webhook-id"
    }
  }

/** The preset with the members that the definition sets, except the scheme, which is the preset's. */
export const ruleOf = ({ preset, scheme = "standard", ...members }: WebhookVerification): Rule => {
  if (preset === undefined) return { scheme, ...members }
  const base = presets[preset]
  return { ...base, ...members, scheme: base.scheme }
}

type Scheme = (
  rule: Rule,
  secrets: ReadonlyArray<string>,
  request: WebhookRequest,
  digests: WebhookDigests
) => Either.Either<VerifiedDelivery, DeliveryProblem>

const schemes: { readonly [name in Rule["scheme"]]: Scheme } = {
  standard: (rule, secrets, { body, headers, nowMillis }, digests) => {
    const id = headers["webhook-id"]
    const timestamp = headers["webhook-timestamp"]
    const signature = headers["webhook-signature"]
    if (signature === undefined) return Either.left("unsigned")
    if (id === undefined || timestamp === undefined) return Either.left("malformed")
    const sent = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature }
    const isUsable = secrets.every((secret) => Option.isSome(webhookKey(secret)))
    return Either.mapBoth(
      verifyWebhook(digests, secrets, sent, body, Math.floor(nowMillis / 1_000), rule.maxAgeSeconds),
      {
        onLeft: (problem): DeliveryProblem => (problem === "mismatch" && !isUsable ? "secret_form" : problem),
        onRight: (message) => ({ deliveryId: message.id, occurredAt: message.timestamp * 1_000, signature: null })
      }
    )
  },
  hmac: (rule, secrets, request, digests) => {
    const { algorithm = "sha256", encoding = "hex", payload = "{body}", prefix = "" } = rule
    const sent = headerOf(request, rule.header)
    if (sent === undefined) return Either.left("unsigned")
    if (!sent.startsWith(prefix)) return Either.left("malformed")
    return Either.flatMap(timeOf(rule, request), (occurredAt) => {
      const parts = { timestamp: headerOf(request, rule.timestampHeader), id: headerOf(request, rule.idHeader) }
      const signed = signedBytes(payload, request.body, parts)
      if (signed === undefined) return Either.left("malformed")
      const offered = [normalise(sent.slice(prefix.length), encoding)]
      const signature = findSignature(digests, secrets, offered, { algorithm, encoding, signed })
      if (signature === undefined) return Either.left("mismatch")
      return Either.right({
        deliveryId: deliveryIdOf(rule, request),
        occurredAt,
        signature: canRepeat(rule, payload) ? signature : null
      })
    })
  },
  stripe: (rule, secrets, request, digests) => {
    const { algorithm = "sha256", encoding = "hex", payload = "{timestamp}.{body}" } = rule
    const sent = headerOf(request, rule.header)
    if (sent === undefined) return Either.left("unsigned")
    const parts = sent.split(",").map((part) => part.trim().split("="))
    const timestamp = parts.find(([name]) => name === "t")?.[1]
    const offered = parts.flatMap(([name, value]) =>
      name === "v1" && value !== undefined ? [normalise(value, encoding)] : []
    )
    if (timestamp === undefined || offered.length === 0 || offered.length > maxSignatures)
      return Either.left("malformed")
    return Either.flatMap(freshTime(timestamp, "unix", rule, request), (occurredAt) => {
      const signed = signedBytes(payload, request.body, { timestamp })
      if (signed === undefined) return Either.left("malformed")
      const signature = findSignature(digests, secrets, offered, { algorithm, encoding, signed })
      if (signature === undefined) return Either.left("mismatch")
      return Either.right({
        deliveryId: deliveryIdOf(rule, request),
        occurredAt,
        signature: canRepeat(rule, payload) ? signature : null
      })
    })
  },
  token: (rule, secrets, request, digests) => {
    const { prefix = "" } = rule
    const sent = headerOf(request, rule.header)
    if (sent === undefined) return Either.left("unsigned")
    if (!sent.startsWith(prefix)) return Either.left("malformed")
    const offered = sent.slice(prefix.length)
    return secrets.reduce((found, secret) => digests.equal(secret, offered) || found, false)
      ? unsignedDelivery(rule, request)
      : Either.left("mismatch")
  },
  none: (rule, _secrets, request) => unsignedDelivery(rule, request)
}

/** Whether a signature is also that of the request with another id of the delivery, at any time. */
const canRepeat = ({ idHeader }: Rule, payload: string): boolean =>
  idHeader !== undefined && !payload.includes("{id}") && !payload.includes("{timestamp}")

/** What a request says of itself that is not signed. */
const unsignedDelivery = (rule: Rule, request: WebhookRequest): Either.Either<VerifiedDelivery, DeliveryProblem> =>
  Either.map(timeOf(rule, request), (occurredAt) => ({
    deliveryId: deliveryIdOf(rule, request),
    occurredAt,
    signature: null
  }))

/** Signatures in one header that are compared. */
const maxSignatures = 8

const headerOf = ({ headers }: WebhookRequest, name: string | undefined): string | undefined => {
  const value = name === undefined ? undefined : headers[name.toLowerCase()]
  return value === "" ? undefined : value
}

/** The look-behind makes a long run of `=` that is no padding cost its length, not the square of it. */
const padding = /(?<!=)=+$/

/** Hexadecimal digits have no case, and base64 may be the URL's alphabet, without padding. */
const normalise = (signature: string, encoding: "hex" | "base64"): string =>
  encoding === "hex"
    ? signature.trim().toLowerCase()
    : signature.trim().replaceAll("-", "+").replaceAll("_", "/").replace(padding, "")

interface SignedText {
  readonly algorithm: "sha1" | "sha256" | "sha512"
  readonly encoding: "hex" | "base64"
  readonly signed: Uint8Array
}

const utf8 = new TextEncoder()

/** The signature that was offered. Compares every pair, so that the time taken does not reveal which one matched. */
const findSignature = (
  { equal, hmac }: WebhookDigests,
  secrets: ReadonlyArray<string>,
  offered: ReadonlyArray<string>,
  { algorithm, encoding, signed }: SignedText
): string | undefined => {
  let found: string | undefined
  for (const secret of secrets) {
    const expected = encode(hmac(algorithm, utf8.encode(secret), signed), encoding)
    for (const one of offered) if (equal(expected, one)) found = expected
  }
  return found
}

const encode = (bytes: Uint8Array, encoding: "hex" | "base64"): string =>
  encoding === "hex" ? Encoding.encodeHex(bytes) : Encoding.encodeBase64(bytes).replace(padding, "")

/** The signed text with its parts; `undefined` if the request lacks one. */
const signedBytes = (
  payload: string,
  body: Uint8Array,
  parts: { readonly timestamp?: string | undefined; readonly id?: string | undefined }
): Uint8Array | undefined => {
  const pieces = payload.split(/(\{(?:body|timestamp|id)\})/).map((piece) => {
    if (piece === "{body}") return body
    const text = piece === "{timestamp}" ? parts.timestamp : piece === "{id}" ? parts.id : piece
    return text === undefined ? undefined : utf8.encode(text)
  })
  const bytes = pieces.filter((piece) => piece !== undefined)
  return bytes.length < pieces.length ? undefined : concatBytes(bytes)
}

// --- Freshness ---

/** The time in the header of the scheme, if it has one; fails if it is outside the window. */
const timeOf = (rule: Rule, request: WebhookRequest): Either.Either<number | null, DeliveryProblem> => {
  if (rule.timestampHeader === undefined) return Either.right(null)
  const text = headerOf(request, rule.timestampHeader)
  return text === undefined ? Either.left("malformed") : freshTime(text, rule.timestampFormat ?? "unix", rule, request)
}

/** A request that sends the time of Standard Webhooks must be fresh under every scheme. */
const commonFreshness = (rule: Rule, request: WebhookRequest): Either.Either<number | null, DeliveryProblem> => {
  const text = headerOf(request, "webhook-timestamp")
  return text === undefined || rule.scheme === "standard" ? Either.right(null) : freshTime(text, "unix", rule, request)
}

const freshTime = (
  text: string,
  format: "unix" | "ms" | "iso",
  { maxAgeSeconds }: Rule,
  { nowMillis }: WebhookRequest
): Either.Either<number, DeliveryProblem> => {
  if (format !== "iso" && !/^\d{1,15}(?:\.\d{1,9})?$/.test(text)) return Either.left("malformed")
  const at =
    format === "iso"
      ? (parseProviderTime(text) ?? Number.NaN)
      : Math.floor(Number(text) * (format === "unix" ? 1_000 : 1))
  if (Number.isNaN(at)) return Either.left("malformed")
  return Math.abs(nowMillis - at) <= maxAgeSeconds * 1_000 ? Either.right(at) : Either.left("stale")
}

/** Characters of a delivery's id that are kept. */
const maxIdLength = 255

/**
 * The id of the delivery. `webhook-id` is not signed, so that it counts only where nothing that is signed tells a
 * repetition: with it, a replayed request would be a new delivery.
 */
const deliveryIdOf = ({ idHeader, idPath, timestampHeader }: Rule, request: WebhookRequest): string | null => {
  const inBody = () => valueAt(parseBounded(new TextDecoder().decode(request.body)), idPath ?? "")
  const hasSignedIdentity = idPath !== undefined || timestampHeader !== undefined
  const id =
    idTextOf(headerOf(request, idHeader)) ??
    (idPath === undefined ? undefined : idTextOf(inBody())) ??
    (hasSignedIdentity ? undefined : idTextOf(headerOf(request, "webhook-id")))
  return id?.slice(0, maxIdLength) ?? null
}

/** A blank text identifies nothing. */
const idTextOf = (id: Json | undefined): string | undefined =>
  typeof id === "string" && id.trim() !== "" ? id : undefined
