/**
 * Takes secrets out of what is stored or shown: the values that a run used, wherever they appear, and members and
 * headers that are secret by their name. Specification: secrets never appear in logs, traces, errors.
 */
import type { Json } from "./Json.js"
import { SecretIndex, type Span } from "./SecretIndex.js"

export const redacted = "[redacted]"

export interface Scrubber {
  /** From now on this value is taken out, too. */
  readonly hide: (value: string) => void
  /** The same in steps, each of them short, whatever the length of the value. Done when there is no further one. */
  readonly hiding: (value: string) => Iterable<void>
  readonly text: (text: string) => string
  /** Where the end of a text begins that may go on as a secret; its length where none can. */
  readonly openEnd: (text: string) => number
  /**
   * One piece of a text that comes in pieces: what of it is safe to show, and what has to wait for the next piece,
   * because it may be the beginning of a secret.
   */
  readonly piece: (text: string) => { readonly shown: string; readonly waits: string }
  /** The same value where nothing had to go. Member names are scrubbed as well, and credential headers by their name. */
  readonly json: (value: Json) => Json
}

/** Shorter values are left alone: they occur everywhere and hide nothing. */
const shortestSecret = 4

/**
 * Replaces each value wherever it stands, also inside longer text, and in the forms in which it travels: base64 and
 * base64url (also as part of a longer encoded text, such as `user:password`), hexadecimal, URL-encoded, and as JSON.
 * Linear in the text and in the values. Without values it costs nothing. A failure hides the whole text.
 */
export const makeScrubber = (values: Iterable<string>): Scrubber => {
  const index = new SecretIndex()
  function* hiding(value: string): Generator<void, void> {
    if (value.length < shortestSecret) return
    const added = new Set<string>()
    for (const form of formsOf(value)) {
      yield
      if (form.length < shortestSecret || added.has(form)) continue
      added.add(form)
      yield* index.adding(form)
    }
  }
  const hide = (value: string): void => {
    for (const _step of hiding(value));
  }
  for (const value of values) hide(value)

  const text = (input: string): string => {
    if (index.isEmpty) return input
    const spans = index.spans(input)
    return spans.length === 0 ? input : without(input, spans)
  }
  const piece = (input: string) => {
    const end = index.openEnd(input)
    // A secret that is there already is not cut.
    const cut = index.spans(input).find(({ from, to }) => from < end && to > end)?.from ?? end
    return { shown: text(input.slice(0, cut)), waits: input.slice(cut) }
  }

  const json = (value: Json): Json => {
    if (typeof value === "string") return text(value)
    if (typeof value === "number") return scrubbedNumber(value)
    if (typeof value !== "object" || value === null) return value
    if (isList(value)) {
      const items = value.map(json)
      return items.some((item, at) => item !== value[at]) ? items : value
    }
    const members = Object.entries(value)
    const scrubbed = members.map(([name, member]): [string, Json] => [text(name), scrubbedMember(name, member)])
    const changed = scrubbed.some(([name, member], at) => name !== members[at]?.[0] || member !== members[at]?.[1])
    return changed ? Object.fromEntries(scrubbed) : value
  }
  const scrubbedMember = (name: string, member: Json): Json =>
    typeof member === "string" && credentialHeaders.has(name.toLowerCase()) ? redacted : json(member)
  const scrubbedNumber = (value: number): Json => {
    const written = String(value)
    return text(written) === written ? value : redacted
  }

  return {
    hide,
    hiding,
    text: (input) => orHidden(() => text(input)),
    openEnd: (input) => (index.isEmpty ? input.length : index.openEnd(input)),
    piece: (input) => (index.isEmpty ? { shown: input, waits: "" } : piece(input)),
    json: (value) => (index.isEmpty ? value : orHidden(() => json(value)))
  }
}

/** A value that cannot be searched, one that nests without measure for example, is hidden as a whole. */
const orHidden = <A>(scrub: () => A): A | typeof redacted => {
  try {
    return scrub()
  } catch {
    return redacted
  }
}

const without = (input: string, spans: ReadonlyArray<Span>): string => {
  let shown = ""
  let at = 0
  for (const { from, to } of spans) {
    shown += input.slice(at, from) + redacted
    at = to
  }
  return shown + input.slice(at)
}

// --- By name ---

/** Headers that carry a credential; never recorded, and never given to a workflow. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-svc-api-key",
  "x-svc-access-key",
  "x-identity-hmac"
])

/** Whether a header's value is never shown, whoever set it. */
export const isSecretHeader = (name: string): boolean => {
  const known = judgedHeaders.get(name)
  if (known !== undefined) return known
  const secret = credentialHeaders.has(name.toLowerCase()) || isSecretMember(name)
  if (judgedHeaders.size < mostJudged) judgedHeaders.set(name, secret)
  return secret
}
/** The same few names come with every request. */
const judgedHeaders = new Map<string, boolean>()
const mostJudged = 1000

