/** What a provider sent back, and the ways to read it. Pure. */
import type { Json } from "../Json.js"
import { exceededBound, type JsonBounds } from "../JsonText.js"
import { jsonWeight } from "../Limits.js"

/** How deep it nests is judged where it is read, with its place. */
const answerBounds: JsonBounds = { depth: Number.MAX_SAFE_INTEGER, weight: jsonWeight }

export type ProviderHeaders = ReadonlyArray<readonly [name: string, value: string]>

export interface ProviderHead {
  readonly status: number
  readonly headers: ProviderHeaders
}

export interface ProviderAnswer extends ProviderHead {
  readonly body: Uint8Array
}

export interface ProviderFailure {
  /** `transient`: a later try may succeed. `auth`: the credential was refused. `provider`: it said no. */
  readonly category: "transient" | "provider" | "auth" | "timeout"
  /** Null: nobody answered. */
  readonly status: number | null
  /** In the provider's words where it had some. */
  readonly message: string
  readonly code: string | null
  /** The definition says that no later try, and no other credential, will do better. */
  readonly isFinal?: boolean
  /** What it answered, cut where it is long. */
  readonly body: Json
  readonly retryAfterMillis: number | null
}

/** The first header of that name, in any case. */
export const headerOf = (headers: ProviderHeaders, name: string): string | undefined => {
  const wanted = name.toLowerCase()
  return headers.find(([key]) => key.toLowerCase() === wanted)?.[1]
}

/** The body as JSON, whatever type it declares; `undefined` where it is none, or one beyond what may be held. */
export const jsonOf = (answer: ProviderAnswer): Json | undefined => {
  const text = textOf(answer).trim()
  if (text === "" || exceededBound(text, answerBounds) !== undefined) return undefined
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** The content type without its parameters; empty where there is none. */
export const mediaType = (answer: ProviderAnswer): string =>
  (headerOf(answer.headers, "content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

/** The body as text, in the character set that it declares. */
export const textOf = (answer: ProviderAnswer): string => {
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(headerOf(answer.headers, "content-type") ?? "")?.[1]
  return decoderOf(charset).decode(answer.body)
}

const decoderOf = (charset: string | undefined) => {
  try {
    return new TextDecoder(charset ?? "utf-8")
  } catch {
    return new TextDecoder()
  }
}
