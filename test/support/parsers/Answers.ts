/** Parsers of what providers send. */
import { Schema } from "effect"
import { ActionDefinition } from "../../../src/domain/connector/Action.js"
import { actionResult } from "../../../src/domain/connector/ActionResult.js"
import { answerText, mediaType } from "../../../src/domain/connector/ProviderAnswer.js"
import { guest } from "../../../src/domain/Limits.js"
import { nextPageArgs } from "../../../src/domain/connector/Pagination.js"
import { buildMessage } from "../../../src/domain/connector/MailMessage.js"
import { readRateHeaders } from "../../../src/domain/connector/RateReading.js"
import { worstJsonBytes } from "./JsonTexts.js"
import { type Parser, parser, repeated } from "./Parser.js"

const MiB = 1024 * 1024

/** Bytes of the headers of an answer that the HTTP client accepts. */
const answerHeaderBytes = 16 * 1024

const bytes = (text: string) => new TextEncoder().encode(text)

const byLink = Schema.decodeUnknownSync(ActionDefinition)({
  id: "list",
  name: "list",
  request: { method: "GET", path: "/" },
  pagination: { type: "link" }
})

const answered = (body: Uint8Array, type = "application/json") => ({
  status: 200,
  headers: [["content-type", type] as const],
  body
})

export const answerParsers: ReadonlyArray<Parser> = [
  parser(
    ["src/domain/connector/ProviderAnswer.ts#answerJson", "src/domain/connector/ActionResult.ts#readJsonBody"],
    guest.fetchBytes,
    (body: Uint8Array) => actionResult({}, byLink, answered(body), 0, () => undefined),
    worstJsonBytes
  ),
  parser(
    "src/domain/connector/ProviderAnswer.ts#answerText",
    guest.fetchBytes,
    ({ body, type }: { readonly body: Uint8Array; readonly type: string }) => answerText(answered(body, type)),
    Object.fromEntries(
      ["utf-8", "utf-16le", "gb18030", "iso-2022-jp", "shift_jis", "windows-1252", "big5", "unknown"].map((charset) => [
        charset,
        (size: number) => ({ body: new Uint8Array(size).fill(0xc3), type: `text/plain; charset=${charset}` })
      ])
    )
  ),
  parser(
    ["src/domain/connector/ProviderAnswer.ts#mediaType", "src/domain/connector/ProviderAnswer.ts#answerText"],
    answerHeaderBytes,
    (type: string) => [mediaType(answered(bytes("a"), type)), answerText(answered(bytes("a"), type))],
    {
      semicolons: repeated(";"),
      "spaces after charset": (size) => `charset${" ".repeat(size)}`,
      "charset many times": repeated("charset")
    }
  ),
  parser(
    "src/domain/connector/Pagination.ts#linkWithRelation",
    answerHeaderBytes,
    (link: string) => nextPageArgs(byLink, {}, { status: 200, headers: [["link", link]], body: bytes("[]") }),
    {
      "open brackets": repeated("<"),
      "links without a relation": repeated("<a>;"),
      "relations with spaces": repeated("<a>;rel= "),
      "one long relation": (size) => `<a>; rel="${" ".repeat(size)}"`
    }
  ),
  parser(
    "src/domain/connector/RateReading.ts#readRateHeaders",
    answerHeaderBytes,
    (text: string) => readRateHeaders({}, [["retry-after", text]], 0),
    {
      "spaces before a letter": (size) => `1${" ".repeat(size)}x`,
      digits: (size) => `${"1".repeat(size)}x`,
      "a long date": repeated("1 Jan ")
    }
  ),
  parser(
    "src/domain/connector/MailMessage.ts#parseAddress",
    MiB,
    (from: string) => buildMessage({ from, to: "ada@example.com" }, "key", 0),
    {
      spaces: repeated(" "),
      "spaces before an address": (size) => `a${" ".repeat(size)}b`,
      "open brackets": repeated("<"),
      quotes: repeated('"')
    }
  )
]
