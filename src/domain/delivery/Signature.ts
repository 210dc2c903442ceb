/**
 * Signs and verifies requests under two schemes: `x-identity-hmac`, with which a caller proves on whose behalf it acts,
 * and Standard Webhooks, with which the service signs its deliveries. Contract: signatures.
 */
import { Duration, Either, Encoding, Option } from "effect"
import { bytesOfHeader, identityHeaders, textOfHeader } from "../access/IdentityHeaders.js"
import { signatureWindow } from "../Limits.js"

/** The digests that signing needs; the port `Digests` has them. */
export interface SignatureDigests {
  readonly hmacHex: (key: string, data: string | Uint8Array) => string
  readonly hmacBase64: (key: Uint8Array, data: Uint8Array) => string
  readonly equal: (a: string, b: string) => boolean
}

/** The parts of a request that `x-identity-hmac` covers. */
export interface IdentityRequest {
  readonly method: string
  /** Path and query exactly as sent. */
  readonly target: string
  /** Looks a header up by its lower-case name. */
  readonly header: (name: string) => string | undefined
  /** SHA-256 of the raw body in hexadecimal; of zero bytes without a body. */
  readonly bodySha256: string
}

/** A parsed header, not yet verified. `timestamp`: Unix seconds. */
export interface IdentitySignature {
  readonly timestamp: number
  /** Empty if the caller sent none. */
  readonly nonce: string
  readonly signatures: ReadonlyArray<string>
}

/** `malformed`: not a signature; `stale`: outside the time window; `mismatch`: of another secret or request. */
export type SignatureProblem = "malformed" | "stale" | "mismatch"

/** The header with the signature. */
export const identityHeader = "x-identity-hmac"

/** A message to be delivered under Standard Webhooks. `timestamp`: Unix seconds. */
export interface WebhookMessage {
  readonly id: string
  readonly timestamp: number
  readonly body: string | Uint8Array
}

/** The headers of a signed delivery. */
export interface WebhookHeaders {
  readonly "webhook-id": string
  readonly "webhook-timestamp": string
  readonly "webhook-signature": string
}

// --- x-identity-hmac ---

const maxSignatures = 8

/** Reads `t=…,v1=…[,v1=…][,n=…]`. Members with other names are skipped, so that a later version can add some. */
export const parseIdentityHeader = (header: string): Option.Option<IdentitySignature> => {
  let timestamp: number | undefined
  let nonce: string | undefined
  const signatures: Array<string> = []
  for (const part of header.split(",")) {
    const cut = part.indexOf("=")
    if (cut < 0) return Option.none()
    const name = part.slice(0, cut).trim()
    const value = part.slice(cut + 1).trim()
    if (name === "t") {
      if (timestamp !== undefined || !/^\d{1,12}$/.test(value)) return Option.none()
      timestamp = Number(value)
    } else if (name === "n") {
      if (nonce !== undefined || !/^[\x21-\x7e]{1,64}$/.test(value)) return Option.none()
      nonce = value
    } else if (name === "v1") {
      if (!/^[0-9a-f]{64}$/i.test(value) || signatures.length === maxSignatures) return Option.none()
      signatures.push(value.toLowerCase())
    }
  }
  if (timestamp === undefined || signatures.length === 0) return Option.none()
  return Option.some({ timestamp, nonce: nonce ?? "", signatures })
}

/** The signed message. None if a header has a line break, which could imitate another line. */
export const identityMessage = (request: IdentityRequest, timestamp: number, nonce: string): Option.Option<string> => {
  const lines = [
    "svc-identity-v1",
    String(timestamp),
    nonce,
    request.method.toUpperCase(),
    request.target,
    ...identityHeaders.map((name) => `${name}:${request.header(name) ?? ""}`),
    request.bodySha256
  ]
  return lines.some((line) => /[\r\n]/.test(line)) ? Option.none() : Option.some(lines.join("\n"))
}

/**
 * The header that a caller sends, with one `v1` per secret. None if the request cannot be signed.
 * The caller's side: `svc sign`.
 */
export const signIdentity = (
  digests: Pick<SignatureDigests, "hmacHex">,
  secrets: ReadonlyArray<string>,
  request: IdentityRequest,
  timestamp: number,
  nonce = ""
): Option.Option<string> =>
  Option.map(identityMessage(request, timestamp, nonce), (message) =>
    [
      `t=${timestamp}`,
      ...secrets.map((secret) => `v1=${digests.hmacHex(secret, message)}`),
      ...(nonce === "" ? [] : [`n=${nonce}`])
    ].join(",")
  )

/**
 * What a caller may have signed: the bytes as they are sent, or the text in UTF-8, which differs where Latin-1 is sent. Both
 * are read as the same text, so that a signature never stands for a request on behalf of another.
 */
const signedForms = (message: string): ReadonlyArray<string | Uint8Array> => {
  if (/^[\0-\x7f]*$/.test(message)) return [message]
  return [bytesOfHeader(message), message.split("\n").map(textOfHeader).join("\n")]
}

