/** A provider's answer or failure, and readers of its headers and body. Pure. */
import { findUnstorable, type Json, type Unstorable } from "../../Json.js"
import { findProblem, locatedLength } from "../../JsonText.js"

/** Headers in the order in which they were received. */
export type ProviderHeaders = ReadonlyArray<readonly [name: string, value: string]>

/** An answer without its body. */
export interface ProviderHead {
  readonly status: number
  readonly headers: ProviderHeaders
}

/** An answer with its whole body. */
export interface ProviderAnswer extends ProviderHead {
  readonly body: Uint8Array
}

/** A failed call of a provider. */
export interface ProviderFailure {
  /** `transient`: a retry may succeed. `auth`: the credential was refused. `provider`: the request was refused. */
  readonly category: "transient" | "provider" | "auth" | "timeout"
  /** Null: no answer. */
  readonly status: number | null
  /** The provider's own message, if it sent one. */
  readonly message: string
  readonly code: string | null
  /** By the definition neither a retry nor another credential can succeed. */
  readonly isFinal?: boolean
  /** The body of the answer, shortened. */
  readonly body: Json
  readonly retryAfterMillis: number | null
}

/** The first header with this name, ignoring case. */
export const headerOf = (headers: ProviderHeaders, name: string): string | undefined => {
  const lowerName = name.toLowerCase()
  return headers.find(([key]) => key.toLowerCase() === lowerName)?.[1]
}

/** Headers with one value by their definition: a line that repeats one is a mistake, and would make a list no value at all. */
const singleHeaders =
  /^(?:age|content-(?:disposition|length|location|md5|range|type)|date|etag|expires|last-modified|location|retry-after)$/

/** The value of a header, ignoring case: its lines are one list, joined by `, ` (RFC 9110, 5.3). `undefined`: no such line. */
export const headerListOf = (headers: ProviderHeaders, name: string): string | undefined => {
  const lowerName = name.toLowerCase()
  if (singleHeaders.test(lowerName)) return headerOf(headers, lowerName)
  const lines = headers.filter(([key]) => key.toLowerCase() === lowerName)
  return lines.length === 0 ? undefined : lines.map(([, value]) => value).join(", ")
}

/** All headers by their names in lower case, each as `headerListOf` reads it. */
export const headerLists = (headers: ProviderHeaders): { readonly [name: string]: string } => {
  const lines = new Map<string, Array<string>>()
  for (const [name, value] of headers) {
    const lowerName = name.toLowerCase()
    const before = lines.get(lowerName)
    if (before === undefined) lines.set(lowerName, [value])
    else if (!singleHeaders.test(lowerName)) before.push(value)
  }
  return Object.fromEntries([...lines].map(([name, values]) => [name, values.join(", ")]))
}

/** The body as JSON, ignoring its content type; `undefined` if it is not JSON or has too many values. */
export const answerJson = (answer: ProviderAnswer): Json | undefined => readAnswerJson(answer)?.value

/** Like `answerJson`, with what of the value cannot be stored. */
export const readAnswerJson = (
  answer: ProviderAnswer
): { readonly value: Json; readonly problem: Unstorable | undefined } | undefined => {
  const text = answerText(answer).trim()
  const problem = text === "" ? "tooHeavy" : findProblem(text)
  if (problem === "tooHeavy") return undefined
  try {
    const value: Json = JSON.parse(text)
    return { value, problem: problem === undefined ? undefined : locate(text, value, problem) }
  } catch {
    return undefined
  }
}

/** Where the problem is, if the text is short enough to walk through its value. */
const locate = (text: string, value: Json, reason: Unstorable["reason"]): Unstorable =>
  (text.length <= locatedLength ? findUnstorable(value) : undefined) ?? { path: "", reason }

/** The content type without parameters; empty if absent. */
export const mediaType = (answer: ProviderAnswer): string =>
  (headerOf(answer.headers, "content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

/** The body as text, in the declared character set. */
export const answerText = (answer: ProviderAnswer): string => {
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
