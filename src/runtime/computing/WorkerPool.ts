/**
 * Jailed worker processes, which start with the first job and end after an idle time. Accounts are served round-robin, one
 * job of each at a time, and so are the organisations of an account.
 */
import type { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import type { ComputationName } from "../../actors/ports/Computations.js"
import { FairQueue } from "../../domain/share/FairQueue.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { computationLimits } from "./ComputationLimits.js"
import { type Jail, type JailMode, jails } from "../jail/Jail.js"
import type { PoolLog } from "../jail/PoolLog.js"
import { wasmBeside } from "../sandbox/RunnerFiles.js"
import { type JobEnd, startWorker, type WorkerProcess } from "./WorkerProcess.js"

export interface ComputationsOptions {
  /** The path of the bundle of `worker/Worker.ts`. */
  readonly workerPath: string
  /** Which jail to use; by default the strictest one that works here. */
  readonly jail?: JailMode
  /** Called with the process ids of all workers whenever a worker starts or ends, for tests and monitoring. */
  readonly onWorkers?: (pids: ReadonlyArray<number>) => void
}

/** A worker without a job ends after this long: the next job starts one in 0.1 s. */
const idleMillis = 10_000
/** After this many failed starts in a row the waiting jobs are refused. */
const maxFailedStarts = 3

export interface WaitingJob {
  readonly owner: ShareOwner
  readonly name: ComputationName
  readonly input: unknown
  readonly onEnded: (end: JobEnd | JobRefusal) => void
}

/** The pool did not start the job. */
export interface JobRefusal {
  readonly tag: "Refused"
  readonly reason: string
}

interface Worker {
  readonly process: WorkerProcess
  /** The account whose job it runs. */
  account: string | undefined
  idle: NodeJS.Timeout | undefined
}

export class WorkerPool {
  private readonly queue = new FairQueue<WaitingJob>()
  private readonly workers = new Set<Worker>()
  private readonly usableJails: ReadonlyArray<Jail>
  /** The index of the strictest jail that has not failed. */
  private jailAt = 0
  private starting: WorkerProcess | undefined
  private failedStarts = 0
  private isStopped = false
  private source: Buffer | undefined

  constructor(
    private readonly options: ComputationsOptions,
    private readonly log: PoolLog
  ) {
    this.usableJails = jails(options.jail ?? "auto")
  }

  /** Returns an effect that removes the job from the queue, unless it has started. */
  submit(job: WaitingJob): Effect.Effect<void> {
    const { owner } = job
    if (this.isStopped) job.onEnded({ tag: "Refused", reason: "the service is stopping" })
    else if (this.queue.of(owner).length >= computationLimits.waiting)
      job.onEnded({ tag: "Refused", reason: "too many computations of this organisation are waiting" })
    else {
      this.queue.add(owner, job)
      this.dispatch()
    }
    return Effect.sync(() => void this.queue.remove(owner, job))
  }

  /** Kills all workers and refuses the waiting jobs. */
  stop(): void {
    this.isStopped = true
    this.refuseAll("the service is stopping")
    this.starting?.kill()
    for (const worker of this.workers) {
      clearTimeout(worker.idle)
      worker.process.kill()
    }
    this.workers.clear()
    this.reportWorkers()
  }

  private reportWorkers(): void {
    this.options.onWorkers?.(
      [...this.workers].flatMap(({ process }) => (process.pid === undefined ? [] : [process.pid]))
    )
  }

  private isBusy(account: string): boolean {
    for (const worker of this.workers) if (worker.account === account) return true
    return false
  }

  private dispatch(): void {
    for (const worker of this.workers) {
      if (worker.account !== undefined) continue
      const next = this.queue.take((account) => (this.isBusy(account) ? -1 : 0))
      if (next === undefined) return
      this.assign(worker, next)
    }
    const needsWorker = this.queue.size > 0 && [...this.workers].every(({ account }) => account !== undefined)
    if (needsWorker && this.workers.size < computationLimits.workers) this.start()
  }

  private assign(worker: Worker, { input, name, onEnded, owner }: WaitingJob): void {
    worker.account = owner.account
    clearTimeout(worker.idle)
    worker.process.run({ name, input }, computationLimits.millis[name], (end) => {
      worker.account = undefined
      onEnded(this.isStopped ? { tag: "Refused", reason: "the service is stopping" } : end)
      this.endWhenIdle(worker)
      this.dispatch()
    })
  }

  /** Ends the worker unless a job is assigned to it within the idle time. */
  private endWhenIdle(worker: Worker): void {
    if (!this.workers.has(worker)) return
    worker.idle = setTimeout(() => {
      this.workers.delete(worker)
      this.reportWorkers()
      worker.process.kill()
    }, idleMillis).unref()
  }

  private readBundle(): Buffer | undefined {
    try {
      return (this.source ??= readFileSync(this.options.workerPath))
    } catch {
      this.log.onWarning("computing.bundle.missing", { path: this.options.workerPath })
      this.refuseAll("the bundle of the computing worker is missing: build the program again")
      return undefined
    }
  }

  private start(): void {
    const jail: Jail | undefined = this.usableJails[this.jailAt]
    if (this.isStopped || this.starting !== undefined || jail === undefined) return
    const bundle = this.readBundle()
    if (bundle === undefined) return
    this.starting = startWorker({
      jail,
      source: bundle,
      readEngine: () => readFileSync(wasmBeside(this.options.workerPath)),
      onDefect: this.log.onDefect,
      onReady: (process) => {
        this.starting = undefined
        this.failedStarts = 0
        if (this.isStopped) return process.kill()
        const worker: Worker = { process, account: undefined, idle: undefined }
        this.workers.add(worker)
        this.reportWorkers()
        this.endWhenIdle(worker)
        this.dispatch()
      },
      onGone: (process, { isExpected, reason }) => {
        if (process === this.starting) this.onStartFailed(jail, reason)
        else this.onWorkerGone(process, isExpected ? undefined : reason)
        this.dispatch()
      }
    })
  }

  private onStartFailed(jail: Jail, reason: string): void {
    this.starting = undefined
    if (this.isStopped) return
    if (this.jailAt + 1 < this.usableJails.length) {
      this.jailAt++
      return
    }
    this.log.onWarning("computing.worker.not_started", { jail: jail.report.level, reason })
    this.failedStarts++
    if (this.failedStarts >= maxFailedStarts) this.refuseAll("no computing worker can be started")
  }

  private onWorkerGone(process: WorkerProcess, failure: string | undefined): void {
    for (const worker of this.workers) {
      if (worker.process !== process) continue
      clearTimeout(worker.idle)
      this.workers.delete(worker)
      if (failure !== undefined) this.log.onWarning("computing.worker.replaced", { reason: failure })
    }
    this.reportWorkers()
  }

  private refuseAll(reason: string): void {
    this.failedStarts = 0
    for (let next = this.queue.take(); next !== undefined; next = this.queue.take())
      next.onEnded({ tag: "Refused", reason })
  }
}
