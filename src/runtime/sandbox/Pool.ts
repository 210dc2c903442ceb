/** The port `Sandbox` over fleets of jailed runner processes. */
import { availableParallelism } from "node:os"
import { Effect, Layer } from "effect"
import type {
  GuestEvent,
  GuestLimits,
  JailReport,
  Program,
  SandboxFailure,
  GuestSession,
  Turn
} from "../../actors/ports/run/Sandbox.js"
import {
  CpuLimit,
  LoadFailed,
  OutOfMemory,
  OutputTooLarge,
  Sandbox,
  SessionLost,
  TooManyValues
} from "../../actors/ports/run/Sandbox.js"
import { type Engines, startEngines } from "./Engines.js"
import type { Fleet } from "./Fleet.js"
import { tenantOf } from "./RunnerChoice.js"
import { defaultGuestMemory, GuestMemory, type GuestHolder } from "./GuestMemory.js"
import type { JailMode } from "../jail/Jail.js"
import { jails } from "../jail/Jail.js"
import type { ListenerOptions } from "../jail/JailedProcess.js"
import { makePoolLog } from "../jail/PoolLog.js"
import type { TurnAnswer } from "./PendingTurns.js"
import { readRunner } from "./RunnerFiles.js"
import { engineIdentity } from "./runner/Identity.js"
import type { RunnerProcess } from "./RunnerProcess.js"

export interface SandboxOptions {
  /** The bundle of `runner/Runner.ts`. */
  readonly runnerPath: string
  /** The engine's module; by default `quickjs.wasm` beside the bundle, else the one of the installed package. */
  readonly wasmPath?: string
  /** The folder of the engines of earlier builds; by default there are none. */
  readonly earlierPath?: string
  /** Runner processes; by default one for each processor, and one more as a spare. */
  readonly runners?: number
  readonly spare?: boolean
  /** Live guests of one runner; beyond it the longest suspended one is evicted. */
  readonly liveGuests?: number
  /** Memory of guests in bytes, over all runners; by default a quarter of the machine's or the container's. */
  readonly guestMemory?: number
  /** Which jail to use; by default the strictest one that works here. */
  readonly jail?: JailMode
  /** Called as a listener of a runner begins. For tests: what it throws must end that runner only. */
  readonly onListener?: ListenerOptions["onListener"]
  /** Called once the runners are up, with a function that returns their process ids. */
  readonly onStarted?: (pids: () => ReadonlyArray<number>) => void
}

/** Default number of live guests of one runner: each takes about 0.8 MB. */
export const defaultLiveGuests = 200

/** Fails, as a defect, when no runner can be started at all. */
export const layer = (options: SandboxOptions): Layer.Layer<Sandbox> =>
  Layer.scoped(
    Sandbox,
    Effect.gen(function* () {
      const files = yield* Effect.promise(() => readRunner(options.runnerPath, options.wasmPath))
      const log = yield* makePoolLog("sandbox")
      const runners = options.runners ?? availableParallelism()
      const start = Effect.promise(() =>
        startEngines(
          {
            ...log,
            jails: jails(options.jail ?? "auto"),
            runners,
            spare: options.spare ?? true,
            maxLiveGuests: options.liveGuests ?? defaultLiveGuests,
            earlierPath: options.earlierPath,
            onListener: options.onListener
          },
          { ...files, engine: engineIdentity(files.wasm) }
        )
      )
      const engines = yield* Effect.acquireRelease(start, (started) => Effect.sync(started.stop))
      options.onStarted?.(engines.pids)
      const { jail } = engines.current
      if (jail.level !== "full")
        yield* Effect.annotateLogs(Effect.logWarning("sandbox.jail_incomplete"), {
          level: jail.level,
          detail: jail.detail
        })
      const memory = new GuestMemory(options.guestMemory ?? defaultGuestMemory(), runners)
      return Sandbox.of(makeSandbox(engines, memory))
    })
  )

