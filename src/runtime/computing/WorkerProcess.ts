/**
 * The pool's side of one computing worker: sends a job, receives its answer, and kills the process when a job exceeds
 * its time limit. The callbacks in `WorkerOptions` must not throw.
 */
import type { Buffer } from "node:buffer"
import { frame, textFrame } from "../jail/Frames.js"
import type { Jail } from "../jail/Jail.js"
import { JailedProcess, type ListenerOptions } from "../jail/JailedProcess.js"
import type { Work } from "../jail/Watchdog.js"
import { needsEngine, WorkerRequest, type Job, type JobAnswer, readAnswer, WorkerReply } from "./Protocol.js"

/** A larger answer is read, parsed and reported in three steps, with a pause between them in which others are served. */
const largeBytes = 256 * 1024
/** A run of a neighbour needs dozens of turns of the event loop: in this time a short one passes as a whole. */
const pauseMillis = 20

/**
 * How a job ended. A worker that dies during a job is counted as `TooMuchMemory`: most likely the system killed it for
 * that.
 */
export type JobEnd = JobAnswer | { readonly tag: "TooMuchTime" }

export interface WorkerProcess {
  readonly pid: number | undefined
  /** Runs one job. The caller must wait for its end before it runs the next one. */
  readonly run: (job: Job, allowedMillis: number, onEnded: (end: JobEnd) => void) => void
  readonly kill: () => void
}

export interface WorkerOptions extends ListenerOptions {
  readonly jail: Jail
  readonly source: Buffer
  /** Reads the engine's module. */
  readonly readEngine: () => Buffer
  readonly onReady: (worker: WorkerProcess) => void
  /**
   * The process has ended, before or after it was ready. Called once, before the end of the current job is reported.
   */
  readonly onGone: (worker: WorkerProcess, end: { readonly isExpected: boolean; readonly reason: string }) => void
}

export const startWorker = (options: WorkerOptions): WorkerProcess => {
  let onJobEnded: ((end: JobEnd) => void) | undefined
  /** The job that computes, until its answer begins to arrive. */
  let work: Work | undefined
  let jobs = 0
  let isLate = false
  let hasEngine = false

  const settle = (end: JobEnd): void => {
    const onEnded = onJobEnded
    onJobEnded = undefined
    work = undefined
    onEnded?.(end)
  }

  /** Runs the step after the pause. */
  const runLater = (step: () => void): void => void setTimeout(jailed.guard("timer", step), pauseMillis)

  const onFrame = (kind: number, payload: Buffer): void => {
    if (kind === WorkerReply.ready) {
      jailed.markReady()
      return options.onReady(worker)
    }
    const parse = () => readAnswer(payload.toString("utf8", 4))
    if (payload.length <= largeBytes) return settle(parse())
    work = undefined
    runLater(() => {
      const answer = parse()
      runLater(() => settle(answer))
    })
  }

  const jailed = new JailedProcess({
    ...options,
    name: "computing",
    watch: {
      isBusy: () => work !== undefined,
      work: () => work,
      onHung: () => {
        isLate = true
        jailed.end("a computation exceeded its time limit")
      }
    },
    onFrame,
    onGone: (reason) => {
      // The pool must remove this worker before the job's callback assigns the next job.
      options.onGone(worker, { isExpected: isLate, reason })
      settle({ tag: isLate ? "TooMuchTime" : "TooMuchMemory" })
    }
  })

  const worker: WorkerProcess = {
    pid: jailed.pid,
    run: (job, allowedMillis, onEnded) => {
      onJobEnded = onEnded
      work = { id: ++jobs, startedAt: performance.now(), allowedMillis }
      jailed.watch()
      if (!hasEngine && needsEngine.has(job.name)) {
        hasEngine = true
        jailed.send(engineFrame(options.readEngine()))
      }
      jailed.send(textFrame(WorkerRequest.job, 0, JSON.stringify(job)))
    },
    kill: () => jailed.kill()
  }
  return worker
}

const engineFrame = (wasm: Buffer): Buffer => {
  const bytes = frame(WorkerRequest.engine, wasm.length)
  wasm.copy(bytes, bytes.length - wasm.length)
  return bytes
}
