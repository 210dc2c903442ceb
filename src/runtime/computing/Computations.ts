/**
 * The port `Computations` over jailed worker processes, which start with the first job and end after an idle time.
 * Organisations are served round-robin, one job of each at a time, so that an organisation's slowest job delays
 * others by at most that job's deadline.
 */
import { readFileSync } from "node:fs"
import { Effect, Layer, Runtime } from "effect"
import {
  type ComputationName,
  Computations,
  type ComputationTable,
  TooCostly
} from "../../actors/ports/Computations.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { computationLimits } from "../../domain/Limits.js"
import { type Jail, type JailMode, jails } from "../jail/Jail.js"
import { FairQueue } from "./FairQueue.js"
import { type JobEnd, startWorker, type WorkerProcess } from "./WorkerProcess.js"

export interface ComputationsOptions {
  /** The path of the bundle of `worker/Worker.ts`. */
  readonly workerPath: string
  /** Which jail to use; by default the strictest one that works here. */
  readonly jail?: JailMode
  /** Called with the process ids of all workers whenever a worker starts or ends, for tests and monitoring. */
  readonly onWorkers?: (pids: ReadonlyArray<number>) => void
}

/** A worker without a job ends after this long: the last one later than the others. */
const idleMillis = { last: 300_000, others: 10_000 }
/** After this many failed starts in a row the waiting jobs are refused. */
const maxFailedStarts = 3

interface WaitingJob {
  readonly name: ComputationName
  readonly input: unknown
  readonly onEnded: (end: JobEnd | JobRefusal) => void
}

/** The pool did not start the job. */
interface JobRefusal {
  readonly tag: "Refused"
  readonly reason: string
}

interface Worker {
  readonly process: WorkerProcess
  /** The organisation whose job it runs. */
  owner: OrganisationId | undefined
  idle: NodeJS.Timeout | undefined
}

export const layer = (options: ComputationsOptions): Layer.Layer<Computations> =>
  Layer.scoped(
    Computations,
    Effect.gen(function* () {
      const runFork = Runtime.runFork(yield* Effect.runtime())
      const pool = yield* Effect.acquireRelease(
        Effect.sync(() => makePool(options, (event, fields) => void runFork(warn(event, fields)))),
        ({ stop }) => Effect.sync(stop)
      )

      const compute = <Name extends ComputationName>(
        name: Name,
        organisation: OrganisationId,
        input: ComputationTable[Name]["input"]
      ): Effect.Effect<ComputationTable[Name]["output"], TooCostly | Unavailable> =>
        Effect.async((resume) =>
          pool.submit(organisation, {
            name,
            input,
            onEnded: (end) => resume(toResult<Name>(name, end))
          })
        )

      return Computations.of({ compute })
    })
  )

// --- Private ---

const warn = (event: string, fields: { readonly [name: string]: string }) =>
  Effect.logWarning(event).pipe(Effect.annotateLogs(fields))

const toUnavailable = (reason: string) => new Unavailable({ reason, retryAfterSeconds: 1 })

const toResult = <Name extends ComputationName>(
  name: Name,
  end: JobEnd | JobRefusal
): Effect.Effect<ComputationTable[Name]["output"], TooCostly | Unavailable> => {
  const tooCostly = (exceeded: TooCostly["exceeded"]) =>
    new TooCostly({ computation: name, exceeded, allowedMillis: computationLimits.millis[name] })
  switch (end.tag) {
    case "Done":
      // The worker's table has the same types as the port's.
      return Effect.succeed(end.output as ComputationTable[Name]["output"])
    case "TooMuchTime":
      return tooCostly("time")
    case "TooMuchMemory":
      return tooCostly("memory")
    case "Refused":
      return toUnavailable(end.reason)
    case "Defect":
      return Effect.die(new Error(`the computation ${name} failed: ${end.frames}`))
  }
}