// --- Private ---

/** Characters of events in one frame: bounds the frame, and what is serialised without yielding. */
const maxFrameCharacters = 8 * 1024 * 1024

const makeSandbox = ({ current, earlier, names }: Engines, memory: GuestMemory): Sandbox["Type"] => {
  const [engine] = names
  let sessions = 0

  /** Starts a guest with the events that fit one frame, and returns its turn and the remaining events. */
  const startGuest = (
    program: Program,
    limits: GuestLimits,
    events: ReadonlyArray<GuestEvent>
  ): Effect.Effect<readonly [turn: GuestTurn, rest: ReadonlyArray<GuestEvent>], SandboxFailure> =>
    Effect.async((resume) => {
      sessions = (sessions + 1) >>> 0
      const id = sessions
      const [texts, rest] = takeFrame(events)
      let session: Session | undefined
      let isInterrupted = false
      let stopWaiting = (): void => undefined
      const startOn = (fleet: Fleet): void => {
        if (isInterrupted) return
        const onRunner = (runner: RunnerProcess): void => {
          const opened = new Session(runner, id, limits, tenantOf(program.key), memory, program.alone === true)
          session = opened
          runner.start(id, { ...program, tenant: tenantOf(program.key) }, limits, texts, (answer) =>
            resume(Effect.map(settleTurn(opened, answer), (turn) => [turn, rest] as const))
          )
        }
        stopWaiting = program.alone === true ? fleet.pickExclusive(onRunner) : fleet.pickRunner(program.key, onRunner)
      }
      if (program.engine === undefined || program.engine === engine) startOn(current)
      else earlier(program.engine).then(startOn, () => resume(Effect.fail(new SessionLost({ reason: "runnerDied" }))))
      return Effect.sync(() => {
        isInterrupted = true
        stopWaiting()
        session?.release()
      })
    })

  const start: Sandbox["Type"]["start"] = (program, limits, first, replay = []) =>
    Effect.flatMap(startGuest(program, limits, [first, ...replay]), ([turn, rest]) =>
      rest.length === 0 ? Effect.succeed(turn) : feedRest(turn, rest)
    )

  return { start, engine, engines: names, jail: Effect.succeed<JailReport>(current.jail) }
}

interface GuestTurn extends Turn {
  readonly session: Session
}

/** An event as JSON, in the form in which it is sent. */
const eventText = (event: GuestEvent): string | Uint8Array => {
  if (!("json" in event)) return JSON.stringify(event)
  const head = `{"t":"done","id":${event.id},"now":${event.now},"ok":${event.ok},"${event.ok ? "v" : "e"}":`
  if (typeof event.json === "string") return `${head}${event.json}}`
  const bytes = Buffer.allocUnsafe(head.length + event.json.length + 1)
  bytes.write(head, "latin1")
  bytes.set(event.json, head.length)
  bytes.write("}", bytes.length - 1, "latin1")
  return bytes
}

/** Serialises the events that fit one frame, and returns the remaining ones. */
const takeFrame = (
  events: ReadonlyArray<GuestEvent>
): readonly [texts: ReadonlyArray<string | Uint8Array>, rest: ReadonlyArray<GuestEvent>] => {
  const texts: Array<string | Uint8Array> = []
  let length = 0
  for (const event of events) {
    const text = eventText(event)
    texts.push(text)
    length += text.length
    if (length > maxFrameCharacters) break
  }
  return [texts, texts.length === events.length ? [] : events.slice(texts.length)]
}

const settleTurn = (session: Session, answer: TurnAnswer): Effect.Effect<GuestTurn, SandboxFailure> =>
  Effect.suspend(() => session.settle(answer))

