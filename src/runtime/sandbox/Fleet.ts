/**
 * The runners of this process: one a slot, and a spare that takes the place of the next one that dies. Chooses where
 * a run goes: the runner of its tenant, whose memory holds its program, unless that one is clearly busier than another.
 */
import type { Buffer } from "node:buffer"
import type { JailReport } from "../../actors/ports/Sandbox.js"
import type { Jail } from "../jail/Jail.js"
import type { RunnerOptions, RunnerProcess } from "./RunnerProcess.js"
import { startRunner } from "./RunnerProcess.js"

/** A runner with fewer turns in hand than this is never called busy. */
const busyFrom = 4
/** How often waiting turns are looked at. */
const reliefMillis = 10
/** Pauses between attempts when runners die as they start. */
const restartMillis = { first: 50, most: 5000 }
/** The other runners come once the service is up: until then they would only stand in its way. */
const othersAfterMillis = 1000
/** Runners that work for one guest alone, at once. */
const mostAlone = 4
/** How long a runner may take to answer for the first time before its jail counts as impossible here. */
const firstAnswerMillis = 10_000

export interface FleetOptions {
  readonly jails: ReadonlyArray<Jail>
  readonly source: Buffer
  readonly wasm: Buffer
  readonly engine: string
  readonly runners: number
  readonly spare: boolean
  readonly mostLive: number
  /** Told in words when a runner is lost or does not start. */
  readonly onTrouble: (event: string, fields: { readonly [name: string]: string }) => void
  readonly onDefect: RunnerOptions["onDefect"]
  readonly onListener?: RunnerOptions["onListener"]
}

export interface Fleet {
  readonly jail: JailReport
  /** The runner for a program; waits, in `onRunner`, while there is none. Returns how to stop waiting. */
  readonly pick: (key: string, onRunner: (runner: RunnerProcess) => void) => () => void
  /**
   * A runner of its own for one guest, started when there is room for another such runner. Whoever takes it kills it. Returns
   * how to stop waiting for it.
   */
  readonly pickAlone: (onRunner: (runner: RunnerProcess) => void) => () => void
  /** The processes that were started, for those who watch or test them. */
  readonly pids: () => ReadonlyArray<number>
  readonly stop: () => void
}

