/**
 * Builds the envelope and message (RFC 5322, MIME) of the transport smtp from the body of an action's request. Pure.
 * Headers cannot have line breaks, and addresses nothing but an address. All attempts of a call have the same content and
 * Message-ID, so that receivers recognise repetitions.
 */
import { Either, Encoding } from "effect"
import { type Json, type JsonObject, isList, isObject } from "../../Json.js"
import { type CallMistake, callMistake } from "./ValueEncoding.js"
import { asText } from "../../expression/Template.js"
import { mail } from "../../Limits.js"

/** A message with its envelope. */
export interface MailMessage {
  /** The envelope's sender: an address without a name. */
  readonly from: string
  /** The envelope's recipients, including blind copies, without duplicates. */
  readonly recipients: ReadonlyArray<string>
  readonly messageId: string
  /** ASCII in lines of at most 998 characters that end in CRLF. The transport doubles dots at the start of a line. */
  readonly content: string
}

/** The message of one call. `now`: the time of the first attempt, in Unix milliseconds. */
export const buildMessage = (
  body: Json,
  idempotencyKey: string,
  now: number
): Either.Either<MailMessage, CallMistake> =>
  Either.gen(function* () {
    if (!isObject(body)) return yield* callMistake("args", "must be an object")
    const from = yield* address(body["from"] ?? null, "args.from")
    const [to, cc, bcc] = yield* Either.all([
      addresses(body["to"], "args.to"),
      addresses(body["cc"], "args.cc"),
      addresses(body["bcc"], "args.bcc")
    ])
    const replyTo = yield* addresses(body["replyTo"], "args.replyTo")
    const recipients = [...new Set([...to, ...cc, ...bcc].map((one) => one.address))]
    if (recipients.length === 0) return yield* callMistake("args.to", "names no recipient")
    if (recipients.length > mail.recipients)
      return yield* callMistake("args.to", `names more than ${mail.recipients} recipients`)
    const subject = yield* headerLine(body["subject"] ?? "", "args.subject")
    const extra = yield* extraHeaders(body["headers"] ?? {})
    const key = idempotencyKey.replace(/[^A-Za-z0-9]/g, "").slice(0, 64)
    const messageId = `<${key}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`
    const headers: ReadonlyArray<readonly [string, string]> = [
      ["From", formatAddress(from)],
      ...addressHeader("To", to),
      ...addressHeader("Cc", cc),
      ...addressHeader("Reply-To", replyTo),
      ["Subject", encodedWords(subject)],
      ["Date", new Date(now).toUTCString().replace("GMT", "+0000")],
      ["Message-ID", messageId],
      ["MIME-Version", "1.0"],
      ...extra
    ]
    const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")
    return { from: from.address, recipients, messageId, content: `${head}${yield* contentOf(body, key)}` }
  })

// --- Addresses ---

interface Address {
  readonly name: string
  readonly address: string
}

/** Printable ASCII without address separators; a domain of letters, digits, dots and hyphens. */
const addressPattern = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

/** `ada@example.com`, `Ada Byron <ada@example.com>` or `{name, address}`. */
const address = (value: Json, path: string): Either.Either<Address, CallMistake> => {
  const parts = isObject(value)
    ? { name: asText(value["name"] ?? ""), address: asText(value["address"] ?? "") }
    : parseAddress(asText(value))
  if (!addressPattern.test(parts.address) || parts.address.includes(".."))
    return callMistake(path, "is not an e-mail address")
  return Either.map(headerLine(parts.name, path), (name) => ({ name, address: parts.address }))
}

const parseAddress = (text: string): Address => {
  const trimmed = text.trim()
  const open = trimmed.lastIndexOf("<")
  const bare = { name: "", address: trimmed }
  if (open < 0 || trimmed.indexOf(">", open) !== trimmed.length - 1) return bare
  const name = trimmed.slice(0, open).trim()
  const quoted = /^"([^"]*)"$/.exec(name)
  if (quoted === null && /[<>"]/.test(name)) return bare
  return { name: quoted?.[1] ?? name, address: trimmed.slice(open + 1, -1).trim() }
}

/** One address or a list of them. */
const addresses = (value: Json | undefined, path: string): Either.Either<ReadonlyArray<Address>, CallMistake> => {
  if (value === undefined || value === null) return Either.right([])
  const items = isList(value) ? value : [value]
  return Either.all(items.map((item, at) => address(item, isList(value) ? `${path}[${at}]` : path)))
}

const formatAddress = ({ address, name }: Address): string => {
  if (name === "") return address
  const quoted = /^[\x20-\x7e]*$/.test(name) ? `"${name.replace(/["\\]/g, "\\$&")}"` : encodedWords(name)
  return `${quoted} <${address}>`
}

const addressHeader = (name: string, all: ReadonlyArray<Address>): ReadonlyArray<readonly [string, string]> =>
  all.length === 0 ? [] : [[name, all.map(formatAddress).join(",\r\n ")]]

// --- Headers ---

/** A text that fits on one header line. */
const headerLine = (value: Json, path: string): Either.Either<string, CallMistake> => {
  const text = asText(value)
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) {
    return callMistake(path, "has characters that a header cannot hold")
  }
  return text.length > 900 ? callMistake(path, "is longer than 900 characters") : Either.right(text)
}

