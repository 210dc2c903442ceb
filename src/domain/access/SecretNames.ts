/** Recognises secrets by the names of headers and members, and replaces their values. */
import { type Json, isList } from "../Json.js"
import { memoize } from "../RecentMap.js"

/** The same few names come with every request, input and step. */
const maxCachedNames = 1_000

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
export const isSecretHeader: (name: string) => boolean = memoize(
  (name) => credentialHeaders.has(name.toLowerCase()) || isSecretMember(name),
  maxCachedNames
)

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
export const isSecretMember: (name: string) => boolean = memoize((name) => {
  const lower = name.toLowerCase()
  const plain = lower.includes("-") || lower.includes("_") ? lower.replace(/[-_]/g, "") : lower
  return secretMembers.has(plain) || secretEnding.test(plain)
}, maxCachedNames)

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