/** Fails when no runner can be started in any of the jails. */
export const startFleet = (options: FleetOptions): Promise<Fleet> =>
  new Promise((resolve, reject) => {
    const slots: Array<RunnerProcess | undefined> = Array.from({ length: options.runners })
    const starting = new Set<RunnerProcess>()
    const waiting = new Set<{ readonly key: string; readonly onRunner: (runner: RunnerProcess) => void }>()
    let spare: RunnerProcess | undefined
    let stopped = false
    let pause = restartMillis.first

    const later = (task: () => void, millis: number): void => {
      const run = (): void => {
        try {
          options.onListener?.("timer")
          task()
        } catch (cause) {
          options.onDefect("timer", cause)
          later(task, restartMillis.most)
        }
      }
      setTimeout(run, millis).unref()
    }

    // --- Choosing ---

    /** Whether the runner would come to a turn of this tenant soon: no other tenant holds it. */
    const isOpenTo = (runner: RunnerProcess, tenant: string): boolean => {
      const holder = runner.heldBy()
      return holder === undefined || holder === tenant
    }

    const leastLoaded = (runners: ReadonlyArray<RunnerProcess>): RunnerProcess | undefined => {
      let least: RunnerProcess | undefined
      for (const runner of runners) if (least === undefined || runner.load() < least.load()) least = runner
      return least
    }

    const choose = (key: string): RunnerProcess | undefined => {
      const tenant = tenantOf(key)
      const preferred = slots[hash(tenant) % slots.length]
      const isAlive = preferred?.alive() === true
      const isFree = isAlive && preferred.load() < busyFrom && isOpenTo(preferred, tenant)
      const calm = isFree && isCalmFor(preferred, tenant) ? preferred : calmest(tenant)
      if (calm !== undefined) return calm
      if (isFree) return preferred
      const least = leastOpenTo(tenant)
      if (least === undefined) {
        const alive = aliveRunners()
        return spareFor(tenant, alive) ?? leastLoaded(alive)
      }
      if (!isAlive || !isOpenTo(preferred, tenant)) return least
      return least.load() * 2 < preferred.load() ? least : preferred
    }

    /** Whether no other tenant had long turns there lately. */
    const isCalmFor = (runner: RunnerProcess, tenant: string): boolean =>
      !runner.longTurns.isBusyBeside(tenant, performance.now())

    /** A runner beside those on which others had long turns lately; who had such turns itself stays where it was. */
    const calmest = (tenant: string): RunnerProcess | undefined => {
      const alive = aliveRunners()
      const now = performance.now()
      if (alive.every((runner) => isCalmFor(runner, tenant))) return undefined
      if (alive.some((runner) => runner.longTurns.isBusyWith(tenant, now))) return undefined
      const free = spareFor(tenant, alive)
      return leastLoaded(
        [...alive, ...(free === undefined ? [] : [free])].filter(
          (runner) => runner.load() < busyFrom && isOpenTo(runner, tenant) && isCalmFor(runner, tenant)
        )
      )
    }

    const leastOpenTo = (tenant: string): RunnerProcess | undefined => {
      let least: RunnerProcess | undefined
      for (const runner of slots) {
        if (runner?.alive() !== true || (least !== undefined && runner.load() >= least.load())) continue
        if (isOpenTo(runner, tenant)) least = runner
      }
      return least
    }

    const aliveRunners = () => slots.filter((runner): runner is RunnerProcess => runner?.alive() === true)

    /** The spare runner works while others hold all the rest, but for none of those who do. */
    const spareFor = (tenant: string, alive: ReadonlyArray<RunnerProcess>): RunnerProcess | undefined =>
      spare?.alive() === true && isOpenTo(spare, tenant) && alive.every((runner) => runner.heldBy() !== tenant)
        ? spare
        : undefined

    // --- Relief: turns that wait behind another tenant's go elsewhere ---

    let relieving = false
    const onQueued = (): void => {
      if (relieving || stopped) return
      relieving = true
      later(relieveAll, reliefMillis)
    }
    const hasPlace = (tenant: string): boolean => {
      const alive = aliveRunners()
      const free = spareFor(tenant, alive)
      return [...alive, ...(free === undefined ? [] : [free])].some(
        (runner) => runner.load() < busyFrom && isOpenTo(runner, tenant)
      )
    }
    const relieveAll = (): void => {
      relieving = false
      for (const runner of [...slots, spare]) runner?.relieve(hasPlace)
      if ([...slots, spare].some((runner) => runner !== undefined && runner.load() > 1)) onQueued()
    }

    const serveWaiting = (): void => {
      for (const one of waiting) {
        const runner = choose(one.key)
        if (runner === undefined) return
        waiting.delete(one)
        one.onRunner(runner)
      }
    }

    // --- Keeping the slots filled ---

    const wanted = (): number =>
      slots.filter((slot) => slot === undefined).length + (options.spare && spare === undefined ? 1 : 0) - starting.size

    const refill = (jail: Jail): void => {
      if (stopped) return
      for (let missing = wanted(); missing > 0; missing--) begin(jail)
    }

    const place = (runner: RunnerProcess): void => {
      const free = slots.indexOf(undefined)
      if (free >= 0) slots[free] = runner
      else if (options.spare && spare === undefined) spare = runner
      else runner.kill()
      serveWaiting()
    }

    /** Starts a runner; `onReady` and `onFailed` tell of its start, its later death is dealt with here. */
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
        mostLive: options.mostLive,
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
          if (stopped) return
          if (alone.delete(runner)) return serveAlone(jail)
          options.onTrouble("sandbox.runner_replaced", { reason: why })
          serveWaiting()
          refill(jail)
        }
      })
      return runner
    }

    // --- Runners for one guest alone ---

    const alone = new Set<RunnerProcess>()
    const waitingAlone = new Set<(runner: RunnerProcess) => void>()
    let startingAlone = 0

    const serveAlone = (jail: Jail): void => {
      const missing = Math.min(waitingAlone.size - startingAlone, mostAlone - alone.size)
      for (let i = 0; i < missing; i++) beginAlone(jail)
    }

    const beginAlone = (jail: Jail): void => {
      if (stopped) return
      const runner = launch(
        jail,
        (ready) => {
          startingAlone--
          for (const onRunner of waitingAlone) {
            waitingAlone.delete(onRunner)
            return onRunner(ready)
          }
          ready.kill()
        },
        (why) => {
          startingAlone--
          alone.delete(runner)
          if (stopped) return
          options.onTrouble("sandbox.runner_not_started", { reason: why })
          pause = Math.min(pause * 2, restartMillis.most)
          later(() => serveAlone(jail), pause)
        }
      )
      startingAlone++
      alone.add(runner)
    }

    const begin = (jail: Jail): void => {
      const runner = launch(
        jail,
        (ready) => {
          starting.delete(ready)
          place(ready)
        },
        (why) => {
          starting.delete(runner)
          if (stopped) return
          options.onTrouble("sandbox.runner_not_started", { reason: why })
          pause = Math.min(pause * 2, restartMillis.most)
          later(() => refill(jail), pause)
        }
      )
      starting.add(runner)
    }

    // --- The first runner tells which jail works ---

    const attempt = (index: number, troubles: ReadonlyArray<string>): void => {
      const jail = options.jails[index]
      if (jail === undefined) return reject(new Error(`no runner can be started: ${troubles.join("; ")}`))
      const impatient = setTimeout(() => runner.kill(), firstAnswerMillis)
      const runner = launch(
        jail,
        (ready) => {
          clearTimeout(impatient)
          place(ready)
          later(() => refill(jail), othersAfterMillis)
          resolve(fleet(jail))
        },
        (why) => {
          clearTimeout(impatient)
          attempt(index + 1, [...troubles, `${jail.report.level} (${jail.command}): ${why}`])
        }
      )
    }

    const fleet = (jail: Jail): Fleet => ({
      jail: jail.report,
      pick: (key, onRunner) => {
        const runner = choose(key)
        if (runner !== undefined) {
          onRunner(runner)
          return () => undefined
        }
        const one = { key, onRunner }
        waiting.add(one)
        return () => waiting.delete(one)
      },
      pickAlone: (onRunner) => {
        waitingAlone.add(onRunner)
        serveAlone(jail)
        return () => waitingAlone.delete(onRunner)
      },
      pids: () => [...slots, spare].flatMap((runner) => (runner?.pid === undefined ? [] : [runner.pid])),
      stop: () => {
        stopped = true
        for (const runner of [...slots, spare, ...starting, ...alone]) runner?.kill()
      }
    })

    attempt(0, [])
  })

// --- Private ---

const staleRunner = "the runner's bundle was built from other sources than this process: build again"

/** What comes before the first separator of a program's key names the tenant. */
export const tenantOf = (key: string): string => {
  const end = key.search(/[:|/]/)
  return end < 0 ? key : key.slice(0, end)
}

/** FNV-1a: spreads similar keys. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
