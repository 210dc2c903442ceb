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
import { TurnQueue } from "./TurnQueue.js"
import { type JobEnd, startWorker, type WorkerProcess } from "./WorkerProcess.js"

export interface ComputationsOptions {
  /** The bundle of `worker/Worker.ts`. */
  readonly workerPath: string
  /** Which jail to use; by default the strictest one that works here. */
  readonly jail?: JailMode
  /** Called with the process ids whenever they change, for tests and monitoring. */
  readonly onWorkers?: (pids: ReadonlyArray<number>) => void
}

/** How long the last worker, and further ones, stay without a job. */
const idleMillis = { last: 300_000, further: 10_000 }
/** Failed starts in a row, over all jails, before waiting jobs are refused. */
const startsTried = 3

interface Waiting {
  readonly name: ComputationName
  readonly input: unknown
  readonly onEnded: (ended: JobEnd | Refused) => void
}

/** The job was not started. */
interface Refused {
  readonly tag: "Refused"
  readonly why: string
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
        (made) => Effect.sync(made.stop)
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
            onEnded: (ended) => resume(outcomeOf<Name>(name, ended))
          })
        )

      return Computations.of({ compute })
    })
  )

// --- Private ---

const warn = (event: string, fields: { readonly [name: string]: string }) =>
  Effect.logWarning(event).pipe(Effect.annotateLogs(fields))

const busy = (reason: string) => new Unavailable({ reason, retryAfterSeconds: 1 })

const outcomeOf = <Name extends ComputationName>(
  name: Name,
  ended: JobEnd | Refused
): Effect.Effect<ComputationTable[Name]["output"], TooCostly | Unavailable> => {
  const tooCostly = (exceeded: TooCostly["exceeded"]) =>
    new TooCostly({ computation: name, exceeded, allowedMillis: computationLimits.millis[name] })
  switch (ended.tag) {
    case "Done":
      // The worker's table has the same types as the port's.
      return Effect.succeed(ended.output as ComputationTable[Name]["output"])
    case "TooMuchTime":
      return tooCostly("time")
    case "TooMuchMemory":
      return tooCostly("memory")
    case "Refused":
      return busy(ended.why)
    case "Defect":
      return Effect.die(new Error(`the computation ${name} failed: ${ended.frames}`))
  }
}

const makePool = (
  options: ComputationsOptions,
  onTrouble: (event: string, fields: { readonly [name: string]: string }) => void
) => {
  const queue = new TurnQueue<OrganisationId, Waiting>()
  const workers = new Set<Worker>()
  const allowed = jails(options.jail ?? "auto")
  /** The index of the strictest jail that has not failed. */
  let jailAt = 0
  let starting: WorkerProcess | undefined
  let failedStarts = 0
  let isStopped = false

  const report = (): void =>
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
      give(worker, next.owner, next.job)
    }
    const hasWork = !queue.isEmpty && [...workers].every(({ owner }) => owner !== undefined)
    if (hasWork && workers.size < computationLimits.workers) start()
  }

  const give = (worker: Worker, owner: OrganisationId, { input, name, onEnded }: Waiting): void => {
    worker.owner = owner
    clearTimeout(worker.idle)
    worker.process.run({ name, input }, computationLimits.millis[name], (ended) => {
      worker.owner = undefined
      onEnded(isStopped ? { tag: "Refused", why: "the service is stopping" } : ended)
      rest(worker)
      dispatch()
    })
  }

  /** Ends the worker after its idle time. */
  const rest = (worker: Worker): void => {
    if (!workers.has(worker)) return
    const millis = workers.size > 1 ? idleMillis.further : idleMillis.last
    worker.idle = setTimeout(() => {
      workers.delete(worker)
      report()
      worker.process.kill()
    }, millis).unref()
  }

  let source: Buffer | undefined
  const readBundle = (): Buffer | undefined => {
    try {
      return (source ??= readFileSync(options.workerPath))
    } catch {
      onTrouble("computing.bundle.missing", { path: options.workerPath })
      refuseAll("the program is not whole: build it again")
      return undefined
    }
  }

  const start = (): void => {
    const jail: Jail | undefined = allowed[jailAt]
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
        report()
        rest(worker)
        dispatch()
      },
      onGone: (process, { isExpected, why }) => {
        if (process === starting) onStartFailed(jail, why)
        else onWorkerGone(process, isExpected ? undefined : why)
        dispatch()
      }
    })
  }

  const onStartFailed = (jail: Jail, why: string): void => {
    starting = undefined
    if (isStopped) return
    if (jailAt + 1 < allowed.length) {
      jailAt++
      return
    }
    onTrouble("computing.worker.not_started", { jail: jail.report.level, reason: why })
    failedStarts++
    if (failedStarts >= startsTried) refuseAll("no computing worker can be started")
  }

  const onWorkerGone = (process: WorkerProcess, trouble: string | undefined): void => {
    for (const worker of workers) {
      if (worker.process !== process) continue
      clearTimeout(worker.idle)
      workers.delete(worker)
      if (trouble !== undefined) onTrouble("computing.worker.replaced", { reason: trouble })
    }
    report()
  }

  const refuseAll = (why: string): void => {
    failedStarts = 0
    for (let next = queue.take(() => true); next !== undefined; next = queue.take(() => true))
      next.job.onEnded({ tag: "Refused", why })
  }

  return {
    /** Returns an effect that removes the job while it waits. */
    submit: (organisation: OrganisationId, job: Waiting): Effect.Effect<void> => {
      if (isStopped) job.onEnded({ tag: "Refused", why: "the service is stopping" })
      else if (queue.count(organisation) >= computationLimits.waiting)
        job.onEnded({ tag: "Refused", why: "too many computations of this organisation are waiting" })
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
      report()
    }
  }
}
