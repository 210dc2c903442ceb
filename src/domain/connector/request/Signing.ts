/**
 * Signs requests by the schemes of custom auth methods: HMAC and Digest. A definition can name only signers of this table,
 * since it has no code. Pure. Contract: connector definition, `sign`.
 */
import { Either, Encoding } from "effect"
import type { CustomMethod, SigningRule } from "../AuthMethod.js"
import { concatBytes } from "./RequestContent.js"
import { type CallMistake, isHeaderText, callMistake } from "./ValueEncoding.js"
import { templatePaths, renderText, cachedTemplate } from "../../expression/Template.js"

/** The digests that signing needs. */
export interface SigningDigests {
  readonly hmac: (algorithm: "sha1" | "sha256" | "sha512", key: Uint8Array, data: Uint8Array) => Uint8Array
  readonly hash: (algorithm: "md5" | "sha256", data: Uint8Array) => Uint8Array
}

/** The request as it will be sent. */
export interface SignableRequest {
  readonly method: string
  readonly url: string
  readonly body: string | Uint8Array | null
  /** `WWW-Authenticate` of the 401 before this attempt; null on the first attempt. Only `digest` reads it. */
  readonly challenge: string | null
}

/** Credential, time and nonce of a signature. */
export interface SigningInput {
  readonly credential: { readonly [name: string]: string }
  /** Unix milliseconds. */
  readonly now: number
  /** Unique, in hexadecimal. */
  readonly nonce: string
  readonly digests: SigningDigests
}

type Headers = ReadonlyArray<readonly [name: string, value: string]>
type Signer = (rule: SigningRule, request: SignableRequest, input: SigningInput) => Either.Either<Headers, CallMistake>

/** The headers with the signature; none if the scheme needs the provider's challenge first. */
export const signRequest = (
  method: CustomMethod,
  request: SignableRequest,
  input: SigningInput
): Either.Either<Headers, CallMistake> => {
  const signer = method.sign === undefined ? undefined : signerOf(method.sign)
  if (method.sign === undefined) return Either.right([])
  return signer === undefined
    ? callMistake("auth.sign", `must be one of ${signerNames.join(", ")}`)
    : signer(method.signing, request, input)
}

/** Whether the scheme answers a challenge: a 401 with one is followed by a signed attempt. */
export const answersChallenge = (method: CustomMethod): boolean => method.sign === "hook:digest"

const utf8 = new TextEncoder()

// --- HMAC over the definition's payload ---

const hmac =
  (algorithm: "sha1" | "sha256" | "sha512"): Signer =>
  (rule, request, input) =>
    Either.gen(function* () {
      const key = yield* keyOf(rule, input)
      const stamp = stampOf(rule, input.now)
      const signed = concatBytes(
        rule.payload.split(/\{(\w+)\}/).map((text, at) => {
          const part = at % 2 === 1 && Object.hasOwn(payloadParts, text) ? payloadParts[text] : undefined
          return part === undefined
            ? utf8.encode(at % 2 === 1 ? `{${text}}` : text)
            : bytesOf(part(request, input, stamp))
        })
      )
      const signature = encodeSignature(rule, input.digests.hmac(algorithm, key, signed))
      return [
        [rule.header.toLowerCase(), `${rule.prefix}${signature}`],
        ...(rule.timestampHeader === undefined ? [] : [[rule.timestampHeader.toLowerCase(), stamp] as const]),
        ...(rule.nonceHeader === undefined ? [] : [[rule.nonceHeader.toLowerCase(), input.nonce] as const])
      ] as const
    })

type PayloadPart = (request: SignableRequest, input: SigningInput, stamp: string) => SignableRequest["body"]

const bytesOf = (body: SignableRequest["body"]): Uint8Array =>
  body instanceof Uint8Array ? body : utf8.encode(body ?? "")

/** The placeholders of a payload. */
const payloadParts: { readonly [name: string]: PayloadPart } = {
  method: ({ method }) => method,
  url: ({ url }) => url,
  host: ({ url }) => new URL(url).host,
  path: ({ url }) => new URL(url).pathname,
  query: ({ url }) => new URL(url).search.slice(1),
  target: ({ url }) => `${new URL(url).pathname}${new URL(url).search}`,
  body: ({ body }) => body,
  bodySha256: ({ body }, { digests }) => Encoding.encodeHex(digests.hash("sha256", bytesOf(body))),
  timestamp: (_request, _input, stamp) => stamp,
  nonce: (_request, { nonce }) => nonce
}

/** The names of the placeholders of a payload. */
export const payloadNames: ReadonlyArray<string> = Object.keys(payloadParts)

