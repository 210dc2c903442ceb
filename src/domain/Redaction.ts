/** Keeps secrets out of whatever is recorded, logged or shown. Specification: secrets never appear in records. */
import { Encoding } from "effect"
import { isObject, type Json } from "./Json.js"

export const redacted = "[redacted]"

/** Headers that carry a credential; never recorded, and never given to a workflow. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-svc-api-key", "x-svc-access-key",
  "x-identity-hmac"
])

/** Replaces the secrets in use by one run, in whatever form they turn up. */
export interface Scrubber {
  readonly json: (value: Json) => Json
  readonly text: (value: string) => string
}

/** Shorter values are no secrets, and would be found in everything. */
const shortest = 4

/** The forms in which a secret leaves a program: as it is, in base64 (both alphabets), URL-encoded, inside JSON. */
const forms = (secret: string): ReadonlyArray<string> => {
  const plain = secret.toWellFormed()
  const base64 = Encoding.encodeBase64(plain)
  const all = [
    plain, base64.replace(/=+$/, ""), Encoding.encodeBase64Url(plain), encodeURIComponent(plain),
    new URLSearchParams({ s: plain }).toString().slice(2), JSON.stringify(plain).slice(1, -1)
  ]
  return [...new Set(all)].filter((form) => form.length >= shortest)
}

const identity: Scrubber = { json: (value) => value, text: (value) => value }

/** A scrubber of the given secrets; with none it does nothing, at no cost. */
export const makeScrubber = (secrets: Iterable<string>): Scrubber => {
  const found = [...secrets].filter((secret) => secret.length >= shortest).flatMap(forms)
  if (found.length === 0) return identity
  // The longest first, so that a secret that contains another goes as a whole.
  const pattern = new RegExp(
    found.sort((a, b) => b.length - a.length).map((form) => form.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|"), "g"
  )
  const text = (value: string): string => value.replace(pattern, redacted)
  const json = (value: Json): Json => {
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) return value.map(json)
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [
      text(key),
      credentialHeaders.has(key.toLowerCase()) && typeof member === "string" ? redacted : json(member)
    ]))
  }
  return { json, text }
}
