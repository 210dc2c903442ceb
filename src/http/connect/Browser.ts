/**
 * Binds a sign-in to the browser in which it began: the redirect to the provider sets a cookie that only the service can
 * make for this state, and the callback takes the state from a browser that has it.
 */
import type { RequestHead } from "../Wire.js"
import { commonCallbackPath } from "../../domain/connection/Callback.js"
import { Duration } from "effect"
import { connectSessionLifetime } from "../../domain/Limits.js"

const nameLength = 16

/** `mark`: a one-way function under a secret of the service, so that no page elsewhere can make the value. */
type Mark = (text: string) => string

/** One cookie per sign-in: a person may have several under way. */
const cookieOf = (mark: Mark, state: string): { readonly name: string; readonly value: string } => ({
  name: `svc_connect_${letters(mark(`connect-cookie|${state}`)).slice(0, nameLength)}`,
  value: letters(mark(`connect-browser|${state}`))
})

const letters = (text: string) => text.replace(/[^A-Za-z0-9]/g, "")

const attributes = (origin: string, maxAge: number) =>
  `Path=${commonCallbackPath}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${origin.startsWith("https:") ? "; Secure" : ""}`

/** `Set-Cookie` of the redirect to the provider. */
export const boundCookie = (mark: Mark, origin: string, state: string): string => {
  const { name, value } = cookieOf(mark, state)
  return `${name}=${value}; ${attributes(origin, Duration.toSeconds(connectSessionLifetime))}`
}

/** `Set-Cookie` of the callback's answer. */
export const endedCookie = (mark: Mark, origin: string, state: string): string =>
  `${cookieOf(mark, state).name}=; ${attributes(origin, 0)}`

/** Whether the request comes from the browser that was sent to the provider with this state. */
export const isSameBrowser = (mark: Mark, { headers }: Pick<RequestHead, "headers">, state: string): boolean => {
  const { name, value } = cookieOf(mark, state)
  return (headers["cookie"] ?? "").split(";").some((pair) => pair.trim() === `${name}=${value}`)
}