const keyOf = (rule: SigningRule, { credential }: SigningInput): Either.Either<Uint8Array, CallMistake> => {
  const absent = templatePaths(cachedTemplate(rule.key)).find(([, name]) => !Object.hasOwn(credential, String(name)))
  if (absent !== undefined) return callMistake(`credential.${String(absent[1])}`, "is required and is absent")
  const text = renderText(rule.key, { credential })
  const decoded =
    rule.keyEncoding === "text"
      ? Either.right(utf8.encode(text))
      : rule.keyEncoding === "hex"
        ? Encoding.decodeHex(text)
        : Encoding.decodeBase64(text)
  return Either.isLeft(decoded)
    ? callMistake("auth.signing.key", `is not ${rule.keyEncoding}`)
    : Either.right(decoded.right)
}

const stampOf = ({ timestampFormat }: SigningRule, now: number): string => {
  if (timestampFormat === "iso") return new Date(now).toISOString()
  return String(timestampFormat === "ms" ? now : Math.floor(now / 1000))
}

const encodeSignature = ({ encoding }: SigningRule, bytes: Uint8Array): string => {
  if (encoding === "hex") return Encoding.encodeHex(bytes)
  return encoding === "base64" ? Encoding.encodeBase64(bytes) : Encoding.encodeBase64Url(bytes)
}

// --- Digest (RFC 7616): answers the provider's challenge ---

const digest: Signer = (_rule, request, { credential, digests, nonce }) => {
  if (request.challenge === null) return Either.right([])
  const challenge = challengeOf(request.challenge)
  const { algorithm = "MD5", nonce: serverNonce, opaque, qop = "", realm = "" } = challenge
  const hash = hashes[algorithm.toUpperCase()]
  if (serverNonce === undefined || hash === undefined) {
    return callMistake("auth", "the provider's challenge is not supported: it needs a nonce and MD5 or SHA-256")
  }
  const { password = "", username = "" } = credential
  const hex = (text: string) => Encoding.encodeHex(digests.hash(hash, utf8.encode(text)))
  const { pathname, search } = new URL(request.url)
  const uri = `${pathname}${search}`
  const cnonce = nonce
  const plain = hex(`${username}:${realm}:${password}`)
  const first = /-sess$/i.test(algorithm) ? hex(`${plain}:${serverNonce}:${cnonce}`) : plain
  const second = hex(`${request.method}:${uri}`)
  const withQop = qop.split(",").some((one) => one.trim() === "auth")
  if (qop !== "" && !withQop)
    return callMistake("auth", "the provider requires a quality of protection other than auth, which is not supported")
  const response = withQop
    ? hex(`${first}:${serverNonce}:00000001:${cnonce}:auth:${second}`)
    : hex(`${first}:${serverNonce}:${second}`)
  const quoted: ReadonlyArray<readonly [string, string | undefined]> = [
    ["username", username],
    ["realm", realm],
    ["nonce", serverNonce],
    ["uri", uri],
    ["response", response],
    ["opaque", opaque],
    ["cnonce", withQop ? cnonce : undefined]
  ]
  const text = `Digest ${[
    ...quoted.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value.replace(/["\\]/g, "\\$&")}"`])),
    ...(challenge["algorithm"] === undefined ? [] : [`algorithm=${algorithm}`]),
    ...(withQop ? ["qop=auth", "nc=00000001"] : [])
  ].join(", ")}`
  return isHeaderText(text)
    ? Either.right([["authorization", text]])
    : callMistake("credential.username", "has characters that a header cannot hold")
}

const hashes: { readonly [algorithm: string]: "md5" | "sha256" } = {
  MD5: "md5",
  "MD5-SESS": "md5",
  "SHA-256": "sha256",
  "SHA-256-SESS": "sha256"
}

const challengeOf = (text: string): { readonly [name: string]: string | undefined } => {
  const after = /\bDigest\s+([^]*)/i.exec(text.slice(0, 8_192))?.[1] ?? ""
  return Object.fromEntries(
    [...after.matchAll(/(?<!\w)(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)].map(
      ([, name = "", quoted, token]) => [name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? token]
    )
  )
}

// --- The table ---

const signers: { readonly [name: string]: Signer } = {
  "hook:hmacSha256": hmac("sha256"),
  "hook:hmacSha1": hmac("sha1"),
  "hook:hmacSha512": hmac("sha512"),
  "hook:digest": digest
}

/** The values of `sign`. */
export const signerNames: ReadonlyArray<string> = Object.keys(signers)

const signerOf = (name: string): Signer | undefined => (Object.hasOwn(signers, name) ? signers[name] : undefined)
