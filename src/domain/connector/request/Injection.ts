/**
 * Renders the parts of a request that have the credential, and injects them. Called only for an opened grant; mistakes
 * never have values of the credential. Contract: connector definition, `inject`.
 */
import { Either, Encoding, Redacted, Schema } from "effect"
import { type Json, type JsonObject, isObject } from "../../Json.js"
import { parseBounded } from "../../JsonText.js"
import type { AuthMethod, Injection } from "../AuthMethod.js"
import type { UnsignedRequest } from "./UnsignedRequest.js"
import { type CallMistake, encodeHeader, callMistake } from "./ValueEncoding.js"
import { asText, templatePaths, renderText, cachedTemplate } from "../../expression/Template.js"

/** One rendered part of a request. */
export const InjectedPart = Schema.Struct({
  in: Schema.Literal("header", "query", "body"),
  name: Schema.String,
  value: Schema.Redacted(Schema.String)
})
export type InjectedPart = typeof InjectedPart.Type

type Credential = { readonly [name: string]: string }

/**
 * The rendered parts of a method's `inject`. `credential.basic` is derived from user name and password. A part that reads
 * an absent optional field is left out; any other absent value is a mistake.
 */
export const injectedParts = (
  method: AuthMethod,
  credential: Credential,
  config: { readonly [name: string]: Json }
): Either.Either<ReadonlyArray<InjectedPart>, CallMistake> =>
  Either.gen(function* () {
    const members = method.type === "basic" ? { ...credential, basic: yield* encodeBasic(credential) } : credential
    const scope: JsonObject = { credential: members, connection: { config } }
    const parts: Array<InjectedPart> = []
    for (const injection of method.inject) {
      const missing = missingMember(injection, members)
      if (missing !== undefined && isOptionalField(method, missing)) continue
      if (missing !== undefined) return yield* callMistake(`credential.${missing}`, "is required and is absent")
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
 * The injected values that must be removed from answers. Fields that are not secret by the definition are excluded, unless
 * there are no others: some providers take an API key as the user name.
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

/** The request with the parts; values that the arguments put in the same places are replaced. */
export const injectParts = (
  request: UnsignedRequest,
  parts: ReadonlyArray<InjectedPart>
): Either.Either<UnsignedRequest, CallMistake> =>
  parts.reduce<Either.Either<UnsignedRequest, CallMistake>>(
    (before, part) => Either.flatMap(before, (injected) => injectPart(injected, part)),
    Either.right(request)
  )

/** The first member of the credential that a part reads and that is absent. */
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
  // RFC 7617: the user name ends at the first colon.
  if (username.includes(":")) return callMistake("credential.username", "has a colon, which a user name cannot hold")
  return username === "" && password === ""
    ? Either.right("")
    : Either.right(Encoding.encodeBase64(`${username}:${password}`))
}

// --- Injecting ---

const injectPart = (request: UnsignedRequest, part: InjectedPart): Either.Either<UnsignedRequest, CallMistake> => {
  const value = Redacted.value(part.value)
  switch (part.in) {
    case "header": {
      const name = part.name.toLowerCase()
      const sent = request.headers.find(([key]) => key === name)?.[1]
      const text = name === "cookie" && sent !== undefined ? withCookies(sent, value) : value
      return Either.right({ ...request, headers: [...request.headers.filter(([key]) => key !== name), [name, text]] })
    }
    case "query":
      return Either.map(withParameter(request.url, part.name, value), (url) => ({ ...request, url }))
    case "body":
      return Either.map(withMember(request, part.name, value), (body) => ({ ...request, body }))
  }
}

/** The cookies of a request with those of the credential, which replace others of the same names. */
const withCookies = (sent: string, injected: string): string => {
  const nameOf = (cookie: string) => splitOnce(cookie, "=")[0].trim()
  const names = new Set(injected.split(";").map(nameOf))
  const others = sent.split(";").filter((cookie) => cookie.trim() !== "" && !names.has(nameOf(cookie)))
  return [...others.map((cookie) => cookie.trim()), injected].join("; ")
}

/** Parameters of a query or form into which a credential is injected. */
const mostParameters = 10_000

const withParameter = (url: string, name: string, value: string): Either.Either<string, CallMistake> => {
  const [before = "", query = ""] = splitOnce(url, "?")
  const pairs = query.split("&", mostParameters + 1)
  if (pairs.length > mostParameters)
    return callMistake(`inject.${name}`, `cannot be injected into more than ${mostParameters} parameters`)
  const others = pairs.filter((pair) => pair !== "" && !isNamed(splitOnce(pair, "=")[0], name))
  return Either.right(`${before}?${[...others, `${encodeURIComponent(name)}=${encodeURIComponent(value)}`].join("&")}`)
}

/** The most characters that a character is encoded as. */
const escapeLength = 9

const isNamed = (encoded: string, name: string): boolean =>
  encoded.length <= escapeLength * name.length && decodeOrKeep(encoded) === name

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
  if (request.body instanceof Uint8Array) return callMistake(`inject.${name}`, "cannot be injected into a binary body")
  if (type.startsWith("application/x-www-form-urlencoded")) {
    return Either.map(withParameter(`?${request.body ?? ""}`, name, value), (form) => form.slice(1))
  }
  const body = request.body === null ? {} : jsonBody(request.body)
  if (body === undefined) return callMistake(`inject.${name}`, "can be injected into a JSON object or a form only")
  const text = typeof request.body === "string" ? request.body : "{}"
  return Object.hasOwn(body, name) ? replaceMember(text, body, name, value) : Either.right(addMember(text, name, value))
}

/** The text of an object with a further member, otherwise as it was written. */
const addMember = (text: string, name: string, value: string): string => {
  const members = text.slice(text.indexOf("{") + 1, text.lastIndexOf("}")).trim()
  return `{${members}${members === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(value)}}`
}

/** Characters of an object that is written anew, to replace a member. */
const rewrittenLength = 2 * 1024 * 1024

const replaceMember = (text: string, body: JsonObject, name: string, value: string) => {
  if (text.length > rewrittenLength)
    return callMistake(
      `inject.${name}`,
      "is a member of the body already, which is too large to replace it: leave it out"
    )
  // Defined, as an assignment to `__proto__` would be lost.
  return Either.right(JSON.stringify(Object.defineProperty({ ...body }, name, { value, enumerable: true })))
}

const jsonBody = (text: string): JsonObject | undefined => {
  const value = parseBounded(text)
  return isObject(value) ? value : undefined
}
