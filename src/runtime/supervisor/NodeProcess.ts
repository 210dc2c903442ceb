/** The process of a node, as its supervisor starts, hears and ends it. */
import { Deferred, Duration, Effect, FiberId, Option } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { splitLines } from "../process/Lines.js"
import type { PortHandle, ToNode, ToSupervisor } from "../process/SupervisorLink.js"
import { namedLine } from "./NodeLog.js"
import type { PlannedNode } from "./NodePlan.js"

/** How a process ended: one of both is `null`. */
export interface NodeEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface NodeProcess {
  readonly pid: number
  /** Whether it has taken part, and since when (`performance.now`). */
  readonly readySince: () => number | undefined
  /** Waits until it takes part; for ever if it ends before. */
  readonly ready: Effect.Effect<void>
  readonly ended: Effect.Effect<NodeEnd>
  /** Asks it to finish what it accepted, without a limit of its own, and to stop. */
  readonly retire: Effect.Effect<void>
  /** Stops it; kills it after `patience`. */
  readonly stop: (patience: Duration.Duration) => Effect.Effect<void>
}

/**
 * Starts a node by this program, in a session of its own: Ctrl-C is for the supervisor, which ends its nodes in order.
 * `env`: all of its variables.
 */
export const startNode = (node: PlannedNode, env: Readonly<Record<string, string>>, port: PortHandle): NodeProcess => {
  const [, program = ""] = process.argv
  const child = spawn(process.execPath, [...process.execArgv, program, "start", "--supervised", node.name], {
    detached: true,
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"]
  })
  passOn(node.name, child.stdout, process.stdout)
  passOn(node.name, child.stderr, process.stderr)
  const ready = Deferred.unsafeMake<void>(FiberId.none)
  const ended = Deferred.unsafeMake<NodeEnd>(FiberId.none)
  let readySince: number | undefined
  const end = (code: number | null, signal: NodeJS.Signals | null) =>
    Deferred.unsafeDone(ended, Effect.succeed({ code, signal }))
  const tell = (message: ToNode, handle?: PortHandle) => {
    if (child.connected) child.send(message, handle, () => undefined)
  }
  child.once("exit", end)
  // Of a process that could not be started, or not be reached.
  child.on("error", () => {
    if (child.pid === undefined) end(null, null)
  })
  child.on("message", ({ _tag }: ToSupervisor) => {
    if (_tag === "PortWanted") return tell({ _tag: "Port" }, port)
    readySince = performance.now()
    Deferred.unsafeDone(ready, Effect.void)
  })
  return {
    pid: child.pid ?? 0,
    readySince: () => readySince,
    ready: Deferred.await(ready),
    ended: Deferred.await(ended),
    retire: Effect.sync(() => tell({ _tag: "Retire" })),
    stop: (patience) =>
      Effect.sync(() => child.kill("SIGTERM")).pipe(
        // Finalisers are uninterruptible, and a time limit must end the wait.
        Effect.zipRight(Effect.timeoutOption(Effect.interruptible(Deferred.await(ended)), patience)),
        Effect.flatMap((end) => (Option.isSome(end) ? Effect.void : kill(child, node, patience))),
        Effect.zipRight(Deferred.await(ended)),
        Effect.asVoid
      )
  }
}

// --- Private ---

const kill = (child: ChildProcess, { name }: PlannedNode, patience: Duration.Duration) =>
  Effect.zipRight(
    Effect.annotateLogs(Effect.logWarning("node.killed"), {
      name,
      pid: child.pid,
      afterMillis: Duration.toMillis(patience)
    }),
    Effect.sync(() => child.kill("SIGKILL"))
  )

const passOn = (name: string, from: Readable | null, to: Writable) => {
  const lines = splitLines((line) => void to.write(`${namedLine(name, line)}\n`))
  from?.setEncoding("utf8").on("data", lines.push).on("end", lines.end)
}
