/** The sandbox over a fleet of jailed runner processes. */
import { availableParallelism } from "node:os"
import { Effect, Layer, Runtime } from "effect"
import type {
  GuestEvent,
  GuestLimits,
  JailReport,
  Program,
  SandboxFailure,
  Session,
  Turn
} from "../../actors/ports/Sandbox.js"
import { CpuLimit, LoadFailed, OutOfMemory, OutputTooLarge, Sandbox, SessionLost } from "../../actors/ports/Sandbox.js"
import { type Engines, startEngines } from "./Engines.js"
import type { Fleet } from "./Fleet.js"
import type { JailMode } from "./Jail.js"
import { jails } from "./Jail.js"
import { readRunner } from "./RunnerFiles.js"
import { engineIdentity } from "./runner/Identity.js"
import type { Answer, RunnerProcess } from "./RunnerProcess.js"

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
  /** Which jail to use; by default the strictest one that works here. */
  readonly jail?: JailMode
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
      const start = Effect.promise(() =>
        startEngines(
          {
            jails: jails(options.jail ?? "auto"),
            runners: options.runners ?? availableParallelism(),
            spare: options.spare ?? true,
            mostLive: options.liveGuests ?? defaultLiveGuests,
            earlierPath: options.earlierPath,
            onTrouble: (message) => void runFork(Effect.logWarning(message))
          },
          { ...files, engine: engineIdentity(files.wasm) }
        )
      )
      const engines = yield* Effect.acquireRelease(start, (started) => Effect.sync(started.stop))
      options.onStarted?.(engines.pids)
      const { jail } = engines.current
      if (jail.level !== "full") yield* Effect.logWarning(`runners are not fully jailed: ${jail.detail}`)
      return Sandbox.of(makeSandbox(engines))
    })
  )

// --- Private ---

const makeSandbox = ({ current, earlier, names }: Engines): Sandbox["Type"] => {
  const [engine] = names
  let sessions = 0

  const start = (
    program: Program,
    limits: GuestLimits,
    first: GuestEvent,
    replay: ReadonlyArray<GuestEvent> = []
  ): Effect.Effect<Turn, SandboxFailure> =>
    Effect.async((resume) => {
      sessions = (sessions + 1) >>> 0
      const id = sessions
      const events = texts([first, ...replay])
      let guest: Guest | undefined
      let isGivenUp = false
      let stopWaiting = (): void => undefined
      const startOn = (fleet: Fleet): void => {
        if (isGivenUp) return
        stopWaiting = fleet.pick(program.key, (runner) => {
          guest = new Guest(runner, id, limits)
          const owner = guest
          runner.start(id, program, limits, events, (answer) => resume(owner.settle(answer)))
        })
      }
      if (program.engine === undefined || program.engine === engine) startOn(current)
      else earlier(program.engine).then(startOn, () => resume(Effect.fail(new SessionLost({ reason: "runnerDied" }))))
      return Effect.sync(() => {
        isGivenUp = true
        stopWaiting()
        guest?.giveBack()
      })
    })

  return { start, engine, engines: names, jail: Effect.succeed<JailReport>(current.jail) }
}

const texts = (events: ReadonlyArray<GuestEvent>): ReadonlyArray<string> => events.map((event) => JSON.stringify(event))

/** A session, and whether it is still there. A class, since thousands come and go in a second. */
class Guest implements Session {
  #over = false
  readonly close: Effect.Effect<void>

  constructor(
    readonly runner: RunnerProcess,
    readonly id: number,
    readonly limits: GuestLimits
  ) {
    this.close = Effect.sync(() => this.giveBack())
  }

  readonly feed = (events: ReadonlyArray<GuestEvent>): Effect.Effect<Turn, SandboxFailure> =>
    Effect.async((resume) => {
      if (this.#over) return resume(Effect.fail(new SessionLost({ reason: "closed" })))
      if (!this.runner.alive()) return resume(Effect.fail(new SessionLost({ reason: "runnerDied" })))
      this.runner.feed(this.id, this.limits, texts(events), (answer) => resume(this.settle(answer)))
      return Effect.sync(() => this.giveBack())
    })

  giveBack(): void {
    if (this.#over) return
    this.#over = true
    if (this.runner.alive()) this.runner.close(this.id)
  }

  /** What an answer means to whoever asked. The runner has forgotten the guest after all answers but a turn. */
  settle(answer: Answer): Effect.Effect<Turn, SandboxFailure> {
    if (answer.tag === "Turn") {
      if (answer.ended) this.#over = true
      const { cpuMillis, memoryBytes, outputs, stuck } = answer
      return Effect.succeed({ session: this, outputs, cpuMillis, memoryBytes, stuck })
    }
    if (answer.tag === "RunnerDied") return Effect.fail(new SessionLost({ reason: "runnerDied" }))
    this.#over = answer.tag !== "SessionLost" || answer.reason === "closed"
    switch (answer.tag) {
      case "OutOfMemory":
        return Effect.fail(new OutOfMemory({ limitBytes: answer.limit }))
      case "CpuLimit":
        return Effect.fail(new CpuLimit({ limitMillis: answer.limit }))
      case "OutputTooLarge":
        return Effect.fail(new OutputTooLarge({ limitBytes: answer.limit }))
      case "LoadFailed":
        return Effect.fail(new LoadFailed({ name: answer.name, message: answer.message }))
      case "SessionLost":
        return Effect.fail(new SessionLost({ reason: answer.reason }))
    }
  }
}
