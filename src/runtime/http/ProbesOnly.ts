/** The handler of a node that serves no requests: it answers probes, and says of all else where it belongs. */
import { Effect } from "effect"
import type { Identifiers } from "../../actors/ports/Identifiers.js"
import { errorReply } from "../../http/ErrorRows.js"
import { pathOf, type RequestHead } from "../../http/Wire.js"
import type { Front } from "./Front.js"

const probes = new Set(["/healthz", "/readyz", "/metrics"])

const misdirected = {
  status: 404,
  code: "NOT_FOUND",
  message: "this node runs work and serves no requests: send them to a node with the role api or all"
}

/** `front` for `/healthz`, `/readyz` and `/metrics`; a 404 that names the right role for all other requests. */
export const probesOnly = (front: Front, identifiers: Identifiers["Type"]): Front => {
  const refusal = Effect.sync(() => errorReply(misdirected, identifiers.next("req")))
  const refused = (request: RequestHead) => front.refuseUnserved(request, refusal)
  const isProbe = ({ target }: RequestHead) => probes.has(pathOf(target))
  // Without it a request for a connection is one like all others.
  const { rpc: _rpc, ...others } = front
  return {
    ...others,
    execute: refused,
    proxy: refused,
    webhook: (request) => Effect.map(refused(request), (reply) => ({ _tag: "Answered", reply }) as const),
    handle: (request) => (isProbe(request) ? front.handle(request) : refused(request)),
    recognise: (request) =>
      isProbe(request)
        ? front.recognise(request)
        : Effect.map(refused(request), (reply) => ({ _tag: "Refused", reply }) as const)
  }
}
