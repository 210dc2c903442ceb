/** Parsers of what providers send. */
import { Schema } from "effect"
import { ActionDefinition } from "../../../src/domain/connector/Action.js"
import { nextPageArgs } from "../../../src/domain/connector/Pagination.js"
import { buildMessage } from "../../../src/domain/connector/MailMessage.js"
import { readRateHeaders } from "../../../src/domain/connector/RateReading.js"
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

export const answerParsers: ReadonlyArray<Parser> = [
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
