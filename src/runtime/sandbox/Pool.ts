/** The sandbox over a fleet of jailed runner processes. */
import { availableParallelism } from "node:os"
import { Cause, Effect, Layer, Runtime } from "effect"
import type {
  GuestEvent,
  GuestLimits,
  JailReport,
  Program,
  SandboxFailure,
  GuestSession,
  Turn
} from "../../actors/ports/Sandbox.js"
import {
  CpuLimit,
  LoadFailed,
  OutOfMemory,
  OutputTooLarge,
  Sandbox,
  SessionLost,
  TooManyValues
} from "../../actors/ports/Sandbox.js"
import { type Engines, startEngines } from "./Engines.js"
import { type Fleet, tenantOf } from "./Fleet.js"
import { defaultGuestMemory, GuestMemory, type Holder } from "./GuestMemory.js"
import type { JailMode } from "../jail/Jail.js"
import { jails } from "../jail/Jail.js"
import { readRunner } from "./RunnerFiles.js"
import { engineIdentity } from "./runner/Identity.js"
import type { RunnerOptions, RunnerProcess } from "./RunnerProcess.js"
import type { TurnAnswer } from "./TurnAnswer.js"

export interface SandboxOptions {
  /** The bundle of `runner/Runner.ts`. */
  readonly runnerPath: string
  /** The engine's module; by default `quickjs.wasm` beside the bundle, else the one of the installed package. */
  readonly wasmPath?: string
  /** Where the engines of earlier builds lie; by default none is carried. */
  readonly earlierPath?: string
  /** Runner processes at work; by default one for each processor. One more is kept as a spare. */
  readonly runners?: number
  readonly spare?: boolean
  /** Guests that one runner keeps alive; beyond it the one that waits longest is dropped. */
  readonly liveGuests?: number
  /** Memory of guests in bytes, over all runners; by default a quarter of the machine's or the container's. */
  readonly guestMemory?: number
  /** Which jail to use; by default the strictest one that works here. */
  readonly jail?: JailMode
  /** Called as a listener of a runner begins. Only tests give one: what it throws must end nothing but that runner. */
  readonly onListener?: RunnerOptions["onListener"]
  /** Told of the runner processes once they are up, for those who must know their ids. */
  readonly onStarted?: (pids: () => ReadonlyArray<number>) => void
}

/** Live guests that fit one runner: each holds about 0.8 MB. */
export const defaultLiveGuests = 200

