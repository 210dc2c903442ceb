/** Recognises secrets by the names of headers and members, and replaces their values. */
import { type Json, isList } from "./Json.js"

/** What stands in the place of a secret. */
export const redacted = "[redacted]"

/** Headers that have a credential. They are never recorded and never passed to a workflow. */
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

/** Whether the value of a header is secret, by its name. */
export const isSecretHeader = (name: string): boolean => {
  const cached = headerCache.get(name)
  if (cached !== undefined) return cached
  const secret = credentialHeaders.has(name.toLowerCase()) || isSecretMember(name)
  if (headerCache.size < maxCachedNames) headerCache.set(name, secret)
  return secret
}
/** Caches the decision, since the same few names come with every request. */
const headerCache = new Map<string, boolean>()
const maxCachedNames = 1000

/** Names of secrets, compared without case, `-` and `_`. */
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
/** Endings of longer names of secrets, such as `stripeApiKey` and `x-shop-access-token`. */
const secretEnding = /(?:password|secret|apikey|accesskey|accesstoken|refreshtoken|authtoken|privatekey)$/

/** Whether the value of a member is secret, by its name: `password`, `client_secret`, `x-shop-access-token` … */
export const isSecretMember = (name: string): boolean => {
  const cached = memberCache.get(name)
  if (cached !== undefined) return cached
  const lower = name.toLowerCase()
  const plain = lower.includes("-") || lower.includes("_") ? lower.replace(/[-_]/g, "") : lower
  const secret = secretMembers.has(plain) || secretEnding.test(plain)
  if (memberCache.size < maxCachedNames && name.length <= maxCachedLength) memberCache.set(name, secret)
  return secret
}
/** Caches the decision, since the same few names come with every input and step. */
const memberCache = new Map<string, boolean>()
const maxCachedLength = 64

/** The headers with secret values replaced. */
export const redactHeaders = <Value>(
  headers: Readonly<Record<string, Value>>
): Record<string, Value | typeof redacted> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, isSecretHeader(name) ? redacted : value]))

/** Replaces every member that is secret by its name, at any depth. Returns the same object if there is none. */
export const redactMembers = (value: Json): Json => (hasSecretMember(value) ? replaceSecretMembers(value) : value)

const hasSecretMember = (value: Json): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (isList(value)) return value.some(hasSecretMember)
  for (const name in value) if (isSecretMember(name) || hasSecretMember(value[name] ?? null)) return true
  return false
}

const replaceSecretMembers = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (isList(value)) return value.map(replaceSecretMembers)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSecretMember(name) ? redacted : replaceSecretMembers(member)
    ])
  )
}
