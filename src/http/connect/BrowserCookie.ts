/**
 * Binds a sign-in to the browser that began it: the redirect to the provider sets a cookie derived from the state by a
 * keyed hash, and the callback accepts the state only with that cookie. Prevents login CSRF.
 */
import type { RequestHead } from "../Wire.js"
import { commonCallbackPath } from "../../domain/connection/Callback.js"
import { Duration } from "effect"
import { connectSessionLifetime } from "../../domain/Limits.js"

const nameLength = 16

/** A one-way function under a secret of the service, so that other sites cannot compute the cookie. */
type KeyedHash = (text: string) => string

/** One cookie for each sign-in, since a browser may have several in progress. */
const cookieOf = (hash: KeyedHash, state: string): { readonly name: string; readonly value: string } => ({
  name: `svc_connect_${letters(hash(`connect-cookie|${state}`)).slice(0, nameLength)}`,
  value: letters(hash(`connect-browser|${state}`))
})

const letters = (text: string) => text.replace(/[^A-Za-z0-9]/g, "")

const attributes = (origin: string, maxAge: number) =>
  `Path=${commonCallbackPath}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${origin.startsWith("https:") ? "; Secure" : ""}`

/** `Set-Cookie` of the redirect to the provider. */
export const startCookie = (hash: KeyedHash, origin: string, state: string): string => {
  const { name, value } = cookieOf(hash, state)
  return `${name}=${value}; ${attributes(origin, Duration.toSeconds(connectSessionLifetime))}`
}

/** `Set-Cookie` of the callback's reply: removes the cookie. */
export const clearingCookie = (hash: KeyedHash, origin: string, state: string): string =>
  `${cookieOf(hash, state).name}=; ${attributes(origin, 0)}`

/** Whether the request has the cookie of this state. */
export const isSameBrowser = (hash: KeyedHash, { headers }: Pick<RequestHead, "headers">, state: string): boolean => {
  const { name, value } = cookieOf(hash, state)
  return (headers["cookie"] ?? "").split(";").some((pair) => pair.trim() === `${name}=${value}`)
}