/** Headers that the message sets itself, and those that mail servers set. */
const reservedHeaders =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*|received|return-path|dkim-signature|resent-.*)$/i

const extraHeaders = (value: Json): Either.Either<ReadonlyArray<readonly [string, string]>, CallMistake> => {
  if (!isObject(value)) return callMistake("args.headers", "must be an object")
  return Either.all(
    Object.entries(value).map(([name, text]) => {
      const path = `args.headers.${name}`
      if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name)) return callMistake(path, "is not a header name")
      if (reservedHeaders.test(name)) return callMistake(path, "is set by the service and cannot be sent")
      return Either.map(headerLine(text, path), (clean): readonly [string, string] => [name, encodedWords(clean)])
    })
  )
}

/**
 * Encodes text that is not plain ASCII by RFC 2047, in words of at most 75 characters on separate lines; also text that a
 * reader would take for such a word.
 */
const encodedWords = (text: string): string => {
  if (/^[\x20-\x7e]*$/.test(text) && !text.includes("=?") && text.length <= 200) return text
  const words: Array<string> = []
  let word = ""
  for (const letter of text) {
    if (utf8.encode(word + letter).length > 42) {
      words.push(word)
      word = ""
    }
    word += letter
  }
  return [...words, word].map((part) => `=?UTF-8?B?${Encoding.encodeBase64(part)}?=`).join("\r\n ")
}

const utf8 = new TextEncoder()

// --- Content ---

const contentOf = (body: JsonObject, key: string): Either.Either<string, CallMistake> =>
  Either.gen(function* () {
    const texts = [
      ...(body["text"] === undefined || body["text"] === null ? [] : [textPart("plain", asText(body["text"]))]),
      ...(body["html"] === undefined || body["html"] === null ? [] : [textPart("html", asText(body["html"]))])
    ]
    const [first = textPart("plain", ""), second] = texts
    const textual = second === undefined ? first : multipart("alternative", [first, second], `${key}a`)
    const files = body["attachments"] ?? []
    if (!isList(files)) return yield* callMistake("args.attachments", "must be a list")
    const attachments = yield* Either.all(files.map((file, at) => filePart(file, `args.attachments[${at}]`)))
    return attachments.length === 0 ? textual : multipart("mixed", [textual, ...attachments], `${key}m`)
  })

const textPart = (type: string, text: string): string =>
  `Content-Type: text/${type}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${wrapLines(
    Encoding.encodeBase64(text.toWellFormed().replace(/\r\n|\r|\n/g, "\r\n"))
  )}`

/** The part of an attachment `{filename, contentType?, base64}`. */
const filePart = (file: Json, path: string): Either.Either<string, CallMistake> =>
  Either.gen(function* () {
    if (!isObject(file)) return yield* callMistake(path, "must be an object")
    const name = yield* headerLine(file["filename"] ?? "attachment", `${path}.filename`)
    const type = asText(file["contentType"] ?? "application/octet-stream")
    if (!/^[A-Za-z0-9!#$&^_.+-]{1,100}\/[A-Za-z0-9!#$&^_.+-]{1,100}$/.test(type)) {
      return yield* callMistake(`${path}.contentType`, "is not a media type")
    }
    const bytes = yield* Either.mapLeft(Encoding.decodeBase64(asText(file["base64"] ?? "")), () =>
      Either.merge(Either.flip(callMistake(`${path}.base64`, "is not base64")))
    )
    const disposition = `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, percentEncode)}`
    return `Content-Type: ${type}\r\nContent-Disposition: ${disposition}\r\nContent-Transfer-Encoding: base64\r\n\r\n${wrapLines(
      Encoding.encodeBase64(bytes)
    )}`
  })

const percentEncode = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`

/** A multipart body. Base64 has no line with two hyphens at its start, so no part can have the boundary. */
const multipart = (kind: string, parts: ReadonlyArray<string>, boundary: string): string =>
  `Content-Type: multipart/${kind}; boundary="=_${boundary}"\r\n\r\n${parts
    .map((part) => `--=_${boundary}\r\n${part}`)
    .join("")}--=_${boundary}--\r\n`

/** Wraps text in lines of 76 characters; the last line also ends in CRLF. */
const wrapLines = (text: string): string => (text.match(/.{1,76}/g) ?? [""]).map((part) => `${part}\r\n`).join("")
