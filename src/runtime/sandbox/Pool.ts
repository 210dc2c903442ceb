/** The port `Sandbox` over fleets of jailed runner processes. */
import { availableParallelism } from "node:os"
import { Effect, Layer } from "effect"
import type {
  GuestEvent,
  GuestLimits,
  JailReport,
  Program,
  GuestSession,
  Turn,
  TurnAnswer
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
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { type Engines, enginesOf, startEngines } from "./Engines.js"
import type { Fleet } from "./Fleet.js"
import { defaultGuestMemory, GuestMemory, type GuestHolder } from "./GuestMemory.js"
import type { JailMode } from "../jail/Jail.js"
import { jails } from "../jail/Jail.js"
import type { ListenerOptions } from "../jail/JailedProcess.js"
import { makePoolLog } from "../jail/PoolLog.js"
import type { RunnerAnswer } from "./PendingTurns.js"
import { readRunner } from "./RunnerFiles.js"
import { engineIdentity } from "./runner/Identity.js"
import type { EventText } from "./runner/Protocol.js"
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
  /** Starts all runners at once: by default the others follow the first one once turns wait. For tests about several. */
  readonly startsAll?: boolean
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
            startsAll: options.startsAll,
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

/** A sandbox that starts no guest, for a node that does no runs: it knows the engine that they begin on. */
export const layerWithoutGuests = (options: Pick<SandboxOptions, "runnerPath" | "earlierPath">): Layer.Layer<Sandbox> =>
  Layer.effect(
    Sandbox,
    Effect.map(
      Effect.promise(() => readRunner(options.runnerPath, undefined)),
      ({ wasm }) => {
        const engine = engineIdentity(wasm)
        return Sandbox.of({
          start: (_program, _limits, _events, done) => {
            done(new SessionLost({ reason: "runnerDied" }))
            return {
              feed: (_, fed) => fed(new SessionLost({ reason: "closed" })),
              whenSent: (then) => then(),
              close: () => undefined
            }
          },
          engine,
          engines: enginesOf(engine, options.earlierPath),
          jail: Effect.succeed({ level: "full", detail: "no guest starts on this node" })
        })
      }
    )
  )

// --- Private ---

/** Characters of events in one frame: bounds the frame, and what is serialised without yielding. */
const maxFrameCharacters = 8 * 1024 * 1024

const makeSandbox = ({ current, earlier, names }: Engines, memory: GuestMemory): Sandbox["Type"] => {
  const [engine] = names
  let sessions = 0

  const start: Sandbox["Type"]["start"] = (program, limits, events, done) => {
    sessions = (sessions + 1) >>> 0
    const session = new Session(sessions, limits, program.owner, memory, program.alone === true)
    const startOn = (fleet: Fleet): void => session.start(fleet, program, events, done)
    if (program.engine === undefined || program.engine === engine) startOn(current)
    else earlier(program.engine).then(startOn, () => session.refuse(done))
    return session
  }

  return { start, engine, engines: names, jail: Effect.succeed<JailReport>(current.jail) }
}

/** An event as JSON, in the form in which it is sent. */
const eventText = (event: GuestEvent): EventText => {
  if (!("json" in event)) return JSON.stringify(event)
  const { id, json, now, ok } = event
  const head = `{"t":"done","id":${id},"now":${now},"ok":${ok},"${ok ? "v" : "e"}":`
  return typeof json === "string" ? `${head}${json}}` : { head, json }
}

/** Serialises the events that fit one frame, and returns the remaining ones. */
const takeFrame = (
  events: ReadonlyArray<GuestEvent>
): readonly [texts: ReadonlyArray<EventText>, rest: ReadonlyArray<GuestEvent>] => {
  const texts: Array<EventText> = []
  let length = 0
  for (const event of events) {
    const text = eventText(event)
    texts.push(text)
    length += typeof text === "string" ? text.length : text.json.length
    if (length > maxFrameCharacters) break
  }
  return [texts, texts.length === events.length ? [] : events.slice(texts.length)]
}

/** A session with a guest on a runner. A class, for speed: thousands are created in a second. */
class Session implements GuestSession, GuestHolder {
  /** The runner has no guest of it, or will have none. */
  #over = false
  /** Nobody waits for an answer any more. */
  #isClosed = false
  private runner: RunnerProcess | undefined
  private stopWaiting = (): void => undefined

  constructor(
    readonly id: number,
    private readonly limits: GuestLimits,
    readonly owner: ShareOwner,
    private readonly memory: GuestMemory,
    /** The runner is exclusive to this guest and is killed at its end. */
    private readonly alone: boolean
  ) {}

  /** Starts the guest on a runner of the fleet, once there is one. */
  start(fleet: Fleet, program: Program, events: ReadonlyArray<GuestEvent>, done: (answer: TurnAnswer) => void): void {
    if (this.#isClosed) return
    const onRunner = (runner: RunnerProcess): void => {
      this.runner = runner
      const [texts, rest] = takeFrame(events)
      runner.start(this.id, program, this.limits, texts, (reply) => this.settle(reply, rest, undefined, done))
    }
    this.stopWaiting = this.alone ? fleet.pickExclusive(this.owner, onRunner) : fleet.pickRunner(this.owner, onRunner)
  }

  /** There is no runner for the guest. */
  refuse(done: (answer: TurnAnswer) => void): void {
    if (!this.#isClosed) done(this.lost("runnerDied"))
  }

  readonly feed: GuestSession["feed"] = (events, done) => this.feedFrame(events, undefined, done)

  readonly whenSent = (then: () => void): void => {
    if (this.runner === undefined) then()
    else this.runner.whenSent(then)
  }

  readonly close = (): void => {
    this.#isClosed = true
    this.stopWaiting()
    if (this.#over) return
    if (this.runner?.isAlive() === true) this.runner.close(this.id)
    this.end()
  }

  /** Drops the guest on its runner; its next turn fails with `SessionLost`. */
  evict(): void {
    if (this.runner?.isAlive() === true) this.runner.close(this.id)
  }

  /** Feeds the events that fit one frame. `before`: the turn of those that did not fit the same one. */
  private feedFrame(
    events: ReadonlyArray<GuestEvent>,
    before: Turn | undefined,
    done: (answer: TurnAnswer) => void
  ): void {
    if (this.#over || this.runner === undefined) return done(new SessionLost({ reason: "closed" }))
    if (!this.runner.isAlive()) return done(this.lost("runnerDied"))
    this.memory.release(this)
    const [texts, rest] = takeFrame(events)
    this.runner.feed(this.id, this.owner, this.limits, texts, (reply) => this.settle(reply, rest, before, done))
  }

  /** Takes the reply to a frame; feeds the events that did not fit it, unless the workflow has ended. */
  private settle(
    reply: RunnerAnswer,
    rest: ReadonlyArray<GuestEvent>,
    before: Turn | undefined,
    done: (answer: TurnAnswer) => void
  ): void {
    const answer = this.answerOf(reply)
    if (this.#isClosed) return
    if (answer._tag !== "Turn") return done(answer)
    const turn =
      before === undefined
        ? answer
        : {
            ...answer,
            outputs: [...before.outputs, ...answer.outputs],
            cpuMillis: before.cpuMillis + answer.cpuMillis
          }
    if (rest.length === 0 || this.#over) done(turn)
    else this.feedFrame(rest, turn, done)
  }

  private end(): void {
    this.#over = true
    this.memory.release(this)
    if (this.alone) this.runner?.kill()
  }

  private lost(reason: SessionLost["reason"]): SessionLost {
    this.end()
    return new SessionLost({ reason })
  }

  /** What a runner's reply means. After any reply but a turn the runner has dropped the guest. */
  private answerOf(reply: RunnerAnswer): TurnAnswer {
    if (reply.tag === "Turn") {
      const { cpuMillis, memoryBytes, outputs } = reply
      if (reply.ended) this.end()
      else if (!this.#over) this.memory.suspend(this, memoryBytes)
      return { _tag: "Turn", outputs, cpuMillis, memoryBytes }
    }
    this.end()
    switch (reply.tag) {
      case "RunnerDied":
        return new SessionLost({ reason: reply.wasAtWork ? "diedAtWork" : "runnerDied" })
      case "OutOfMemory":
        return new OutOfMemory({ limitBytes: reply.limit })
      case "CpuLimit":
        return new CpuLimit({ limitMillis: reply.limit, ...(reply.step === undefined ? {} : { step: reply.step }) })
      case "OutputTooLarge":
        return new OutputTooLarge({ limitBytes: reply.limit })
      case "TooManyValues":
        return new TooManyValues({ limit: reply.limit })
      case "LoadFailed":
        return new LoadFailed({ name: reply.name, message: reply.message })
      case "SessionLost":
        return new SessionLost({ reason: reply.reason })
    }
  }
}
