/**
 * Signed requests: what exactly is signed, how the header is written and read, and when it counts.
 * Two schemes: `x-identity-hmac`, by which a caller proves who it acts for, and Standard Webhooks, by which the
 * service signs what it sends. Contract: signatures.
 */
import { Duration, Either, Encoding, Option } from "effect"
import { signatureWindow } from "./Limits.js"

/** The arithmetic that signing needs; the port `Digests` fits. */
export interface SignatureDigests {
  readonly hmacHex: (key: string, data: string) => string
  readonly hmacBase64: (key: Uint8Array, data: Uint8Array) => string
  readonly equal: (a: string, b: string) => boolean
}

/** What `x-identity-hmac` covers of a request. */
export interface IdentityRequest {
  readonly method: string
  /** Path and query exactly as sent. */
  readonly target: string
  /** Looks a header up by its lower-case name. */
  readonly header: (name: string) => string | undefined
  /** SHA-256 of the raw body, hexadecimal; of zero bytes where there is none. */
  readonly bodySha256: string
}

/** A header that could be read; nothing about it is verified yet. `timestamp`: Unix seconds. */
export interface IdentitySignature {
  readonly timestamp: number
  /** Empty where the caller sent none. */
  readonly nonce: string
  readonly signatures: ReadonlyArray<string>
}

/** `malformed`: not a signature; `stale`: outside the window; `mismatch`: made with another secret or for another request. */
export type SignatureProblem = "malformed" | "stale" | "mismatch"

export const identityHeader = "x-identity-hmac"

/** The headers that the signature covers, in the order of the message. */
export const identityHeaders = [
  "x-org-id",
  "x-user-id",
  "x-end-org-id",
  "x-end-org-ref",
  "x-installation-id",
  "x-svc-connections",
  "x-svc-installation-config",
  "x-svc-space-tenantid"
] as const

/** A message to be delivered under Standard Webhooks. `timestamp`: Unix seconds. */
export interface WebhookMessage {
  readonly id: string
  readonly timestamp: number
  readonly body: string | Uint8Array
}

export interface WebhookHeaders {
  readonly "webhook-id": string
  readonly "webhook-timestamp": string
  readonly "webhook-signature": string
}

// --- x-identity-hmac ---

const mostSignatures = 8

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
      if (!/^[0-9a-f]{64}$/i.test(value) || signatures.length === mostSignatures) return Option.none()
      signatures.push(value.toLowerCase())
    }
  }
  if (timestamp === undefined || signatures.length === 0) return Option.none()
  return Option.some({ timestamp, nonce: nonce ?? "", signatures })
}

/** The text whose HMAC is the signature. None where a header holds a line break, which could pass for another line. */
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
 * The header that a caller sends; one `v1` per secret. None where the request cannot be signed.
 * @internal The caller's side, which tests take.
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
 * Whether one of the secrets signed this request, now. An empty secret, or none, verifies nothing.
 * What it answers is verified but for the nonce: the caller must remember that for ten minutes and refuse its reuse.
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
  const expected = secrets.filter((secret) => secret !== "").map((secret) => digests.hmacHex(secret, message))
  return anyEqual(digests, expected, parsed.signatures) ? Either.right(parsed) : Either.left("mismatch")
}

// --- Standard Webhooks ---

const webhookPrefix = "whsec_"

/** The key inside `whsec_…`: 24 to 64 bytes in base64. None for anything else. */
export const webhookKey = (secret: string): Option.Option<Uint8Array> => {
  if (!secret.startsWith(webhookPrefix)) return Option.none()
  const key = Either.getOrUndefined(Encoding.decodeBase64(secret.slice(webhookPrefix.length)))
  return key !== undefined && key.length >= 24 && key.length <= 64 ? Option.some(key) : Option.none()
}

/**
 * The headers of a signed delivery: one signature per secret, the current one first, so that a receiver that still
 * knows only the old secret accepts it while rotating. None where no secret is a usable `whsec_…`.
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
 * Whether one of the secrets signed this delivery, now. Signatures of other versions (`v1a`) are skipped.
 * An id with a full stop is refused: it would make the signed text ambiguous.
 * @internal The receiver's side, which tests take.
 */
export const verifyWebhook = (
  digests: Pick<SignatureDigests, "hmacBase64" | "equal">,
  secrets: ReadonlyArray<string>,
  headers: WebhookHeaders,
  body: string | Uint8Array,
  nowSeconds: number
): Either.Either<WebhookMessage, SignatureProblem> => {
  const id = headers["webhook-id"]
  const timestampText = headers["webhook-timestamp"]
  const offered = headers["webhook-signature"]
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .map((part) => part.slice(3))
  if (id === "" || id.includes(".") || !/^\d{1,12}$/.test(timestampText)) return Either.left("malformed")
  if (offered.length === 0 || offered.length > mostSignatures) return Either.left("malformed")
  const message = { id, timestamp: Number(timestampText), body }
  if (!isFresh(message.timestamp, nowSeconds)) return Either.left("stale")
  const signed = webhookPayload(message, timestampText)
  const expected = webhookKeys(secrets).map((key) => digests.hmacBase64(key, signed))
  return anyEqual(digests, expected, offered) ? Either.right(message) : Either.left("mismatch")
}

// --- Both ---

const windowSeconds = Duration.toSeconds(signatureWindow)

/** Whether a timestamp in Unix seconds lies in the window around now. */
export const isFresh = (timestamp: number, nowSeconds: number): boolean =>
  Math.abs(nowSeconds - timestamp) <= windowSeconds

/** Compares all with all, so that the time taken tells neither which matched nor whether one did. */
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
  const whole = new Uint8Array(head.length + body.length)
  whole.set(head)
  whole.set(body, head.length)
  return whole
}
