/** The log of a pool of jailed processes, whose callbacks run outside of effects. */
import { Cause, Effect, Runtime } from "effect"
import type { ListenerOptions } from "./JailedProcess.js"

export interface PoolLog extends Pick<ListenerOptions, "onDefect"> {
  readonly onWarning: (event: string, fields: { readonly [name: string]: string }) => void
}

/** Logs what a pool of processes reports, outside of any fiber. */
export const makePoolLog = (pool: "sandbox" | "computing"): Effect.Effect<PoolLog> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const runFork = Runtime.runFork(runtime)
    return {
      onWarning: (event, fields) => void runFork(Effect.annotateLogs(Effect.logWarning(event), fields)),
      onDefect: (listener, cause) =>
        void runFork(Effect.annotateLogs(Effect.logError(`${pool}.listener_failed`, Cause.die(cause)), { listener }))
    }
  })