/** Names that mean a secret by themselves, compared without case, `-` and `_`. */
const secretMembers: ReadonlySet<string> = new Set([
  "password",
  "passwd",
  "passphrase",
  "secret",
  "token",
  "apikey",
  "accesskey",
  "accesstoken",
  "refreshtoken",
  "idtoken",
  "clientsecret",
  "authorization",
  "privatekey",
  "signingsecret",
  "webhooksecret",
  "credential",
  "credentials",
  "bearer",
  "cardnumber",
  "cvc",
  "cvv"
])
/** Endings that mean one in a longer name, e.g. `stripeApiKey`, `x-shop-access-token`. */
const secretEnding = /(?:password|secret|apikey|accesskey|accesstoken|refreshtoken|authtoken|privatekey)$/

/** Whether a member of an object holds a secret by its name: `password`, `client_secret`, `x-shop-access-token` … */
export const isSecretMember = (name: string): boolean => {
  const known = judgedMembers.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  const plain = lower.includes("-") || lower.includes("_") ? lower.replace(/[-_]/g, "") : lower
  const secret = secretMembers.has(plain) || secretEnding.test(plain)
  if (judgedMembers.size < mostJudged && name.length <= longestJudged) judgedMembers.set(name, secret)
  return secret
}
/** The same few names come with every input and every step. */
const judgedMembers = new Map<string, boolean>()
const longestJudged = 64

/** Headers as they may be shown. */
export const redactHeaders = <Value>(
  headers: Readonly<Record<string, Value>>
): Record<string, Value | typeof redacted> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, isSecretHeader(name) ? redacted : value]))

/** Replaces every member that is secret by its name, at any depth; the same value where there is none. */
export const redactMembers = (value: Json): Json => (hasSecretMember(value) ? withoutSecretMembers(value) : value)

const hasSecretMember = (value: Json): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (isList(value)) return value.some(hasSecretMember)
  for (const name in value) if (isSecretMember(name) || hasSecretMember(value[name] ?? null)) return true
  return false
}

const withoutSecretMembers = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (isList(value)) return value.map(withoutSecretMembers)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSecretMember(name) ? redacted : withoutSecretMembers(member)
    ])
  )
}

// --- Forms of a secret ---

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

function* formsOf(value: string): Generator<string, void> {
  const bytes = new TextEncoder().encode(value)
  const json = jsonWritten(value)
  // As JSON writes it inside a string, e.g. a key with line breaks; and where such a document is part of another.
  for (const written of new Set([value, json, jsonWritten(json)])) {
    yield written
    yield* urlForms(written)
  }
  yield* hexForms(bytes)
  yield* base64Forms(bytes)
}

/** As URLs and forms write it; the last one in a URL that is part of another. */
function* urlForms(value: string): Generator<string, void> {
  const url = encodeURIComponent(value.toWellFormed())
  yield url
  // As forms write it: a plus for a space, and more characters encoded than encodeURIComponent does.
  const form = url.replace(/%20/g, "+")
  yield form
  yield form.replace(/[!'()~]/g, percent)
  yield url.replace(/[!'()*~]/g, percent)
  yield lowerPercent(url)
  yield encodeURIComponent(url)
}

const jsonWritten = (text: string) => JSON.stringify(text).slice(1, -1)
const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
const lowerPercent = (text: string) => text.replace(/(?:%[0-9A-F]{2})+/g, (codes) => codes.toLowerCase())

/** Characters of ASCII as text: many times faster than putting them together one by one. */
const ascii = (codes: Uint8Array): string => new TextDecoder().decode(codes)
const codesOf = (letters: string): Uint8Array => new TextEncoder().encode(letters)
const hexDigits = codesOf("0123456789abcdef")

function* hexForms(bytes: Uint8Array): Generator<string, void> {
  const codes = new Uint8Array(2 * bytes.length)
  bytes.forEach((byte, at) => {
    codes[2 * at] = hexDigits[byte >> 4] ?? 0
    codes[2 * at + 1] = hexDigits[byte & 15] ?? 0
  })
  const hex = ascii(codes)
  yield hex
  yield hex.toUpperCase()
}

const base64Digits = codesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

/**
 * Base64 of bytes that begin at each of the three places inside a group, without the letters that neighbouring bytes
 * take part in: what is left appears in every longer text that holds the value.
 */
function* base64Forms(bytes: Uint8Array): Generator<string, void> {
  for (const offset of [0, 1, 2]) {
    const whole = base64(bytes, offset)
    const first = Math.ceil((offset * 8) / 6)
    const last = Math.floor(((offset + bytes.length) * 8) / 6)
    const inner = whole.slice(first, last)
    // A few letters of base64 occur by chance everywhere.
    for (const form of [...(offset === 0 ? [whole] : []), ...(inner.length >= 5 ? [inner] : [])]) {
      yield form
      yield form.replace(/\+/g, "-").replace(/\//g, "_")
    }
  }
}

/** After so many bytes that are zero. Without padding: text with padding holds it as well. */
const base64 = (value: Uint8Array, offset: number): string => {
  const bytes = new Uint8Array(offset + value.length)
  bytes.set(value, offset)
  const codes = new Uint8Array(Math.ceil((bytes.length * 8) / 6))
  for (let at = 0; at < codes.length; at++) {
    const bit = at * 6
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0)
    codes[at] = base64Digits[(pair >> (10 - (bit & 7))) & 63] ?? 0
  }
  return ascii(codes)
}
