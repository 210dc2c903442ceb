/** Notes that one process is too few for its machine: its main loop was busy for most of a minute while cores were idle. */
import { Effect, Option } from "effect"
import { availableParallelism, cpus } from "node:os"
import { performance } from "node:perf_hooks"
import { Settings } from "../configuration/Config.js"

/** What the machine did since the previous reading. */
export interface LoadReading {
  /** The part of the time for which the main loop was busy, 0 to 1. */
  readonly busy: number
  /** Cores without work, on average. */
  readonly idleCores: number
}

/** The note for operators; `undefined` until there is a reason. */
type Note = () => string | undefined

/** How long a reading is. */
const interval = "1 minute"
const busyFrom = 0.8
/** Of as many `--nodes auto` makes a further runner. */
const idleFrom = 2
/** Below as many `--nodes auto` starts one process as well. */
const coresFrom = 4

/** What to do about a reading; `undefined`: nothing. */
export const noteOf = ({ busy, idleCores }: LoadReading): string | undefined =>
  busy >= busyFrom && idleCores >= idleFrom
    ? `the main loop was busy for ${Math.round(busy * 100)} % of a minute while ${Math.floor(idleCores)} cores were idle: ` +
      "start svc as several processes with `npm start -- --nodes auto`"
    : undefined

/** Takes readings until one is a reason for a note, which is logged once and stays. */
export const make = (read: () => LoadReading) =>
  Effect.gen(function* () {
    let note: string | undefined
    yield* Effect.forkScoped(
      Effect.sync(() => {
        note = noteOf(read())
      }).pipe(
        Effect.delay(interval),
        Effect.repeat({ until: () => note !== undefined }),
        Effect.zipRight(
          Effect.suspend(() => Effect.annotateLogs(Effect.logInfo("service.cores_are_idle"), { advice: note }))
        )
      )
    )
    return (): string | undefined => note
  })

/** Watches a process that is no node; the nodes of a cluster are as many as their operator wants. */
export const watchIdleCores = Effect.flatMap(Settings, ({ node }) =>
  Option.isSome(node) || availableParallelism() < coresFrom ? Effect.succeed<Note>(() => undefined) : make(readings())
)

// --- Private ---

const coreTimes = () => {
  const cores = cpus().map(({ times }) => times)
  const idle = cores.reduce((sum, core) => sum + core.idle, 0)
  const all = cores.reduce((sum, core) => sum + core.user + core.nice + core.sys + core.irq + core.idle, 0)
  return { idle, all, count: cores.length }
}

/** A function that reads what has happened since its last call. */
const readings = (): (() => LoadReading) => {
  let loop = performance.eventLoopUtilization()
  let cores = coreTimes()
  return () => {
    const [loopNow, coresNow] = [performance.eventLoopUtilization(), coreTimes()]
    const idle = ((coresNow.idle - cores.idle) / Math.max(1, coresNow.all - cores.all)) * coresNow.count
    const { utilization } = performance.eventLoopUtilization(loopNow, loop)
    loop = loopNow
    cores = coresNow
    // A container may have fewer cores than its machine.
    return { busy: utilization, idleCores: Math.min(idle, availableParallelism() - 1) }
  }
}
