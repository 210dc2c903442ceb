/** Finds out that a jailed process hangs: its work has used up its CPU time, and the process gives no answer. */

/** How often a working process is checked. */
const checkMillis = 100
/** After this many times the allowed time a silent process hangs even if it got no CPU. */
const starvationFactor = 10

/** What the process works on. */
export interface Work {
  readonly id: number
  /** By the monotonic clock; another start of the same work is other work. */
  readonly startedAt: number
  /** CPU time after which it hangs if it gives no answer. */
  readonly allowedMillis: number
}

export interface WatchdogOptions {
  /** Whether an answer is awaited; the checks pause otherwise. */
  readonly isBusy: () => boolean
  /** `undefined` between two pieces of work. */
  readonly work: () => Work | undefined
  readonly onHung: (work: Work) => void
}

/** Checks a process while it is busy. */
export class Watchdog {
  private timer: NodeJS.Timeout | undefined
  private isStopped = false
  private lastSeen = { startedAt: 0, processor: 0 }
  private readonly onTimer: () => void

  constructor(
    private readonly options: WatchdogOptions,
    /** CPU time that the process has used. */
    private readonly processorMillis: () => number,
    /** Wraps each callback of a timer. */
    private readonly guard: (body: () => void) => () => void
  ) {
    this.onTimer = guard(() => this.check())
  }

  /** Called whenever the process gets work. */
  start(): void {
    if (this.timer === undefined && !this.isStopped) this.timer = setTimeout(this.onTimer, checkMillis).unref()
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private check(): void {
    this.timer = undefined
    if (this.isStopped || !this.options.isBusy()) return
    this.start()
    const work = this.options.work()
    if (work === undefined) return
    const { allowedMillis, id, startedAt } = work
    if (this.lastSeen.startedAt !== startedAt) this.lastSeen = { startedAt, processor: this.processorMillis() }
    const silentMillis = performance.now() - startedAt
    if (silentMillis < allowedMillis) return
    const reportIfHung = this.guard(() => {
      const now = this.options.work()
      if (this.isStopped || now?.startedAt !== startedAt || now.id !== id) return
      const computedMillis = this.processorMillis() - this.lastSeen.processor
      if (computedMillis >= allowedMillis || silentMillis >= allowedMillis * starvationFactor) this.options.onHung(work)
    })
    // The process may have answered while this one was busy: the socket is read first.
    setImmediate(() => setImmediate(reportIfHung))
  }
}
