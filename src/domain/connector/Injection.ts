/**
 * Where a credential goes: the parts of a request that it becomes. Only what opens a grant calls these; the credential
 * appears in no mistake. Contract: connector definition, `inject`.
 */
import { Either, Encoding, Redacted } from "effect"
import type { Json, JsonObject } from "../Json.js"
import type { AuthMethod, Injection } from "./AuthMethod.js"
import type { UnsignedRequest } from "./UnsignedRequest.js"
import { type CallMistake, encodeHeader, isObject, callMistake } from "./ValueEncoding.js"
import { asText, templatePaths, renderText, cachedTemplate } from "./Template.js"

/** One part, filled in. */
export interface InjectedPart {
  readonly in: "header" | "query" | "body"
  readonly name: string
  readonly value: Redacted.Redacted
}

type Credential = { readonly [name: string]: string }

/**
 * The parts that a method's credential becomes. `credential.basic` is derived from user name and password. A part whose
 * only values are fields that may be absent, and are, is left out; an absent value otherwise is a mistake.
 */
export const injectedParts = (
  method: AuthMethod,
  credential: Credential,
  config: { readonly [name: string]: Json }
): Either.Either<ReadonlyArray<InjectedPart>, CallMistake> =>
  Either.gen(function* () {
    const known = method.type === "basic" ? { ...credential, basic: yield* encodeBasic(credential) } : credential
    const scope: JsonObject = { credential: known, connection: { config } }
    const parts: Array<InjectedPart> = []
    for (const injection of method.inject) {
      const lacking = missingMember(injection, known)
      if (lacking !== undefined && isOptionalField(method, lacking)) continue
      if (lacking !== undefined) return yield* callMistake(`credential.${lacking}`, "is needed and is not there")
      const value = renderText(injection.value, scope, asText)
      const name = renderText(injection.name, { connection: { config } }, asText)
      if (name === "") return yield* callMistake(`inject.${injection.name}`, "has no name")
      if (injection.in === "header") yield* encodeHeader(name, value, `inject.${injection.name}`)
      if (!value.isWellFormed()) return yield* callMistake(`inject.${injection.name}`, "is not valid Unicode")
      parts.push({ in: injection.in, name, value: Redacted.make(value) })
    }
    return parts
  })

/**
 * The values of a credential that go into requests and that nobody may see come back. A field that the definition does
 * not call secret is none, unless it is all that there is: a key entered as the user name.
 */
export const injectedSecrets = (method: AuthMethod, credential: Credential): ReadonlyArray<Redacted.Redacted> => {
  const joined = method.type === "basic" ? Either.getOrElse(encodeBasic(credential), () => "") : ""
  const read = new Set(
    method.inject.flatMap(({ value }) =>
      templatePaths(cachedTemplate(value)).flatMap(([root, name]) => (root === "credential" ? [String(name)] : []))
    )
  )
  const both = joined !== "" && read.has("basic")
  if (both) read.add("username").add("password")
  const values = [...read].flatMap((name) => {
    const value = Object.hasOwn(credential, name) ? credential[name] : undefined
    return value === undefined || value === "" ? [] : [{ value, open: isOpen(method, name) }]
  })
  const closed = values.filter(({ open }) => !open)
  const secret = (closed.length > 0 ? closed : values).map(({ value }) => value)
  return [...secret, ...(both ? [joined] : [])].map((value) => Redacted.make(value))
}

/** The request with the credential in it. What the arguments put in the same places is replaced. */
export const injectParts = (
  request: UnsignedRequest,
  parts: ReadonlyArray<InjectedPart>
): Either.Either<UnsignedRequest, CallMistake> =>
  parts.reduce<Either.Either<UnsignedRequest, CallMistake>>(
    (done, part) => Either.flatMap(done, (so) => injectPart(so, part)),
    Either.right(request)
  )

/** The credential's members that a value reads and that are not there. */
const missingMember = ({ value }: Injection, credential: Credential): string | undefined => {
  for (const [root, name] of templatePaths(cachedTemplate(value))) {
    if (root === "credential" && !(Object.hasOwn(credential, String(name)) && credential[String(name)] !== "")) {
      return String(name)
    }
  }
  return undefined
}

const isOptionalField = (method: AuthMethod, name: string): boolean =>
  "fields" in method && method.fields.some((field) => field.name === name && !field.required)

const isOpen = (method: AuthMethod, name: string): boolean =>
  "fields" in method && method.fields.some((field) => field.name === name && !field.secret)

const encodeBasic = (credential: Credential): Either.Either<string, CallMistake> => {
  const { password = "", username = "" } = credential
  // RFC 7617: what stands before the first colon is the user name.
  if (username.includes(":")) return callMistake("credential.username", "has a colon, which a user name cannot hold")
  return username === "" && password === ""
    ? Either.right("")
    : Either.right(Encoding.encodeBase64(`${username}:${password}`))
}

// --- Placing ---

const injectPart = (request: UnsignedRequest, part: InjectedPart): Either.Either<UnsignedRequest, CallMistake> => {
  const value = Redacted.value(part.value)
  switch (part.in) {
    case "header": {
      const name = part.name.toLowerCase()
      return Either.right({ ...request, headers: [...request.headers.filter(([key]) => key !== name), [name, value]] })
    }
    case "query":
      return Either.right({ ...request, url: withParameter(request.url, part.name, value) })
    case "body":
      return Either.map(withMember(request, part.name, value), (body) => ({ ...request, body }))
  }
}

const withParameter = (url: string, name: string, value: string): string => {
  const [before = "", query = ""] = splitOnce(url, "?")
  const encoded = encodeURIComponent(name)
  const others = query.split("&").filter((pair) => pair !== "" && decodeOrKeep(pair.split("=")[0] ?? "") !== name)
  return `${before}?${[...others, `${encoded}=${encodeURIComponent(value)}`].join("&")}`
}

const splitOnce = (text: string, at: string): readonly [string, string] => {
  const index = text.indexOf(at)
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)]
}

const decodeOrKeep = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return text
  }
}

const withMember = (request: UnsignedRequest, name: string, value: string): Either.Either<string, CallMistake> => {
  const type = request.headers.find(([key]) => key === "content-type")?.[1] ?? "application/json"
  if (request.body instanceof Uint8Array) return callMistake(`inject.${name}`, "cannot stand in a body of bytes")
  if (type.startsWith("application/x-www-form-urlencoded")) {
    return Either.right(withParameter(`?${request.body ?? ""}`, name, value).slice(1))
  }
  const body = request.body === null ? {} : jsonBody(request.body)
  return body === undefined
    ? callMistake(`inject.${name}`, "can stand in a JSON object or a form only")
    : Either.right(JSON.stringify(Object.fromEntries([...Object.entries(body), [name, value]])))
}

const jsonBody = (text: string): JsonObject | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
