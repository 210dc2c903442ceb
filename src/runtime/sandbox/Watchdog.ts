/** Finds out that a runner hangs: its guest has used up the CPU time of its step and more, and the runner gives no answer. */
import type { RunnerTurns } from "./RunnerTurns.js"

/** How long beyond its CPU limit a guest may give no answer before its runner is killed. */
const graceMillis = 500
/** How often a working runner is checked. */
const checkMillis = 100
/** After this many times the allowed time a silent runner is killed even if it got no CPU. */
const starvationFactor = 10

export interface WatchdogOptions {
  readonly turns: RunnerTurns
  /** CPU time that the runner's process has used. */
  readonly processorMillis: () => number
  /** Wraps each callback of a timer. */
  readonly guard: (body: () => void) => () => void
  readonly onHung: (session: number) => void
}

/** Checks a runner while it has turns. */
export class Watchdog {
  private timer: NodeJS.Timeout | undefined
  private isStopped = false
  private lastSeen = { workStartedAt: 0, processor: 0 }

  constructor(private readonly options: WatchdogOptions) {}

  /** Called whenever the runner gets a turn. */
  start(): void {
    if (this.timer === undefined && !this.isStopped)
      this.timer = setTimeout(
        this.options.guard(() => this.check()),
        checkMillis
      ).unref()
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private check(): void {
    this.timer = undefined
    const { guard, onHung, processorMillis, turns } = this.options
    if (this.isStopped || turns.size === 0) return
    this.start()
    const session = turns.sessionAtWork()
    if (session === undefined) return
    const startedAt = turns.workStartedAt
    if (this.lastSeen.workStartedAt !== startedAt)
      this.lastSeen = { workStartedAt: startedAt, processor: processorMillis() }
    const allowedMillis = (turns.get(session)?.limitMillis ?? 0) + graceMillis
    const silentMillis = performance.now() - startedAt
    if (silentMillis < allowedMillis) return
    const reportIfHung = guard(() => {
      if (this.isStopped || turns.workStartedAt !== startedAt || turns.sessionAtWork() !== session) return
      const computedMillis = processorMillis() - this.lastSeen.processor
      if (computedMillis >= allowedMillis || silentMillis >= allowedMillis * starvationFactor) onHung(session)
    })
    // The runner may have answered while this process was busy: the socket is read first.
    setImmediate(() => setImmediate(reportIfHung))
  }
}
