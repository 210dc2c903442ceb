/** `fetch`: one request to a public address, with an Idempotency-Key that is the same at every repetition. */
import { Duration, Effect, Encoding, Option } from "effect"
import type { Json } from "../../../domain/Json.js"
import { guest } from "../../../domain/Limits.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { parseUrl } from "../../../domain/Url.js"
import { Egress, type EgressFailure, type EgressRequest, type EgressResponse, isRedirect } from "../../ports/Egress.js"
import { readFetchOptions } from "./FetchOptions.js"
import {
  failure,
  type HostCall,
  type HostCallResult,
  type HostRequest,
  memberOf,
  noMemoryFailure,
  refusedCall
} from "./HostCall.js"
import { ownerOfRun } from "../../../domain/share/ShareOwner.js"

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The bytes as text; `undefined` when they are not valid UTF-8. */
const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

const fetchFailure = (error: EgressFailure): CallFailure => {
  switch (error._tag) {
    case "EgressBlocked":
      return failure(
        "TypeError",
        `fetch: ${error.url} cannot be reached from a workflow: ${error.reason}`,
        "provider",
        { code: "BLOCKED" }
      )
    case "EgressUnreachable":
      return failure("TypeError", `fetch: ${error.url} did not answer: ${error.reason}`, "transient", {
        code: "UNREACHABLE"
      })
    case "EgressTimedOut":
      return failure("TimeoutError", `fetch: ${error.url} took longer than ${error.afterMillis} ms`, "transient", {
        code: "TIMED_OUT"
      })
    case "EgressTooLarge":
      return failure(
        "RangeError",
        `fetch: the answer of ${error.url} is larger than ${error.limitBytes} bytes`,
        "provider",
        { code: "TOO_LARGE" }
      )
    case "EgressNoMemory":
      return noMemoryFailure(`fetch: there is no room for the answer of ${error.url}`)
    case "EgressBusy":
      return failure("Error", `fetch: ${error.url} was not called: ${error.reason}`, "transient", {
        code: "NO_CONNECTION"
      })
  }
}

const redirectedFailure = ({ origin, pathname }: URL): CallFailure =>
  failure("TypeError", `fetch: ${origin}${pathname} redirects, and redirect is "error"`, "provider", {
    code: "REDIRECTED"
  })

/**
 * A body that is UTF-8 is passed as text: the trace stays readable and the guest need not decode it. With a byte order mark it is
 * passed as bytes: the guest leaves the mark out of text and keeps it in bytes.
 */
const bodyMember = (bytes: Uint8Array): { readonly body: string } | { readonly bodyBase64: string } => {
  const text = decodeUtf8(bytes)
  return text === undefined || text.startsWith("\ufeff") ? { bodyBase64: Encoding.encodeBase64(bytes) } : { body: text }
}

const responseResult = (requested: URL, response: EgressResponse): HostCallResult => ({
  value: {
    status: response.status,
    url: response.url,
    ...(response.url === requested.href ? {} : { redirected: true }),
    headers: response.headers.map(([name, value]) => [name, value]),
    ...bodyMember(response.body)
  }
})

type HeaderPair = readonly [name: string, value: string]

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const lineEnds = /[\0\n\r]/

const isSpace = (code: number): boolean => code === 9 || code === 10 || code === 13 || code === 32

/** The text without surrounding space. A pattern would take time quadratic in spaces that a workflow puts inside. */
const withoutSurroundingSpace = (text: string): string => {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Characters of the URL and the headers as a workflow wrote them. */
const headLength = (url: Json | undefined, headers: Json | undefined): number => {
  let length = typeof url === "string" ? url.length : 0
  if (!Array.isArray(headers)) return length
  for (const pair of headers) if (Array.isArray(pair)) length += String(pair[0]).length + String(pair[1]).length
  return length
}

/**
 * The headers that a workflow wrote, as `fetch` normalises them: names in lower case, values without surrounding space,
 * equal names joined to one header. Or what is wrong with them.
 */
const normalisedHeaders = (value: Json | undefined): ReadonlyArray<HeaderPair> | string => {
  if (!Array.isArray(value) || value.length === 0) return []
  const values = new Map<string, string>()
  for (const pair of value) {
    if (!Array.isArray(pair)) continue
    const name = String(pair[0])
    const text = withoutSurroundingSpace(String(pair[1]))
    if (!headerName.test(name)) return `not a header name: ${name.slice(0, 100)}`
    if (lineEnds.test(text)) return "a header's value is one line"
    const key = name.toLowerCase()
    const before = values.get(key)
    values.set(key, before === undefined ? text : `${before}, ${text}`)
  }
  return [...values]
}

const bodyOf = (request: Json | undefined): Uint8Array | string | null => {
  const base64 = memberOf(request, "bodyBase64")
  if (typeof base64 === "string") return Option.getOrNull(Option.getRight(Encoding.decodeBase64(base64)))
  const body = memberOf(request, "body")
  return typeof body === "string" ? body : null
}

export const makeFetchCalls = Effect.gen(function* () {
  const egress = yield* Egress

  const planFetch = ({ args, key, notes, spec }: HostRequest): HostCall => {
    const [request] = args
    const url = memberOf(request, "url")
    const method = String(memberOf(request, "method") ?? "GET").toUpperCase()
    const body = bodyOf(request)
    // Bounded before it is parsed: this is not the guest's time but the service's.
    if (headLength(url, memberOf(request, "headers")) > guest.fetchHead)
      return refusedCall(
        failure("RangeError", `fetch: the URL and the headers have at most ${guest.fetchHead} characters together`)
      )
    const requested = typeof url === "string" ? parseUrl(url) : undefined
    if (requested === undefined)
      return refusedCall(
        failure("TypeError", `fetch takes an absolute URL, not ${JSON.stringify(String(url).slice(0, 200))}`, "code", {
          code: "ERR_INVALID_URL"
        })
      )
    if (body !== null && body.length > guest.fetchBytes) {
      return refusedCall(failure("RangeError", `fetch: a request body has at most ${guest.fetchBytes} bytes`))
    }
    const headers = normalisedHeaders(memberOf(request, "headers"))
    if (typeof headers === "string") return refusedCall(failure("TypeError", `fetch: ${headers}`))
    const options = readFetchOptions(request)
    if (typeof options === "string") return refusedCall(failure("TypeError", `fetch: ${options}`))
    // Lets a receiver that supports idempotency keys recognise a repetition; reads need none.
    const needsKey = method !== "GET" && method !== "HEAD" && !headers.some(([name]) => name === "idempotency-key")
    if (needsKey) notes.idempotencyKey = key
    const given = options.cacheHeaders.filter(([name]) => !headers.some(([own]) => own === name))
    const sent = needsKey ? [...headers, ...given, ["idempotency-key", key] as const] : [...headers, ...given]
    const outgoing: EgressRequest = {
      owner: ownerOfRun(spec.run),
      method,
      url: requested.href,
      body,
      headers: sent,
      timeout: Duration.seconds(30),
      maxBytes: guest.fetchBytes,
      redirects: options.redirect === "follow" ? 3 : 0
    }
    return {
      _tag: "Outside",
      run: (holding, done) =>
        egress.ask(outgoing, holding, (answer) => {
          if ("_tag" in answer) done({ _tag: "Failed", failure: fetchFailure(answer) })
          else if (options.redirect === "error" && isRedirect(answer.status))
            done({ _tag: "Failed", failure: redirectedFailure(requested) })
          else done({ _tag: "Succeeded", result: responseResult(requested, answer) })
        })
    }
  }

  return { fetch: planFetch }
})
