/**
 * The runner processes of one engine: one per slot, a spare that replaces the next one that dies, and exclusive ones
 * that each run a single guest. Starts with one runner; the others follow once turns wait. Restarts runners with back-off
 * and moves queued turns away from busy runners.
 */
import type { Buffer } from "node:buffer"
import { FairQueue } from "../../domain/share/FairQueue.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import type { JailReport } from "../../actors/ports/run/Sandbox.js"
import type { Jail } from "../jail/Jail.js"
import type { ListenerOptions } from "../jail/JailedProcess.js"
import type { PoolLog } from "../jail/PoolLog.js"
import { makeRunnerChoice } from "./RunnerChoice.js"
import type { RunnerProcess } from "./RunnerProcess.js"
import { startRunner } from "./RunnerProcess.js"

/** How often waiting turns are rebalanced. */
const rebalanceMillis = 10
/** Back-off between attempts when runners die as they start. */
const restartMillis = { first: 50, most: 5000 }
/** The other runners start when turns have waited for each other for so long: a start and idle need only the first. */
const otherRunnersDelayMillis = 50
/** Exclusive runners at once. */
const maxExclusiveRunners = 4

export interface FleetOptions extends ListenerOptions, PoolLog {
  readonly jails: ReadonlyArray<Jail>
  readonly source: Buffer
  readonly wasm: Buffer
  readonly engine: string
  readonly runners: number
  readonly spare: boolean
  /** Starts the other runners with the first, and not when turns wait. For tests about several runners. */
  readonly startsAll?: boolean | undefined
  readonly maxLiveGuests: number
}

export interface Fleet {
  readonly jail: JailReport
  /**
   * Calls `onRunner` with the runner for a guest of the owner, at once or when one has started. Returns a function that
   * cancels.
   */
  readonly pickRunner: (owner: ShareOwner, onRunner: (runner: RunnerProcess) => void) => () => void
  /**
   * Calls `onRunner` with an exclusive runner, once fewer than the allowed number exist; owners that wait take turns. The
   * caller must kill it. Returns a function that cancels.
   */
  readonly pickExclusive: (owner: ShareOwner, onRunner: (runner: RunnerProcess) => void) => () => void
  /** The process ids of the runners in slots and of the spare, for tests and monitoring. */
  readonly pids: () => ReadonlyArray<number>
  readonly stop: () => void
}

