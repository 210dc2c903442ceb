/**
 * Removes a credential from a provider's response, unless it is so short that it occurs by chance: then it is reported, so
 * that records hide it, and the response stays as it is (decisions/0071-short-credentials.md). Providers repeat requests: echo
 * services always, others in errors. A cheap search for a trace of each secret comes first; only if it finds one is the
 * response searched for every form of the secret.
 */
import { Redacted } from "effect"
import {
  EgressBlocked,
  type EgressFailure,
  type EgressResponse,
  EgressUnreachable,
  type OpenResponse
} from "../../actors/ports/Egress.js"
import { minSecretLength } from "../../domain/access/SecretForms.js"
import { parseBounded } from "../../domain/JsonText.js"
import { makeScrubber, type Scrubber } from "../../domain/access/Redaction.js"

export interface EchoFilter {
  /** Returns the same object if it contains no secret. All other bytes of a body stay unchanged. */
  readonly answer: (answer: EgressResponse) => EgressResponse
  /** Why the answer is not read: it repeats secrets so often that their removal would take too long. */
  readonly refusal: (answer: EgressResponse) => EgressUnreachable | undefined
  /**
   * Filters a response whose body is streamed. A possible beginning of a secret waits for the next chunk; all else
   * passes at once. If a secret was a number in JSON, the result is not valid JSON.
   */
  readonly opened: (answer: OpenResponse) => OpenResponse
  /** The short secrets of which the response has a trace. */
  readonly shortSecrets: (answer: EgressResponse) => ReadonlyArray<Redacted.Redacted>
  /** Without any secret, however short. */
  readonly failure: <Failure extends EgressFailure>(failure: Failure) => Failure | EgressFailure
}

/** The secrets of one request, and the search for them. */
interface SecretForms {
  readonly traces: ReadonlyArray<string>
  /** Whether the bytes contain a trace of a secret. */
  readonly suspicious: (bytes: Buffer) => boolean
  /** Built lazily: most responses contain no secret. */
  readonly scrubber: () => Scrubber
  /** Whether the text contains a trace of a secret. */
  readonly suspect: (said: string) => boolean
  /** The text without secrets. */
  readonly text: (said: string) => string
}

/** The body without secrets; the same object if it contains none. */
const bodyOf = (forms: SecretForms, body: Uint8Array): Uint8Array => {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!forms.suspicious(bytes)) return body
  // latin1 maps each byte to one character and back, so that binary bodies stay intact.
  const before = bytes.toString("latin1")
  const after = forms.scrubber().scrubText(before)
  if (after === before) return body
  return Buffer.from(isBroken(before, after) ? (scrubbedJson(forms, bytes) ?? after) : after, "latin1")
}

/** Repairs JSON in which a secret was a number and its replacement is not. */
const scrubbedJson = ({ scrubber }: SecretForms, bytes: Buffer): string | undefined => {
  const value = parseBounded(bytes.toString("utf8"))
  return value === undefined
    ? undefined
    : Buffer.from(JSON.stringify(scrubber().scrubJson(value)), "utf8").toString("latin1")
}

const headersOf = ({ text }: SecretForms, headers: EgressResponse["headers"]) =>
  headers.map(([name, value]) => [text(name), text(value)] as const)

/** Filters a streamed body. */
const filterStream = async function* (
  { suspect, scrubber }: SecretForms,
  body: AsyncIterable<Uint8Array>
): AsyncGenerator<Uint8Array> {
  let waiting = ""
  for await (const chunk of body) {
    // latin1 maps each byte to one character and back, so that binary bodies stay intact.
    const input = waiting + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1")
    const { safe, pending } = suspect(input)
      ? scrubber().scrubChunk(input)
      : split(input, scrubber().openSecretStart(input))
    waiting = pending
    if (safe !== "") yield Buffer.from(safe, "latin1")
  }
  if (waiting !== "") yield Buffer.from(scrubber().scrubText(waiting), "latin1")
}

const formsOf = (values: ReadonlyArray<string>): SecretForms => {
  const traces = values.flatMap(tracesOf)
  let made: Scrubber | undefined
  const scrubber = () => (made ??= makeScrubber(values.flatMap(spellings)))
  const suspect = (said: string) => traces.some((trace) => said.includes(trace))
  return {
    traces,
    suspicious: (bytes) => traces.some((trace) => bytes.includes(trace, 0, "latin1")),
    scrubber,
    suspect,
    text: (said) => (suspect(said) ? scrubber().scrubText(said) : said)
  }
}

