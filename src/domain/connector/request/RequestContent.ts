/** Encodes the body of a request as the action's `bodyType` says. Pure. */
import { Either, Encoding } from "effect"
import { type Json, type JsonObject, isList, isObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import { CallMistake, isHeaderText, callMistake, encodeQueryPairs } from "./ValueEncoding.js"
import { cachedPath, valueAt } from "../../expression/Path.js"
import { asText, renderAll, renderBody } from "../../expression/Template.js"
import { Overlay } from "../../mapping/Overlay.js"

/** An encoded body with its content type. */
export interface Content {
  /** Null without a body. */
  readonly type: string | null
  readonly body: string | Uint8Array | null
}

/** The body of one call. */
export const contentOf = (action: ActionDefinition, scope: JsonObject): Either.Either<Content, CallMistake> => {
  const { request } = action
  const rendered = request.keepNulls ? renderAll(request.body, scope) : renderBody(request.body, scope)
  const raised = (request.increments ?? []).reduce(raiseNumber, rendered)
  const value = request.joinLists === true ? joinLists(raised) : raised
  if (value === null) return Either.right({ type: null, body: null })
  const type = request.contentType
  switch (request.bodyType) {
    case "json":
      return Either.right({ type: type ?? "application/json", body: JSON.stringify(value) })
    case "form":
      return Either.map(formOf(value, request), (body) => ({
        type: type ?? "application/x-www-form-urlencoded",
        body
      }))
    case "text":
      return Either.right({ type: type ?? "text/plain; charset=utf-8", body: asText(value) })
    case "base64":
      return Either.map(bytesOf(value), (body) => ({ type: type ?? "application/octet-stream", body }))
    case "multipart":
      return multipart(value, asText(scope["idempotencyKey"] ?? ""))
  }
}

/** The value with the number at a path raised by one, if there is one. */
const raiseNumber = (value: Json, path: string): Json => {
  const found = valueAt(value, path)
  if (typeof found !== "number") return value
  const overlay = new Overlay(value)
  const parsed = cachedPath(path)
  if (!("mistake" in parsed)) overlay.set(parsed.value, found + 1)
  return overlay.value
}

/** The value with the items of lists in lists in their places, and without items that are null. */
const joinLists = (value: Json): Json => {
  if (isList(value))
    return value.flatMap((item) => (item === null ? [] : isList(item) ? item.map(joinLists) : [joinLists(item)]))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, joinLists(member)]))
    : value
}

const formOf = (
  value: Json,
  { formStyle, formStyles = {} }: Pick<ActionDefinition["request"], "formStyle" | "formStyles">
): Either.Either<string, CallMistake> => {
  const styleOf = (name: string) => (Object.hasOwn(formStyles, name) ? formStyles[name] : undefined) ?? formStyle
  if (typeof value === "string") return Either.right(value)
  if (!isObject(value)) return callMistake("request.body", "must be an object to be sent as a form")
  return Either.map(
    Either.all(
      Object.entries(value).map(([name, member]) => encodeQueryPairs(name, member, styleOf(name), `body.${name}`))
    ),
    (pairs) => pairs.flat().join("&")
  )
}

const bytesOf = (value: Json): Either.Either<Uint8Array, CallMistake> =>
  typeof value === "string"
    ? Either.mapLeft(
        Encoding.decodeBase64(value),
        () => new CallMistake({ path: "request.body", message: "is not base64" })
      )
    : callMistake("request.body", "must be a string in base64")

// --- multipart/form-data ---

/** A member `{base64 | text, filename?, contentType?}` is a file, any other a field. */
const multipart = (value: Json, key: string): Either.Either<Content, CallMistake> => {
  if (!isObject(value)) return callMistake("request.body", "must be an object to be sent as multipart/form-data")
  return Either.gen(function* () {
    const parts: Array<{ readonly head: string; readonly content: Uint8Array }> = []
    for (const [name, member] of Object.entries(value)) {
      for (const item of Array.isArray(member) ? member : [member]) parts.push(yield* partOf(name, item))
    }
    const boundary = boundaryFor(key, parts)
    const chunks = parts.flatMap(({ content, head }) => [
      utf8.encode(`--${boundary}\r\n${head}\r\n\r\n`),
      content,
      utf8.encode("\r\n")
    ])
    return {
      type: `multipart/form-data; boundary=${boundary}`,
      body: concatBytes([...chunks, utf8.encode(`--${boundary}--\r\n`)])
    }
  })
}

const utf8 = new TextEncoder()

const partOf = (name: string, value: Json) =>
  Either.gen(function* () {
    const disposition = `Content-Disposition: form-data; name="${escapePartName(name)}"`
    if (!isObject(value) || !("base64" in value || "text" in value)) {
      return { head: disposition, content: utf8.encode(asText(value)) }
    }
    const type = asText(value["contentType"] ?? "application/octet-stream")
    if (!isHeaderText(type))
      return yield* callMistake(`body.${name}.contentType`, "has characters that a header cannot hold")
    const content = "base64" in value ? yield* bytesOf(value["base64"] ?? "") : utf8.encode(asText(value["text"] ?? ""))
    const filename = escapePartName(asText(value["filename"] ?? name))
    return { head: `${disposition}; filename="${filename}"\r\nContent-Type: ${type}`, content }
  })

/** Escapes a name in a part's header as browsers do. */
const escapePartName = (text: string) =>
  text.toWellFormed().replace(/\r/g, "%0D").replace(/\n/g, "%0A").replace(/"/g, "%22").replaceAll("\u0000", "%00")

/** A boundary that is the same for every attempt of a call and does not occur in any part. */
const boundaryFor = (key: string, parts: ReadonlyArray<{ readonly content: Uint8Array }>): string => {
  const texts = parts.map(({ content }) => new TextDecoder("latin1").decode(content))
  let boundary = `svc-${key.replace(/[^A-Za-z0-9]/g, "").slice(0, 40)}`
  while (texts.some((text) => text.includes(boundary))) boundary += "x"
  return boundary
}

/** Concatenates the chunks. */
export const concatBytes = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