/** Fails when no runner can be started in any of the jails. */
export const startFleet = (options: FleetOptions): Promise<Fleet> =>
  new Promise((resolve, reject) => {
    const slots: Array<RunnerProcess | undefined> = Array.from({ length: options.runners })
    const starting = new Set<RunnerProcess>()
    const waiting = new Set<{ readonly owner: ShareOwner; readonly onRunner: (runner: RunnerProcess) => void }>()
    let spare: RunnerProcess | undefined
    let isStopped = false
    let pause = restartMillis.first

    const schedule = (task: () => void, millis: number): void => {
      const run = (): void => {
        try {
          options.onListener?.("timer")
          task()
        } catch (cause) {
          options.onDefect("timer", cause)
          schedule(task, restartMillis.most)
        }
      }
      setTimeout(run, millis).unref()
    }

    const choice = makeRunnerChoice(slots, () => spare)

    // --- Rebalancing: turns that wait behind another tenant's move to another runner ---

    let isRebalanceScheduled = false
    /** Since when a turn has been waiting at each rebalance. */
    let queuedSince: number | undefined
    const onQueued = (): void => {
      if (isRebalanceScheduled || isStopped) return
      isRebalanceScheduled = true
      queuedSince ??= performance.now()
      schedule(rebalance, rebalanceMillis)
    }
    const rebalance = (): void => {
      isRebalanceScheduled = false
      for (const runner of [...slots, spare]) runner?.evictWaiting((tenant) => choice.canMove(tenant, runner))
      const isQueued = [...slots, spare].some((runner) => runner !== undefined && runner.load() > 1)
      if (!isQueued) return void (queuedSince = undefined)
      if (performance.now() - (queuedSince ?? Infinity) >= otherRunnersDelayMillis) startOthers()
      onQueued()
    }

    const serveWaiting = (): void => {
      for (const waiter of waiting) {
        const runner = choice.choose(waiter.owner)
        if (runner === undefined) return
        waiting.delete(waiter)
        waiter.onRunner(runner)
      }
    }

    // --- Keeping the slots filled ---

    let areOthersStarted = false
    let startOthers = (): void => undefined

    const missingRunners = (): number => {
      const free = slots.filter((slot) => slot === undefined).length
      const missing = areOthersStarted
        ? free + (options.spare && spare === undefined ? 1 : 0)
        : free === slots.length
          ? 1
          : 0
      return missing - starting.size
    }

    const refill = (jail: Jail): void => {
      if (isStopped) return
      for (let missing = missingRunners(); missing > 0; missing--) startShared(jail)
    }

    const place = (runner: RunnerProcess): void => {
      const free = slots.indexOf(undefined)
      if (free >= 0) slots[free] = runner
      else if (options.spare && spare === undefined) spare = runner
      else runner.kill()
      serveWaiting()
    }

    /** Starts a runner and calls `onReady` or `onFailed`. Replaces the runner when it dies later. */
    const launch = (
      jail: Jail,
      onReady: (runner: RunnerProcess) => void,
      onFailed: (why: string) => void
    ): RunnerProcess => {
      let isReady = false
      let isStale = false
      const runner = startRunner({
        jail,
        source: options.source,
        wasm: options.wasm,
        maxLiveGuests: options.maxLiveGuests,
        onDefect: options.onDefect,
        onListener: options.onListener,
        onQueued,
        onReady: (engine) => {
          if (engine !== options.engine) {
            isStale = true
            return runner.kill()
          }
          isReady = true
          pause = restartMillis.first
          onReady(runner)
        },
        onGone: (why) => {
          if (!isReady) return onFailed(isStale ? staleRunner : why)
          if (spare === runner) spare = undefined
          const slot = slots.indexOf(runner)
          if (slot >= 0) {
            slots[slot] = spare
            spare = undefined
          }
          if (isStopped) return
          if (exclusive.delete(runner)) return serveWaitingExclusive(jail)
          options.onWarning("sandbox.runner_replaced", { reason: why })
          serveWaiting()
          refill(jail)
        }
      })
      return runner
    }

    // --- Exclusive runners ---

    const exclusive = new Set<RunnerProcess>()
    const waitingExclusive = new FairQueue<(runner: RunnerProcess) => void>()
    let startingExclusive = 0

    const serveWaitingExclusive = (jail: Jail): void => {
      const missing = Math.min(waitingExclusive.size - startingExclusive, maxExclusiveRunners - exclusive.size)
      for (let i = 0; i < missing; i++) startExclusive(jail)
    }

    const startExclusive = (jail: Jail): void => {
      if (isStopped) return
      const runner = launch(
        jail,
        (ready) => {
          startingExclusive--
          const onRunner = waitingExclusive.take()
          if (onRunner === undefined) ready.kill()
          else onRunner(ready)
        },
        (why) => {
          startingExclusive--
          exclusive.delete(runner)
          if (isStopped) return
          options.onWarning("sandbox.runner_not_started", { reason: why })
          pause = Math.min(pause * 2, restartMillis.most)
          schedule(() => serveWaitingExclusive(jail), pause)
        }
      )
      startingExclusive++
      exclusive.add(runner)
    }

    const startShared = (jail: Jail): void => {
      const runner = launch(
        jail,
        (ready) => {
          starting.delete(ready)
          place(ready)
        },
        (why) => {
          starting.delete(runner)
          if (isStopped) return
          options.onWarning("sandbox.runner_not_started", { reason: why })
          pause = Math.min(pause * 2, restartMillis.most)
          schedule(() => refill(jail), pause)
        }
      )
      starting.add(runner)
    }

    // --- The first runner: tries the jails in order ---

    const startFirst = (index: number, reasons: ReadonlyArray<string>): void => {
      const jail = options.jails[index]
      if (jail === undefined) return reject(new Error(`no runner can be started: ${reasons.join("; ")}`))
      launch(
        jail,
        (ready) => {
          place(ready)
          startOthers = () => {
            areOthersStarted = true
            startOthers = () => undefined
            refill(jail)
          }
          if (options.startsAll === true) startOthers()
          resolve(makeFleet(jail))
        },
        (why) => startFirst(index + 1, [...reasons, `${jail.report.level} (${jail.command}): ${why}`])
      )
    }

    const makeFleet = (jail: Jail): Fleet => ({
      jail: jail.report,
      pickRunner: (owner, onRunner) => {
        const runner = choice.choose(owner)
        if (runner !== undefined) {
          onRunner(runner)
          return () => undefined
        }
        const waiter = { owner, onRunner }
        waiting.add(waiter)
        return () => waiting.delete(waiter)
      },
      pickExclusive: (owner, onRunner) => {
        waitingExclusive.add(owner, onRunner)
        serveWaitingExclusive(jail)
        return () => void waitingExclusive.remove(owner, onRunner)
      },
      pids: () => [...slots, spare].flatMap((runner) => (runner?.pid === undefined ? [] : [runner.pid])),
      stop: () => {
        isStopped = true
        for (const runner of [...slots, spare, ...starting, ...exclusive]) runner?.kill()
      }
    })

    startFirst(0, [])
  })

// --- Private ---

const staleRunner = "the runner's bundle was built from other sources than this process: build again"
