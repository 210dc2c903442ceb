/**
 * One runner as the pool sees it: frames out, answers back, and a watch over the guest that it works on. Callbacks,
 * not effects: this is the path of every turn.
 */
import { frame, frameReader } from "../jail/Frames.js"
import { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import type { GuestLimits } from "../../actors/ports/Sandbox.js"
import { childProcessorMillis } from "../jail/ProcessorTime.js"
import { type AskedTurn, PendingTurns } from "./PendingTurns.js"
import type { TurnAnswer } from "./TurnAnswer.js"
import type { Jail } from "../jail/Jail.js"
import { LoadedPrograms } from "./LoadedPrograms.js"
import { LongTurns } from "./LongTurns.js"
import { readOutputs } from "./Outputs.js"
import {
  RunnerRequest,
  eventsFrame,
  idFrame,
  type TurnFailure,
  RunnerReply,
  turnFlag,
  turnHeader
} from "./runner/Protocol.js"

/** What lists of processes show behind the command. */
const processName = "svc-runner"
/** A turn that takes longer than this holds up those behind it. */
const holdMillis = 20
/** How long a turn of another tenant waits before it is taken elsewhere. */
const patienceMillis = 20
/** From so many turns on, a queue is long. */
const longQueue = 8
/** How long beyond its computing time a guest may stay silent before its runner is killed. */
const graceMillis = 500
/** How often the runner at work is looked at. */
const watchMillis = 100
/** Silence beyond this many times the allowed one kills, even if the runner had no processor to compute with. */
const starvation = 10
export interface RunnerProcess {
  readonly pid: number | undefined
  /** Turns asked for and not answered yet. */
  readonly load: () => number
  readonly alive: () => boolean
  readonly start: (
    session: number,
    program: { readonly key: string; readonly script: string; readonly tenant: string },
    limits: GuestLimits,
    events: ReadonlyArray<string>,
    onAnswer: (answer: TurnAnswer) => void
  ) => void
  readonly feed: (
    session: number,
    tenant: string,
    limits: GuestLimits,
    events: ReadonlyArray<string>,
    onAnswer: (answer: TurnAnswer) => void
  ) => void
  readonly close: (session: number) => void
  /** The tenant who keeps others waiting here: its turn is long, or most of a long queue is its own. */
  readonly heldBy: () => string | undefined
  /** Whose turns were long here lately. */
  readonly longTurns: LongTurns
  /**
   * Takes turns of other tenants than the one at work out of the queue when they have waited too long and `hasPlace` says
   * that another runner would take them: their guests are lost, to be replayed there.
   */
  readonly relieve: (hasPlace: (tenant: string) => boolean) => void
  readonly kill: () => void
}

export interface RunnerOptions {
  readonly jail: Jail
  readonly source: Buffer
  readonly wasm: Buffer
  readonly mostLive: number
  /** It answers; `engine` is what it says it is. */
  readonly onReady: (engine: string) => void
  /** It is gone, ready or not. Called once. */
  readonly onGone: (why: string) => void
  /** Turns wait behind the one in hand. */
  readonly onQueued: () => void
  /** A listener threw: a bug. The runner is given up, and its guests are told as when it dies. */
  readonly onDefect: (listener: Listener, cause: unknown) => void
  /** Called as a listener begins, so that a test can make it throw. */
  readonly onListener?: ((listener: Listener) => void) | undefined
}

/** What calls back into this process on behalf of a runner. */
export type Listener = "child" | "socket" | "stderr" | "timer" | "answer"

export const startRunner = (options: RunnerOptions): RunnerProcess => {
  const child = spawn(options.jail.command, [...options.jail.args, processName], {
    cwd: "/",
    env: { TZ: "UTC" },
    // In a session of its own: a Ctrl-C in the terminal is for the service, which still needs its runners to drain.
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "pipe"]
  })
  // Node types further pipes as readable or writable; a "pipe" is a socket, hence both.
  const socket = child.stdio[3] as Duplex
  /** The first is in hand unless `current` says otherwise. */
  const asked = new PendingTurns()
  /** Replays that stepped aside. */
  const paused = new Map<number, AskedTurn>()
  const programs = new LoadedPrograms((bytes) => send(bytes))
  const longTurns = new LongTurns()
  let current: number | undefined
  let since = 0
  let hung: number | undefined
  let ready = false
  let gone = false
  /** What it wrote to its error stream before it was ready. Afterwards that may quote a tenant, and the end is logged. */
  let complaint = ""

  /** What a listener throws ends this runner, not the process. */
  const guarded =
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

  /** Each is told by itself: what one of them throws is kept from the others. */
  const tell = (onAnswer: AskedTurn["onAnswer"], answer: TurnAnswer): void => {
    try {
      options.onListener?.("answer")
      onAnswer(answer)
    } catch (cause) {
      options.onDefect("answer", cause)
    }
  }

  // --- Writing ---

  let outgoing: Array<Buffer> = []
  const flush = (): void => {
    const frames = outgoing
    outgoing = []
    const [only] = frames
    if (!gone && only !== undefined) socket.write(frames.length === 1 ? only : Buffer.concat(frames))
  }
  // One write for all that is asked in one turn of the event loop: a write wakes the runner, which costs more than it says.
  const send = (bytes: Buffer): void => {
    if (outgoing.push(bytes) === 1) setImmediate(guarded("socket", flush))
  }

  // --- Answers ---

  const ask = (session: number, tenant: string, limits: GuestLimits, onAnswer: (answer: TurnAnswer) => void): void => {
    const askedAt = performance.now()
    if (asked.size === 0 && paused.size === 0) since = askedAt
    asked.add(session, { onAnswer, limitMillis: limits.cpuPerStepMillis, tenant, askedAt })
    watch()
    if (asked.size > 1) options.onQueued()
  }

  /** Notes that the runner has answered, and returns whom to tell. */
  const answered = (session: number): ((answer: TurnAnswer) => void) => {
    const waiting = asked.take(session) ?? paused.get(session)
    paused.delete(session)
    current = undefined
    const now = performance.now()
    if (waiting !== undefined) longTurns.add(waiting.tenant, now - since, now)
    since = now
    return (answer) => {
      if (waiting !== undefined) tell(waiting.onAnswer, answer)
    }
  }

  const onFrame = (kind: number, payload: Buffer): void => {
    const session = payload.readUInt32BE(0)
    switch (kind) {
      case RunnerReply.turn: {
        const flags = payload[4] ?? 0
        const answer = answered(session)
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
            answer({ tag: "RunnerDied", inHand: true })
            onGone(`the runner broke the protocol: ${nameOf(cause)}`)
          }
        )
      }
      case RunnerReply.failed: {
        const refusal = JSON.parse(payload.toString("utf8", 4)) as TurnFailure
        return answered(session)(refusal)
      }
      case RunnerReply.yielded: {
        const waiting = asked.take(session)
        if (waiting !== undefined) paused.set(session, waiting)
        current = undefined
        since = performance.now()
        return
      }
      case RunnerReply.begin:
        current = session
        since = performance.now()
        return
      case RunnerReply.ready:
        ready = true
        complaint = ""
        return options.onReady(payload.toString("utf8", 4))
      default:
        throw new Error(`a runner says ${kind}, which is unknown`)
    }
  }

  const inHand = (): number | undefined => current ?? asked.first()

  // --- Other tenants' turns ---

  const tenantInHand = (): string | undefined => {
    const session = inHand()
    return session === undefined ? undefined : (asked.get(session) ?? paused.get(session))?.tenant
  }

  const heldBy = (): string | undefined => {
    const tenant = tenantInHand()
    if (tenant === undefined || performance.now() - since > holdMillis) return tenant
    if (asked.size < longQueue) return undefined
    return asked.areMostly(tenant) ? tenant : undefined
  }

  const relieve = (hasPlace: (tenant: string) => boolean): void => {
    const atWork = inHand()
    const tenant = tenantInHand()
    const now = performance.now()
    for (const [session, one] of asked.entries()) {
      if (session === atWork || one.tenant === tenant || now - one.askedAt < patienceMillis) continue
      if (!hasPlace(one.tenant)) continue
      asked.take(session)
      send(idFrame(RunnerRequest.close, session))
      tell(one.onAnswer, { tag: "SessionLost", reason: "evicted" })
    }
  }

  // --- The watch ---

  let watching: NodeJS.Timeout | undefined
  let seen = { since: 0, processor: 0 }
  const watch = (): void => {
    if (watching === undefined) watching = setTimeout(guarded("timer", look), watchMillis).unref()
  }
  const look = (): void => {
    watching = undefined
    if (gone || asked.size + paused.size === 0) return
    watch()
    const session = inHand()
    // Between a replay that stepped aside and the next piece of work nothing is in hand.
    if (session === undefined) return
    if (seen.since !== since) seen = { since, processor: childProcessorMillis(child) }
    const allowed = ((asked.get(session) ?? paused.get(session))?.limitMillis ?? 0) + graceMillis
    const silent = performance.now() - since
    if (silent < allowed) return
    // It may have answered while this process was busy: read what there is before judging.
    const suspected = since
    const judge = guarded("timer", () => {
      if (gone || since !== suspected || inHand() !== session) return
      const computed = childProcessorMillis(child) - seen.processor
      if (computed < allowed && silent < allowed * starvation) return
      hung = session
      kill()
    })
    setImmediate(() => setImmediate(judge))
  }

  // --- The end ---

  const kill = (): void => {
    child.kill("SIGKILL")
    socket.destroy()
  }

  const onGone = (why: string): void => {
    if (gone) return
    gone = true
    clearTimeout(watching)
    kill()
    const waiting = [...asked.entries(), ...paused]
    const culprit = inHand()
    asked.clear()
    paused.clear()
    try {
      options.onGone(complaint === "" ? why : `${why}: ${complaint.trim()}`)
    } catch (cause) {
      options.onDefect("child", cause)
    }
    for (const [session, { limitMillis, onAnswer }] of waiting) {
      tell(
        onAnswer,
        session === hung ? { tag: "CpuLimit", limit: limitMillis } : { tag: "RunnerDied", inHand: session === culprit }
      )
    }
  }

  const read = frameReader(onFrame)
  socket.on("data", guarded("socket", read))
  socket.on(
    "error",
    guarded("socket", (cause: Error) => onGone(`the runner's socket failed: ${nameOf(cause)}`))
  )
  socket.on(
    "close",
    guarded("socket", () =>
      onGone(hung === undefined ? "the runner closed its socket" : "a guest hung and its runner was killed")
    )
  )
  child.on(
    "error",
    guarded("child", (cause: Error) => onGone(String(cause)))
  )
  child.on(
    "exit",
    guarded("child", (code: number | null, signal: NodeJS.Signals | null) =>
      onGone(`the runner ended (${signal ?? code})`)
    )
  )
  child.stderr?.on(
    "data",
    guarded("stderr", (chunk: Buffer) => {
      if (!ready && complaint.length < 2000) complaint += chunk.toString()
    })
  )
  // Its end is told by the socket and by the process; a source that could not be delivered is told by both.
  child.stdin?.on("error", () => undefined)
  child.stdin?.end(options.source)
  const init = frame(RunnerRequest.init, 4 + options.wasm.length)
  init.writeUInt32BE(options.mostLive, 5)
  options.wasm.copy(init, 9)
  send(init)

  return {
    pid: child.pid,
    load: () => asked.size + paused.size,
    alive: () => ready && !gone,
    start: (session, program, limits, events, onAnswer) => {
      const id = programs.idOf(program.key, program.script)
      ask(session, program.tenant, limits, onAnswer)
      send(
        eventsFrame(RunnerRequest.start, [session, id, limits.memoryBytes, Math.ceil(limits.cpuPerStepMillis)], events)
      )
    },
    feed: (session, tenant, limits, events, onAnswer) => {
      ask(session, tenant, limits, onAnswer)
      send(eventsFrame(RunnerRequest.feed, [session], events))
    },
    close: (session) => send(idFrame(RunnerRequest.close, session)),
    heldBy,
    longTurns,
    relieve,
    kill
  }
}

// --- Private ---

/** An error without its message, which may quote what a guest said. */
const nameOf = (cause: unknown): string => (cause instanceof Error ? cause.name : typeof cause)
