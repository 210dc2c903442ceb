/** The server of the service: what it does when the service starts, and when it leaves. */
import { Duration, Effect, Scope } from "effect"
import { LiveRuns } from "../../actors/execution/LiveRuns.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { HeldBytes } from "../../actors/ports/HeldBytes.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { servesRequests, Settings } from "../configuration/Config.js"
import { make as makeFront } from "../http/Front.js"
import { probesOnly } from "../http/ProbesOnly.js"
import { serve } from "../http/NodeServer.js"
import { planDescriptors } from "../process/Descriptors.js"
import type { PortHandle } from "../process/SupervisorLink.js"
import { markPhase, markStopPhase } from "./Phases.js"

/** Of the time that a stop may take, what is left to close everything after the last open request was answered. */
const closing = Duration.seconds(5)
/** How long runs may take to finish before they are left to another node or start. */
const finishing = Duration.seconds(1)

/**
 * Serves until its scope closes; then leaves: accepts no new work, gives runs a second to finish, leaves the rest to
 * another node or start, and answers the requests that it accepted. From then on until `listener` closes, which should
 * be after everything else, it refuses requests as `Unavailable`. `/readyz` reports ready once `prepare` is done.
 * `socket`: a bound one to accept on, instead of the port.
 */
export const serverAfter = Effect.fn("Service.serverAfter")(function* <A, E, R>(
  prepare: Effect.Effect<A, E, R>,
  listener: Scope.Scope,
  socket?: PortHandle
) {
  const settings = yield* Settings
  const { host, port, shutdownGrace } = settings
  const { incoming } = planDescriptors(settings)
  const live = yield* LiveRuns
  const ownership = yield* Ownership
  yield* markPhase("layers")
  const whole = yield* makeFront
  const front = servesRequests(settings) ? whole : probesOnly(whole, yield* Identifiers)
  yield* markPhase("front")
  const markReady = front.markStarting()
  const running = yield* Scope.extend(
    serve(front, {
      host,
      port,
      ledger: yield* HeldBytes,
      connections: incoming,
      socket,
      hasOthers: servesRequests(settings) && !ownership.isAlone
    }),
    listener
  )
  yield* markPhase("listening")
  const grace = Duration.toMillis(shutdownGrace)
  const patience = Duration.millis(Math.max(grace / 2, grace - Duration.toMillis(closing)))
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      front.drain()
      yield* ownership.leave
      const drained = live.drain(Duration.min(patience, finishing))
      yield* Effect.all([running.leave(patience), Effect.zipRight(drained, markStopPhase("runs"))], {
        concurrency: "unbounded"
      })
      yield* markStopPhase("requests")
    })
  )
  const prepared = yield* prepare
  yield* ownership.join
  markReady()
  return { running, prepared }
})

/**
 * The server without preparation.
 * @internal Tests run the service in their own process with it.
 */
export const server = Effect.flatMap(Effect.scope, (scope) =>
  Effect.map(serverAfter(Effect.void, scope), ({ running }) => running)
)