export const echoFilter = (secrets: ReadonlyArray<Redacted.Redacted>): EchoFilter => {
  const values = secrets.map((secret) => Redacted.value(secret)).filter((value) => value.length >= minSecretLength)
  const short = values.filter((value) => value.length < minRemovedLength)
  const forms = formsOf(values.filter((value) => value.length >= minRemovedLength))
  const all = () => formsOf(values)
  const { text, traces } = forms

  return {
    shortSecrets: (answer) => {
      const said = [answer.url, ...answer.headers.flat()].join("\n")
      const bytes = Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.byteLength)
      return short.flatMap((value) => {
        const { suspect, suspicious } = formsOf([value])
        return suspicious(bytes) || suspect(said) ? [Redacted.make(value)] : []
      })
    },
    opened: (answer) => ({
      ...answer,
      url: text(answer.url),
      headers: headersOf(forms, answer.headers),
      body: filterStream(forms, answer.body)
    }),
    answer: (answer) => {
      const body = bodyOf(forms, answer.body)
      const changed = body !== answer.body
      const headers = headersOf(forms, answer.headers).filter(([name]) => !(changed && bodyHeaders.has(name)))
      const url = text(answer.url)
      const same = !changed && url === answer.url && headers.every(([, value], at) => value === answer.headers[at]?.[1])
      return same ? answer : { ...answer, url, headers, body }
    },
    refusal: ({ body, url }) =>
      countTraces(traces, body) > mostTraces
        ? new EgressUnreachable({ url: all().text(url), reason: tooOften })
        : undefined,
    failure: (failure) => {
      const url = all().text(failure.url)
      switch (failure._tag) {
        case "EgressBlocked":
          return new EgressBlocked({ url, reason: all().text(failure.reason) })
        case "EgressUnreachable":
          return new EgressUnreachable({ url, reason: all().text(failure.reason) })
        default:
          return failure
      }
    }
  }
}

/** Traces of secrets in one answer that are removed. */
const mostTraces = 10_000
const tooOften = `the answer repeats the credential more than ${mostTraces} times`

/** The number of traces in the body, up to one more than are removed. */
const countTraces = (traces: ReadonlyArray<string>, { buffer, byteLength, byteOffset }: Uint8Array): number => {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  let count = 0
  for (const trace of traces) {
    if (trace === "") continue
    for (let at = bytes.indexOf(trace, 0, "latin1"); at >= 0 && count <= mostTraces; count++)
      at = bytes.indexOf(trace, at + trace.length, "latin1")
  }
  return count
}

const split = (text: string, at: number) => ({ safe: text.slice(0, at), pending: text.slice(at) })

/** Shorter secrets stay in a response: a search for them would change data in which they occur by chance. */
const minRemovedLength = 12

/** Headers that a change of the body makes wrong. */
const bodyHeaders: ReadonlySet<string> = new Set(["content-length", "content-md5", "digest", "etag"])

// --- Traces ---

/** Bytes of a secret that make a trace of its base64 or hexadecimal form. */
const traceBytes = 12

/**
 * Short texts; every text that contains the secret in any form contains at least one of them: the longest part that no
 * form escapes, the beginning of its hexadecimal form, and of its base64 form at each of the three offsets.
 */
const tracesOf = (value: string): ReadonlyArray<string> => {
  const runs = (value.match(/[A-Za-z0-9_.-]+/g) ?? []).toSorted((a, b) => b.length - a.length)
  const [longest = ""] = runs
  const coded = (["utf8", "latin1"] as const).flatMap((charset) => {
    const start = Buffer.from(value, charset).subarray(0, traceBytes)
    const hex = start.toString("hex")
    return [...base64Traces(start), hex, hex.toUpperCase()]
  })
  // A secret without such a part has the empty trace, which every text contains: then all forms are searched.
  return [...new Set([longest, ...coded])]
}

/** What of the bytes' base64 every longer text has, at each of the three offsets. */
const base64Traces = (start: Buffer): ReadonlyArray<string> =>
  [0, 1, 2].flatMap((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), start]).toString("base64url")
    const inner = whole.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + start.length) * 8) / 6))
    return [inner, inner.replaceAll("-", "+").replaceAll("_", "/")]
  })

// --- Spellings ---

/** The forms of a secret in a text of bytes: UTF-8 and Latin-1, and as JSON and HTML escape it. */
const spellings = (value: string): ReadonlyArray<string> => {
  const ascii = jsonOf(value).replace(/[\u0080-\uffff]/g, unicodeEscape)
  const written = [value, Buffer.from(value, "utf8").toString("latin1")].flatMap((form) => [
    form,
    jsonOf(form).replaceAll("/", "\\/"),
    form.replace(/[&<>"']/g, (letter) => entities[letter] ?? letter)
  ])
  return [...new Set([...written, ascii, ascii.replaceAll("/", "\\/"), ascii.replace(/[<>&'+=]/g, unicodeEscape)])]
}

const jsonOf = (text: string) => JSON.stringify(text).slice(1, -1)
const unicodeEscape = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

// --- JSON ---

/** Whether `before` was valid JSON and `after` is not; of a text that is too heavy to be parsed, this is not asked. */
const isBroken = (before: string, after: string): boolean =>
  parseBounded(after) === undefined && parseBounded(before) !== undefined
