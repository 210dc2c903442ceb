/** The options of a client, and what they become. */
import { Duration, Effect, Redacted } from "effect"
import { headerOfText, isIdentityHeader } from "../../../domain/access/IdentityHeaders.js"
import { parseUrl } from "../../../domain/Url.js"
import { Failures, localRefusal, type RpcFailure } from "./Failures.js"

/** How a client reaches the service. */
export interface RpcClientOptions {
  /**
   * The service's address, `https://svc.example.com` or with the path of the RPC; several: of its nodes. The client goes to
   * the next one if a node stops or cannot be reached.
   */
  readonly url: string | ReadonlyArray<string>
  /** An API key. */
  readonly key: string | Redacted.Redacted
  /**
   * More headers of the connection, such as those of a proxy in between. Those that name a customer, a user or an
   * installation are sent in UTF-8; the others are ASCII.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The customer of each call that names none: its id, or `ref:` and its external reference. */
  readonly customer?: string | undefined
  /** How long a call waits for a connection, and is sent again after a lost one. Default: 30 seconds. */
  readonly patience?: Duration.DurationInput | undefined
  /** The same for what outlasts calls: awaits, `executions.run` and watches. Default: 5 minutes, as long as cursors hold. */
  readonly outage?: Duration.DurationInput | undefined
  /** The shortest and the longest pause between two attempts to connect. Default: 100 ms and 10 seconds. */
  readonly pause?: { readonly first: Duration.DurationInput; readonly longest: Duration.DurationInput } | undefined
  /** How often the connection is checked; one that is silent for two such times is given up. Default: 10 seconds. */
  readonly heartbeat?: Duration.DurationInput | undefined
}

/** Options with their defaults. Times are milliseconds. */
export interface ClientSettings {
  readonly urls: readonly [string, ...Array<string>]
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly customer: string | undefined
  readonly patience: number
  readonly outage: number
  readonly firstPause: number
  readonly longestPause: number
  readonly heartbeat: number
}

const path = "/api/v1/rpc"

const protocols: ReadonlyMap<string, string> = new Map([
  ["http:", "ws:"],
  ["https:", "wss:"],
  ["ws:", "ws:"],
  ["wss:", "wss:"]
])

/** The address of the RPC; `undefined` for what is no address of a service. */
const rpcUrl = (text: string): string | undefined => {
  const url = parseUrl(text)
  const protocol = protocols.get(url?.protocol ?? "")
  if (url === undefined || protocol === undefined) return undefined
  const base = url.pathname.replace(/\/+$/, "")
  return `${protocol}//${url.host}${base.endsWith(path) ? base : `${base}${path}`}${url.search}`
}

/** Header names and values that HTTP can carry. */
const isHeader = ([name, value]: [string, string]) =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) && (/^[\t\x20-\x7e]*$/.test(value) || isIdentity(name, value))

/** Whether a header names somebody by a text that can be sent in UTF-8. */
const isIdentity = (name: string, text: string) =>
  isIdentityHeader(name.toLowerCase()) && text.isWellFormed() && !/\p{Cc}/u.test(text)

const refuse = (message: string) =>
  Effect.fail(new Failures.InvalidRequest(localRefusal("INVALID_REQUEST", 400, message)))

/** Fails with `InvalidRequest` if an option cannot be used. */
export const settingsOf = (options: RpcClientOptions): Effect.Effect<ClientSettings, RpcFailure> =>
  Effect.gen(function* () {
    const addresses = typeof options.url === "string" ? [options.url] : options.url
    const [first, ...others] = addresses.flatMap((one) => rpcUrl(one) ?? [])
    if (first === undefined || others.length + 1 < addresses.length)
      return yield* refuse("url must be addresses of the service, such as https://svc.example.com")
    const key = typeof options.key === "string" ? options.key : Redacted.value(options.key)
    const headers = { ...options.headers, authorization: `Bearer ${key}` }
    if (key === "" || !Object.entries(headers).every(isHeader))
      return yield* refuse(
        "key and headers must be printable ASCII, and the key not empty; only headers such as x-end-org-id and x-user-id may have other letters"
      )
    const millis = (value: Duration.DurationInput | undefined, or: Duration.DurationInput) =>
      Math.max(1, Duration.toMillis(value ?? or))
    const firstPause = millis(options.pause?.first, "100 millis")
    return {
      urls: [first, ...others],
      headers: Redacted.make(
        Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, headerOfText(text)]))
      ),
      customer: options.customer,
      patience: millis(options.patience, "30 seconds"),
      outage: millis(options.outage, "5 minutes"),
      firstPause,
      longestPause: Math.max(firstPause, millis(options.pause?.longest, "10 seconds")),
      heartbeat: millis(options.heartbeat, "10 seconds")
    }
  })