const makePool = (
  options: ComputationsOptions,
  onWarning: (event: string, fields: { readonly [name: string]: string }) => void
) => {
  const queue = new FairQueue<OrganisationId, WaitingJob>()
  const workers = new Set<Worker>()
  const usableJails = jails(options.jail ?? "auto")
  /** The index of the strictest jail that has not failed. */
  let jailAt = 0
  let starting: WorkerProcess | undefined
  let failedStarts = 0
  let isStopped = false

  const reportWorkers = (): void =>
    options.onWorkers?.([...workers].flatMap(({ process }) => (process.pid === undefined ? [] : [process.pid])))

  const isBusy = (organisation: OrganisationId): boolean => {
    for (const worker of workers) if (worker.owner === organisation) return true
    return false
  }

  const dispatch = (): void => {
    for (const worker of workers) {
      if (worker.owner !== undefined) continue
      const next = queue.take((organisation) => !isBusy(organisation))
      if (next === undefined) return
      assign(worker, next.owner, next.job)
    }
    const needsWorker = !queue.isEmpty && [...workers].every(({ owner }) => owner !== undefined)
    if (needsWorker && workers.size < computationLimits.workers) start()
  }

  const assign = (worker: Worker, owner: OrganisationId, { input, name, onEnded }: WaitingJob): void => {
    worker.owner = owner
    clearTimeout(worker.idle)
    worker.process.run({ name, input }, computationLimits.millis[name], (end) => {
      worker.owner = undefined
      onEnded(isStopped ? { tag: "Refused", reason: "the service is stopping" } : end)
      endWhenIdle(worker)
      dispatch()
    })
  }

  /** Ends the worker unless a job is assigned to it within the idle time. */
  const endWhenIdle = (worker: Worker): void => {
    if (!workers.has(worker)) return
    const millis = workers.size > 1 ? idleMillis.others : idleMillis.last
    worker.idle = setTimeout(() => {
      workers.delete(worker)
      reportWorkers()
      worker.process.kill()
    }, millis).unref()
  }

  let source: Buffer | undefined
  const readBundle = (): Buffer | undefined => {
    try {
      return (source ??= readFileSync(options.workerPath))
    } catch {
      onWarning("computing.bundle.missing", { path: options.workerPath })
      refuseAll("the bundle of the computing worker is missing: build the program again")
      return undefined
    }
  }

  const start = (): void => {
    const jail: Jail | undefined = usableJails[jailAt]
    if (isStopped || starting !== undefined || jail === undefined) return
    const bundle = readBundle()
    if (bundle === undefined) return
    starting = startWorker({
      jail,
      source: bundle,
      onReady: (process) => {
        starting = undefined
        failedStarts = 0
        if (isStopped) return process.kill()
        const worker: Worker = { process, owner: undefined, idle: undefined }
        workers.add(worker)
        reportWorkers()
        endWhenIdle(worker)
        dispatch()
      },
      onGone: (process, { isExpected, reason }) => {
        if (process === starting) onStartFailed(jail, reason)
        else onWorkerGone(process, isExpected ? undefined : reason)
        dispatch()
      }
    })
  }

  const onStartFailed = (jail: Jail, reason: string): void => {
    starting = undefined
    if (isStopped) return
    if (jailAt + 1 < usableJails.length) {
      jailAt++
      return
    }
    onWarning("computing.worker.not_started", { jail: jail.report.level, reason })
    failedStarts++
    if (failedStarts >= maxFailedStarts) refuseAll("no computing worker can be started")
  }

  const onWorkerGone = (process: WorkerProcess, failure: string | undefined): void => {
    for (const worker of workers) {
      if (worker.process !== process) continue
      clearTimeout(worker.idle)
      workers.delete(worker)
      if (failure !== undefined) onWarning("computing.worker.replaced", { reason: failure })
    }
    reportWorkers()
  }

  const refuseAll = (reason: string): void => {
    failedStarts = 0
    for (let next = queue.take(() => true); next !== undefined; next = queue.take(() => true))
      next.job.onEnded({ tag: "Refused", reason })
  }

  return {
    /** Returns an effect that removes the job from the queue, unless it has started. */
    submit: (organisation: OrganisationId, job: WaitingJob): Effect.Effect<void> => {
      if (isStopped) job.onEnded({ tag: "Refused", reason: "the service is stopping" })
      else if (queue.count(organisation) >= computationLimits.waiting)
        job.onEnded({ tag: "Refused", reason: "too many computations of this organisation are waiting" })
      else {
        queue.add(organisation, job)
        dispatch()
      }
      return Effect.sync(() => queue.remove(organisation, job))
    },
    stop: () => {
      isStopped = true
      refuseAll("the service is stopping")
      starting?.kill()
      for (const worker of workers) {
        clearTimeout(worker.idle)
        worker.process.kill()
      }
      workers.clear()
      reportWorkers()
    }
  }
}
