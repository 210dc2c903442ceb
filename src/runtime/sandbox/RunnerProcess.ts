/**
 * The pool's side of one runner process: sends requests, receives answers, and kills the process when a guest hangs.
 * Callbacks instead of effects, for speed: every turn passes here.
 */
import { frame, frameReader } from "../jail/Frames.js"
import { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import type { GuestLimits } from "../../actors/ports/Sandbox.js"
import { childProcessorMillis } from "../jail/ProcessorTime.js"
import type { PendingTurn } from "./PendingTurns.js"
import { RunnerTurns } from "./RunnerTurns.js"
import type { TurnAnswer } from "./TurnAnswer.js"
import { Watchdog } from "./Watchdog.js"
import type { Jail } from "../jail/Jail.js"
import { LoadedPrograms } from "./LoadedPrograms.js"
import type { LongTurns } from "./LongTurns.js"
import { readOutputs } from "./OutputReader.js"
import {
  RunnerRequest,
  eventsFrame,
  idFrame,
  type TurnFailure,
  RunnerReply,
  turnFlag,
  turnHeader
} from "./runner/Protocol.js"

/** Shown after the command in lists of processes. */
const processName = "svc-runner"

export interface RunnerProcess {
  readonly pid: number | undefined
  /** The number of turns that are not yet answered. */
  readonly load: () => number
  readonly isAlive: () => boolean
  readonly start: (
    session: number,
    program: { readonly key: string; readonly script: string; readonly tenant: string },
    limits: GuestLimits,
    events: ReadonlyArray<string | Uint8Array>,
    onAnswer: (answer: TurnAnswer) => void
  ) => void
  readonly feed: (
    session: number,
    tenant: string,
    limits: GuestLimits,
    events: ReadonlyArray<string | Uint8Array>,
    onAnswer: (answer: TurnAnswer) => void
  ) => void
  readonly close: (session: number) => void
  /** The tenant that delays others here: its turn is long, or most turns of a long queue are its own. */
  readonly busyTenant: () => string | undefined
  /** The tenants whose turns were long on this runner lately. */
  readonly longTurns: LongTurns
  /**
   * Evicts the guests of queued turns that wait for another tenant's turn too long, if `canRunElsewhere`: the run
   * replays on another runner.
   */
  readonly evictWaiting: (canRunElsewhere: (tenant: string) => boolean) => void
  readonly kill: () => void
}

export interface RunnerOptions {
  readonly jail: Jail
  readonly source: Buffer
  readonly wasm: Buffer
  readonly maxLiveGuests: number
  /** The runner has started; `engine` is the identity that it computed. */
  readonly onReady: (engine: string) => void
  /** The process has ended, ready or not. Called once. */
  readonly onGone: (why: string) => void
  /** A turn was queued behind another one. */
  readonly onQueued: () => void
  /** A listener threw, which is a bug. The runner is killed, and its guests end as when it dies. */
  readonly onDefect: (listener: Listener, cause: unknown) => void
  /** Called as a listener begins, so that a test can make it throw. */
  readonly onListener?: ((listener: Listener) => void) | undefined
}

/** The kinds of callbacks that a runner causes in this process. */
export type Listener = "child" | "socket" | "stderr" | "timer" | "answer"

export const startRunner = (options: RunnerOptions): RunnerProcess => {
  const child = spawn(options.jail.command, [...options.jail.args, processName], {
    cwd: "/",
    env: { TZ: "UTC" },
    // A session of its own: Ctrl-C in the terminal must not end the runners, which the service needs to drain.
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "pipe"]
  })
  // Node types further pipes as readable or writable; a "pipe" is a socket and therefore both.
  const socket = child.stdio[3] as Duplex
  const turns = new RunnerTurns()
  const programs = new LoadedPrograms((bytes) => send(bytes))
  let hungSession: number | undefined
  let isReady = false
  let isGone = false
  /** What it wrote to stderr before it was ready. Later output may quote a tenant and must not be logged. */
  let startupErrors = ""

  /** Wraps a listener: an exception in it ends this runner, not the service. */
  const guardListener =
    <Args extends ReadonlyArray<unknown>>(listener: Listener, body: (...args: Args) => void) =>
    (...args: Args): void => {
      try {
        options.onListener?.(listener)
        body(...args)
      } catch (cause) {
        options.onDefect(listener, cause)
        onGone(`its ${listener} listener failed`)
      }
    }

  /** Calls one turn's callback; an exception in it does not affect the other turns. */
  const deliverAnswer = (onAnswer: PendingTurn["onAnswer"], answer: TurnAnswer): void => {
    try {
      options.onListener?.("answer")
      onAnswer(answer)
    } catch (cause) {
      options.onDefect("answer", cause)
    }
  }

  // --- Writing ---

  let unsentFrames: Array<Buffer> = []
  const flush = (): void => {
    const frames = unsentFrames
    unsentFrames = []
    const [only] = frames
    if (!isGone && only !== undefined) socket.write(frames.length === 1 ? only : Buffer.concat(frames))
  }
  // One write per turn of the event loop: each write wakes the runner, which costs more than the bytes.
  const send = (bytes: Buffer): void => {
    if (unsentFrames.push(bytes) === 1) setImmediate(guardListener("socket", flush))
  }

  // --- Answers ---

  const addTurn = (
    session: number,
    tenant: string,
    limits: GuestLimits,
    onAnswer: (answer: TurnAnswer) => void
  ): void => {
    turns.add(session, { onAnswer, limitMillis: limits.cpuPerStepMillis, tenant, askedAt: performance.now() })
    watchdog.start()
    // A guest that yielded counts: it may compute long once it goes on.
    if (turns.size > 1) options.onQueued()
  }

  /** Removes the turn that the runner has answered, and returns a function that delivers the answer. */
  const takeTurn = (session: number): ((answer: TurnAnswer) => void) => {
    const turn = turns.take(session)
    return (answer) => {
      if (turn !== undefined) deliverAnswer(turn.onAnswer, answer)
    }
  }

  const onFrame = (kind: number, payload: Buffer): void => {
    const session = payload.readUInt32BE(0)
    switch (kind) {
      case RunnerReply.turn: {
        const flags = payload[4] ?? 0
        const answer = takeTurn(session)
        return readOutputs(
          payload.subarray(turnHeader),
          (outputs) =>
            answer({
              tag: "Turn",
              outputs,
              ended: (flags & turnFlag.ended) !== 0,
              cpuMillis: payload.readDoubleBE(5),
              memoryBytes: payload.readDoubleBE(13)
            }),
          (cause) => {
            answer({ tag: "RunnerDied", wasAtWork: true })
            onGone(`the runner broke the protocol: ${errorName(cause)}`)
          }
        )
      }
      case RunnerReply.failed: {
        const refusal = JSON.parse(payload.toString("utf8", 4)) as TurnFailure
        return takeTurn(session)(refusal)
      }
      case RunnerReply.yielded:
        return turns.yield(session)
      case RunnerReply.begin:
        return turns.begin(session)
      case RunnerReply.ready:
        isReady = true
        startupErrors = ""
        return options.onReady(payload.toString("utf8", 4))
      default:
        throw new Error(`the runner sent a frame of unknown kind ${kind}`)
    }
  }

  const evictWaiting = (canRunElsewhere: (tenant: string) => boolean): void => {
    for (const [session, { onAnswer }] of turns.takeMovable(canRunElsewhere)) {
      send(idFrame(RunnerRequest.close, session))
      deliverAnswer(onAnswer, { tag: "SessionLost", reason: "evicted" })
    }
  }

  // --- The end ---

  const kill = (): void => {
    child.kill("SIGKILL")
    socket.destroy()
  }

  const watchdog = new Watchdog({
    turns,
    processorMillis: () => childProcessorMillis(child),
    guard: (body) => guardListener("timer", body),
    onHung: (session) => {
      hungSession = session
      kill()
    }
  })

  const onGone = (why: string): void => {
    if (isGone) return
    isGone = true
    watchdog.stop()
    kill()
    const culprit = turns.sessionAtWork()
    const waiting = turns.takeAll()
    try {
      options.onGone(startupErrors === "" ? why : `${why}: ${startupErrors.trim()}`)
    } catch (cause) {
      options.onDefect("child", cause)
    }
    for (const [session, { limitMillis, onAnswer }] of waiting) {
      deliverAnswer(
        onAnswer,
        session === hungSession
          ? { tag: "CpuLimit", limit: limitMillis }
          : { tag: "RunnerDied", wasAtWork: session === culprit }
      )
    }
  }

  const read = frameReader(onFrame)
  socket.on("data", guardListener("socket", read))
  socket.on(
    "error",
    guardListener("socket", (cause: Error) => onGone(`the runner's socket failed: ${errorName(cause)}`))
  )
  socket.on(
    "close",
    guardListener("socket", () =>
      onGone(hungSession === undefined ? "the runner closed its socket" : "a guest hung and its runner was killed")
    )
  )
  child.on(
    "error",
    guardListener("child", (cause: Error) => onGone(String(cause)))
  )
  child.on(
    "exit",
    guardListener("child", (code: number | null, signal: NodeJS.Signals | null) =>
      onGone(`the runner ended (${signal ?? code})`)
    )
  )
  child.stderr?.on(
    "data",
    guardListener("stderr", (chunk: Buffer) => {
      if (!isReady && startupErrors.length < 2000) startupErrors += chunk.toString()
    })
  )
  // The socket and the process report the runner's end, also when its source could not be written.
  child.stdin?.on("error", () => undefined)
  child.stdin?.end(options.source)
  const init = frame(RunnerRequest.init, 4 + options.wasm.length)
  init.writeUInt32BE(options.maxLiveGuests, 5)
  options.wasm.copy(init, 9)
  send(init)

  return {
    pid: child.pid,
    load: () => turns.size,
    isAlive: () => isReady && !isGone,
    start: (session, program, limits, events, onAnswer) => {
      const id = programs.idOf(program.key, program.script)
      addTurn(session, program.tenant, limits, onAnswer)
      send(
        eventsFrame(RunnerRequest.start, [session, id, limits.memoryBytes, Math.ceil(limits.cpuPerStepMillis)], events)
      )
    },
    feed: (session, tenant, limits, events, onAnswer) => {
      addTurn(session, tenant, limits, onAnswer)
      send(eventsFrame(RunnerRequest.feed, [session], events))
    },
    close: (session) => send(idFrame(RunnerRequest.close, session)),
    busyTenant: () => turns.busyTenant(),
    longTurns: turns.longTurns,
    evictWaiting,
    kill
  }
}

// --- Private ---

/** An error's name. Its message may quote a guest. */
const errorName = (cause: unknown): string => (cause instanceof Error ? cause.name : typeof cause)