/** Fails, as a defect, when no runner can be started at all. */
export const layer = (options: SandboxOptions): Layer.Layer<Sandbox> =>
  Layer.scoped(
    Sandbox,
    Effect.gen(function* () {
      const files = yield* Effect.promise(() => readRunner(options.runnerPath, options.wasmPath))
      const runFork = Runtime.runFork(yield* Effect.runtime())
      const runners = options.runners ?? availableParallelism()
      const start = Effect.promise(() =>
        startEngines(
          {
            jails: jails(options.jail ?? "auto"),
            runners,
            spare: options.spare ?? true,
            mostLive: options.liveGuests ?? defaultLiveGuests,
            earlierPath: options.earlierPath,
            onTrouble: (event, fields) => void runFork(Effect.annotateLogs(Effect.logWarning(event), fields)),
            onDefect: (listener, cause) =>
              void runFork(
                Effect.annotateLogs(Effect.logError("sandbox.listener_failed", Cause.die(cause)), { listener })
              ),
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

/** Characters of events that are sent to a runner at a time: a frame has a bound, and so has what is serialised at once. */
const eventsAtOnce = 8 * 1024 * 1024

const makeSandbox = ({ current, earlier, names }: Engines, memory: GuestMemory): Sandbox["Type"] => {
  const [engine] = names
  let sessions = 0

  /** Starts a guest with as many events as go in one frame, and returns its turn and the events that are left. */
  const begin = (
    program: Program,
    limits: GuestLimits,
    events: ReadonlyArray<GuestEvent>
  ): Effect.Effect<readonly [turn: OwnTurn, rest: ReadonlyArray<GuestEvent>], SandboxFailure> =>
    Effect.async((resume) => {
      sessions = (sessions + 1) >>> 0
      const id = sessions
      const [texts, rest] = chunk(events)
      let guest: Guest | undefined
      let isGivenUp = false
      let stopWaiting = (): void => undefined
      const startOn = (fleet: Fleet): void => {
        if (isGivenUp) return
        const onRunner = (runner: RunnerProcess): void => {
          const owner = new Guest(runner, id, limits, tenantOf(program.key), memory, program.alone === true)
          guest = owner
          runner.start(id, { ...program, tenant: tenantOf(program.key) }, limits, texts, (answer) =>
            resume(Effect.map(settled(owner, answer), (turn) => [turn, rest] as const))
          )
        }
        stopWaiting = program.alone === true ? fleet.pickAlone(onRunner) : fleet.pick(program.key, onRunner)
      }
      if (program.engine === undefined || program.engine === engine) startOn(current)
      else earlier(program.engine).then(startOn, () => resume(Effect.fail(new SessionLost({ reason: "runnerDied" }))))
      return Effect.sync(() => {
        isGivenUp = true
        stopWaiting()
        guest?.giveBack()
      })
    })

  const start: Sandbox["Type"]["start"] = (program, limits, first, replay = []) =>
    Effect.flatMap(begin(program, limits, [first, ...replay]), ([turn, rest]) =>
      rest.length === 0 ? Effect.succeed(turn) : goOn(turn, rest)
    )

  return { start, engine, engines: names, jail: Effect.succeed<JailReport>(current.jail) }
}

interface OwnTurn extends Turn {
  readonly session: Guest
}

/** The first events as text, as many as are sent at a time, and those that are left. */
const chunk = (
  events: ReadonlyArray<GuestEvent>
): readonly [texts: ReadonlyArray<string>, rest: ReadonlyArray<GuestEvent>] => {
  const texts: Array<string> = []
  let length = 0
  for (const event of events) {
    const text = JSON.stringify(event)
    texts.push(text)
    length += text.length
    if (length > eventsAtOnce) break
  }
  return [texts, texts.length === events.length ? [] : events.slice(texts.length)]
}

const settled = (guest: Guest, answer: TurnAnswer): Effect.Effect<OwnTurn, SandboxFailure> =>
  Effect.suspend(() => guest.settle(answer))

/** Feeds what did not go into one frame. */
const goOn = (turn: OwnTurn, events: ReadonlyArray<GuestEvent>): Effect.Effect<OwnTurn, SandboxFailure> =>
  turn.session.isOver
    ? Effect.succeed(turn)
    : Effect.flatMap(turn.session.feedChunk(events), ([next, rest]) => {
        const both = {
          ...next,
          outputs: [...turn.outputs, ...next.outputs],
          cpuMillis: turn.cpuMillis + next.cpuMillis
        }
        return rest.length === 0 ? Effect.succeed(both) : goOn(both, rest)
      })

/** A session, and whether it is still there. A class, since thousands come and go in a second. */
class Guest implements GuestSession, Holder {
  #over = false
  readonly close: Effect.Effect<void>

  constructor(
    readonly runner: RunnerProcess,
    readonly id: number,
    readonly limits: GuestLimits,
    readonly tenant: string,
    readonly memory: GuestMemory,
    /** The runner is this guest's own, and ends with it. */
    readonly alone: boolean
  ) {
    this.close = Effect.sync(() => this.giveBack())
  }

  get isOver(): boolean {
    return this.#over
  }

  readonly feed = (events: ReadonlyArray<GuestEvent>): Effect.Effect<Turn, SandboxFailure> =>
    Effect.flatMap(this.feedChunk(events), ([turn, rest]) =>
      rest.length === 0 ? Effect.succeed(turn) : goOn(turn, rest)
    )

  feedChunk(
    events: ReadonlyArray<GuestEvent>
  ): Effect.Effect<readonly [turn: OwnTurn, rest: ReadonlyArray<GuestEvent>], SandboxFailure> {
    return Effect.async((resume) => {
      if (this.#over) return resume(Effect.fail(new SessionLost({ reason: "closed" })))
      if (!this.runner.alive()) return resume(Effect.fail(this.lost("runnerDied")))
      this.memory.wake(this)
      const [texts, rest] = chunk(events)
      this.runner.feed(this.id, this.tenant, this.limits, texts, (answer) =>
        resume(Effect.map(settled(this, answer), (turn) => [turn, rest] as const))
      )
      return Effect.sync(() => this.giveBack())
    })
  }

  giveBack(): void {
    if (this.#over) return
    if (this.runner.alive()) this.runner.close(this.id)
    this.end()
  }

  /** Its runner forgets it; the next time that it is fed it is told to be lost. */
  evict(): void {
    if (this.runner.alive()) this.runner.close(this.id)
  }

  private end(): void {
    this.#over = true
    this.memory.wake(this)
    if (this.alone) this.runner.kill()
  }

  private lost(reason: SessionLost["reason"]): SessionLost {
    this.end()
    return new SessionLost({ reason })
  }

  /** What an answer means to whoever asked. The runner has forgotten the guest after all answers but a turn. */
  settle(answer: TurnAnswer): Effect.Effect<OwnTurn, SandboxFailure> {
    if (answer.tag === "Turn") {
      const { cpuMillis, memoryBytes, outputs } = answer
      if (answer.ended) this.end()
      else if (!this.#over) this.memory.rest(this, memoryBytes)
      return Effect.succeed({ session: this, outputs, cpuMillis, memoryBytes })
    }
    this.end()
    switch (answer.tag) {
      case "RunnerDied":
        return Effect.fail(new SessionLost({ reason: answer.inHand ? "diedAtWork" : "runnerDied" }))
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
