/**
 * What operators ask of a node without a key. The metrics and the details of readiness are for clients on this machine and in
 * private networks, unless `SVC_METRICS` opens them for all.
 */
import { Effect } from "effect"
import { Addresses } from "../../actors/ports/organisation/Addresses.js"
import { errorReply } from "../../http/ErrorRows.js"
import { jsonReply, type RawReply, type RequestHead } from "../../http/Wire.js"
import { Settings } from "../configuration/Config.js"
import { make as makeScrape } from "../telemetry/Scrape.js"
import { make as makeHealth } from "./Health.js"
import { type PublicAnswer, shareInFlight } from "./PublicAnswers.js"

/** Headers by which a proxy says that it passes a request on. */
const proxyHeaders = ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host", "via"]

const briefReady = jsonReply(200, { status: "ready" })
const briefNotReady = jsonReply(503, { status: "not_ready" })

const metricsRefusal = (from: string) => ({
  status: 403,
  code: "FORBIDDEN",
  message: `/metrics answers loopback and private networks only, and this request comes from ${from}: scrape the node from such a network without a proxy, name your proxy in SVC_TRUSTED_PROXIES, or open it for all with SVC_METRICS=open`
})

interface Probe extends Pick<PublicAnswer, "kind"> {
  /** `requestId`: for a refusal. */
  readonly replyTo: (request: RequestHead, requestId: string) => Effect.Effect<RawReply>
}

/** `addressOf`: the client's address of a request. */
export const makeProbes = Effect.fnUntraced(function* (addressOf: (request: RequestHead) => string) {
  const addresses = yield* Addresses
  const isOpen = (yield* Settings).metrics === "open"
  const health = yield* makeHealth
  const { scrape } = yield* makeScrape

  /** The address from which a request comes; `undefined` if a proxy passed it on that is not trusted. */
  const originOf = (request: RequestHead): string | undefined => {
    const { headers, remoteAddress } = request
    const isPassedOn = proxyHeaders.some((name) => headers[name] !== undefined)
    const isKnown = headers["x-forwarded-for"] !== undefined && addresses.isTrustedProxy(remoteAddress)
    return isPassedOn && !isKnown ? undefined : addressOf(request)
  }
  const isNear = (origin: string | undefined) => isOpen || (origin !== undefined && addresses.isPrivate(origin))

  // What reads the database runs once for all who ask meanwhile.
  const readyz = shareInFlight(health.readyz)
  const metrics = shareInFlight(scrape)
  const probes: { readonly [path: string]: Probe } = {
    "/healthz": { kind: undefined, replyTo: () => Effect.succeed(health.healthz) },
    "/readyz": {
      kind: "probe",
      replyTo: (request) =>
        isNear(originOf(request))
          ? readyz
          : Effect.map(readyz, ({ status }) => (status === briefReady.status ? briefReady : briefNotReady))
    },
    "/metrics": {
      kind: "metrics",
      replyTo: (request, requestId) => {
        const origin = originOf(request)
        return isNear(origin)
          ? metrics
          : Effect.succeed(errorReply(metricsRefusal(origin ?? "a proxy that is not trusted"), requestId))
      }
    }
  }
  return { health, probes }
})
