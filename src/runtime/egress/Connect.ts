/**
 * Opens connections to checked addresses only. It resolves a name once, checks every record and connects to exactly
 * those addresses, so that DNS rebinding has no effect.
 */
import { lookup } from "node:dns"
import { rootCertificates } from "node:tls"
import { buildConnector } from "undici"
import { type AllowList, whyBlocked } from "./Address.js"
import { isAddress } from "../process/IpAddress.js"

/** All addresses of a host name. Rejects if there are none. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<string>>

/** The operating system's resolver; it keeps the order of the addresses. */
export const systemResolve: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true, verbatim: true }, (error, found) =>
      error === null ? resolve(found.map((entry) => entry.address)) : reject(error)
    )
  })

/** Every address of the host is blocked. */
export class BlockedAddress extends Error {
  readonly code = "SVC_EGRESS_BLOCKED"
}

export interface ConnectOptions {
  readonly allow: AllowList
  readonly resolve: Resolve
  /** Further certificate authorities in PEM form, beside those of the system. */
  readonly ca?: ReadonlyArray<string>
  /** For resolving and connecting together. */
  readonly timeoutMillis: number
}

/** How long one address may take before the next one is tried in parallel (Happy Eyeballs). */
const headStartMillis = 300
const mostAddresses = 6

export type Connector = buildConnector.connector
type Target = buildConnector.Options

/** Opens sockets to addresses that are checked already. */
export const plainConnector = (options: ConnectOptions): Connector =>
  buildConnector({
    timeout: options.timeoutMillis,
    maxCachedSessions: 256,
    ...(options.ca === undefined ? {} : { ca: [...rootCertificates, ...options.ca] })
  })

/** Counts a look-up or a socket; the returned function says that it is closed. */
export type CountSocket = () => () => void

const uncounted: CountSocket = () => () => undefined

/** `open`: makes each attempt to connect. */
export const guardedConnector = (
  options: ConnectOptions,
  open = plainConnector(options),
  count: CountSocket = uncounted
): Connector => {
  const counted: Connector = (target, callback) => {
    const closed = count()
    open(target, (...[error, socket]) => {
      if (error !== null) {
        closed()
        return callback(error, null)
      }
      socket.once("close", closed)
      callback(null, socket)
    })
  }
  return (target, callback) => {
    const port = Number(target.port) || (target.protocol === "https:" ? 443 : 80)
    const host = target.hostname.replace(/^\[|\]$/g, "")
    const judge = (addresses: ReadonlyArray<string>) => {
      const refusals = addresses.map((address) => ({ address, reason: whyBlocked(address, port, options.allow) }))
      const permitted = refusals.filter((entry) => entry.reason === undefined).map((entry) => entry.address)
      if (permitted.length > 0) return race(counted, target, permitted.slice(0, mostAddresses), callback)
      const [first] = refusals
      callback(
        new BlockedAddress(first === undefined ? "the name has no address" : `${first.address} ${first.reason}`),
        null
      )
    }
    // An exception of net or tls fails this request, not the process.
    const connectTo = (addresses: ReadonlyArray<string>) => {
      try {
        judge(addresses)
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)), null)
      }
    }
    if (isAddress(host)) return connectTo([host])
    const settle = once(options.timeoutMillis, callback)
    // Also after its time: a look-up occupies a thread until it ends.
    const resolved = count()
    const addresses = options.resolve(host).finally(resolved)
    addresses.then(
      (addresses) => settle(() => connectTo(addresses)),
      (error: unknown) => settle(() => callback(error instanceof Error ? error : new Error(String(error)), null))
    )
  }
}

/** Runs only the first of two: the function that it gets, or the callback with a timeout of the resolver. */
const once = (millis: number, callback: buildConnector.Callback) => {
  let open = true
  const timer = setTimeout(() => {
    open = false
    callback(new Error(`the name was not resolved within ${millis} ms`), null)
  }, millis)
  return (run: () => void) => {
    clearTimeout(timer)
    if (open) run()
    open = false
  }
}

/** Connects to the first address that answers. The next one starts after a head start, or at a failure. */
const race = (
  open: Connector,
  target: Target,
  addresses: ReadonlyArray<string>,
  callback: buildConnector.Callback
): void => {
  let settled = false
  let pending = 0
  let next = 0
  let timer: NodeJS.Timeout | undefined
  const attempt = () => {
    clearTimeout(timer)
    const address = addresses[next++]
    if (settled || address === undefined) return
    pending++
    if (next < addresses.length) timer = setTimeout(attempt, headStartMillis)
    // `host` stays the name: the TLS server name and the check of the certificate use it.
    open({ ...target, hostname: address }, (...[error, socket]) => {
      pending--
      if (settled) return void socket?.destroy()
      if (error === null) {
        settled = true
        clearTimeout(timer)
        return callback(null, socket)
      }
      if (next < addresses.length) return attempt()
      if (pending === 0) {
        settled = true
        callback(error, null)
      }
    })
  }
  attempt()
}