/**
 * Verifies that one of the secrets signed this request within the time window. Empty secrets never match.
 * The nonce is not checked: the caller must store it for ten minutes and refuse its reuse.
 */
export const verifyIdentity = (
  digests: Pick<SignatureDigests, "hmacHex" | "equal">,
  secrets: ReadonlyArray<string>,
  request: IdentityRequest,
  header: string,
  nowSeconds: number
): Either.Either<IdentitySignature, SignatureProblem> => {
  const parsed = Option.getOrUndefined(parseIdentityHeader(header))
  if (parsed === undefined) return Either.left("malformed")
  if (!isFresh(parsed.timestamp, nowSeconds)) return Either.left("stale")
  const message = Option.getOrUndefined(identityMessage(request, parsed.timestamp, parsed.nonce))
  if (message === undefined) return Either.left("malformed")
  const signed = signedForms(message)
  const expected = secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => signed.map((form) => digests.hmacHex(secret, form)))
  return anyEqual(digests, expected, parsed.signatures) ? Either.right(parsed) : Either.left("mismatch")
}

// --- Standard Webhooks ---

const webhookPrefix = "whsec_"

/** Bytes of the key in a secret of Standard Webhooks. */
export const webhookKeyBytes = { least: 24, most: 64 } as const

/** The key in `whsec_…`: 24 to 64 bytes in base64. None for other text. */
export const webhookKey = (secret: string): Option.Option<Uint8Array> => {
  if (!secret.startsWith(webhookPrefix)) return Option.none()
  const key = Either.getOrUndefined(Encoding.decodeBase64(secret.slice(webhookPrefix.length)))
  return key !== undefined && key.length >= webhookKeyBytes.least && key.length <= webhookKeyBytes.most
    ? Option.some(key)
    : Option.none()
}

/**
 * The headers of a signed delivery, with one signature per secret, so that a receiver that still has the old secret
 * accepts it during a rotation. `secrets`: the current one first. None if no secret is a valid `whsec_…`.
 */
export const signWebhook = (
  digests: Pick<SignatureDigests, "hmacBase64">,
  secrets: ReadonlyArray<string>,
  message: WebhookMessage
): Option.Option<WebhookHeaders> => {
  const signed = webhookPayload(message)
  const signatures = webhookKeys(secrets).map((key) => `v1,${digests.hmacBase64(key, signed)}`)
  if (signatures.length === 0) return Option.none()
  return Option.some({
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestamp),
    "webhook-signature": signatures.join(" ")
  })
}

/**
 * Verifies that one of the secrets signed this delivery within the time window. Other versions (`v1a`) are skipped.
 * An id with a full stop is refused, since it would make the signed text ambiguous. `window`: in seconds.
 */
export const verifyWebhook = (
  digests: Pick<SignatureDigests, "hmacBase64" | "equal">,
  secrets: ReadonlyArray<string>,
  headers: WebhookHeaders,
  body: string | Uint8Array,
  nowSeconds: number,
  window = windowSeconds
): Either.Either<WebhookMessage, SignatureProblem> => {
  const id = headers["webhook-id"]
  const timestampText = headers["webhook-timestamp"]
  const offered = headers["webhook-signature"]
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .map((part) => part.slice(3))
  if (id === "" || id.includes(".") || !/^\d{1,12}$/.test(timestampText)) return Either.left("malformed")
  if (offered.length === 0 || offered.length > maxSignatures) return Either.left("malformed")
  const message = { id, timestamp: Number(timestampText), body }
  if (!isFresh(message.timestamp, nowSeconds, window)) return Either.left("stale")
  const signed = webhookPayload(message, timestampText)
  const expected = webhookKeys(secrets).map((key) => digests.hmacBase64(key, signed))
  return anyEqual(digests, expected, offered) ? Either.right(message) : Either.left("mismatch")
}

// --- Both ---

const windowSeconds = Duration.toSeconds(signatureWindow)

/** Whether a timestamp is within the time window. All are seconds. */
export const isFresh = (timestamp: number, nowSeconds: number, window = windowSeconds): boolean =>
  Math.abs(nowSeconds - timestamp) <= window

/** Compares every pair, so that the time taken does not reveal whether or which one matched. */
const anyEqual = (
  digests: Pick<SignatureDigests, "equal">,
  expected: ReadonlyArray<string>,
  offered: ReadonlyArray<string>
): boolean => {
  let found = false
  for (const one of expected) {
    for (const other of offered) found = digests.equal(one, other) || found
  }
  return found
}

const webhookKeys = (secrets: ReadonlyArray<string>): ReadonlyArray<Uint8Array> =>
  secrets.flatMap((secret) => Option.toArray(webhookKey(secret)))

const encoder = new TextEncoder()

const webhookPayload = (message: WebhookMessage, timestampText = String(message.timestamp)): Uint8Array => {
  const head = encoder.encode(`${message.id}.${timestampText}.`)
  const body = typeof message.body === "string" ? encoder.encode(message.body) : message.body
  const payload = new Uint8Array(head.length + body.length)
  payload.set(head)
  payload.set(body, head.length)
  return payload
}