/** Feeds the events that did not fit the first frame. */
const feedRest = (turn: GuestTurn, events: ReadonlyArray<GuestEvent>): Effect.Effect<GuestTurn, SandboxFailure> =>
  turn.session.isOver
    ? Effect.succeed(turn)
    : Effect.flatMap(turn.session.feedChunk(events), ([next, rest]) => {
        const combined = {
          ...next,
          outputs: [...turn.outputs, ...next.outputs],
          cpuMillis: turn.cpuMillis + next.cpuMillis
        }
        return rest.length === 0 ? Effect.succeed(combined) : feedRest(combined, rest)
      })

/** A session with a guest on a runner. A class, for speed: thousands are created in a second. */
class Session implements GuestSession, GuestHolder {
  #over = false
  readonly close: Effect.Effect<void>

  constructor(
    readonly runner: RunnerProcess,
    readonly id: number,
    readonly limits: GuestLimits,
    readonly tenant: string,
    readonly memory: GuestMemory,
    /** The runner is exclusive to this guest and is killed at its end. */
    readonly alone: boolean
  ) {
    this.close = Effect.sync(() => this.release())
  }

  get isOver(): boolean {
    return this.#over
  }

  readonly feed = (events: ReadonlyArray<GuestEvent>): Effect.Effect<Turn, SandboxFailure> =>
    Effect.flatMap(this.feedChunk(events), ([turn, rest]) =>
      rest.length === 0 ? Effect.succeed(turn) : feedRest(turn, rest)
    )

  feedChunk(
    events: ReadonlyArray<GuestEvent>
  ): Effect.Effect<readonly [turn: GuestTurn, rest: ReadonlyArray<GuestEvent>], SandboxFailure> {
    return Effect.async((resume) => {
      if (this.#over) return resume(Effect.fail(new SessionLost({ reason: "closed" })))
      if (!this.runner.isAlive()) return resume(Effect.fail(this.lost("runnerDied")))
      this.memory.release(this)
      const [texts, rest] = takeFrame(events)
      this.runner.feed(this.id, this.tenant, this.limits, texts, (answer) =>
        resume(Effect.map(settleTurn(this, answer), (turn) => [turn, rest] as const))
      )
      return Effect.sync(() => this.release())
    })
  }

  release(): void {
    if (this.#over) return
    if (this.runner.isAlive()) this.runner.close(this.id)
    this.end()
  }

  /** Drops the guest on its runner; its next turn fails with `SessionLost`. */
  evict(): void {
    if (this.runner.isAlive()) this.runner.close(this.id)
  }

  private end(): void {
    this.#over = true
    this.memory.release(this)
    if (this.alone) this.runner.kill()
  }

  private lost(reason: SessionLost["reason"]): SessionLost {
    this.end()
    return new SessionLost({ reason })
  }

  /** The result of a turn for its caller. After any answer but a turn the runner has dropped the guest. */
  settle(answer: TurnAnswer): Effect.Effect<GuestTurn, SandboxFailure> {
    if (answer.tag === "Turn") {
      const { cpuMillis, memoryBytes, outputs } = answer
      if (answer.ended) this.end()
      else if (!this.#over) this.memory.suspend(this, memoryBytes)
      return Effect.succeed({ session: this, outputs, cpuMillis, memoryBytes })
    }
    this.end()
    switch (answer.tag) {
      case "RunnerDied":
        return Effect.fail(new SessionLost({ reason: answer.wasAtWork ? "diedAtWork" : "runnerDied" }))
      case "OutOfMemory":
        return Effect.fail(new OutOfMemory({ limitBytes: answer.limit }))
      case "CpuLimit":
        return Effect.fail(new CpuLimit({ limitMillis: answer.limit }))
      case "OutputTooLarge":
        return Effect.fail(new OutputTooLarge({ limitBytes: answer.limit }))
      case "TooManyValues":
        return Effect.fail(new TooManyValues({ limit: answer.limit }))
      case "LoadFailed":
        return Effect.fail(new LoadFailed({ name: answer.name, message: answer.message }))
      case "SessionLost":
        return Effect.fail(new SessionLost({ reason: answer.reason }))
    }
  }
}
