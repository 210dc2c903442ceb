/**
 * The pool's side of one computing worker: sends a job, receives its answer, and kills the process when a job exceeds
 * its time limit. The callbacks in `WorkerOptions` must not throw.
 */
import type { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import type { Jail } from "../jail/Jail.js"
import { frameReader, textFrame } from "../jail/Frames.js"
import { childProcessorMillis } from "../jail/ProcessorTime.js"
import { WorkerRequest, type Job, type JobAnswer, readAnswer, WorkerReply } from "./Protocol.js"

/** Wall-clock time that a job may take, as a multiple of its CPU limit: a busy machine gives a worker little CPU. */
const wallClockFactor = 10
const checkMillis = 100
/** Characters of stderr that are kept for the reason of a failed start. */
const startOutputLength = 2_000
const startLimitMillis = 10_000
/** A larger answer is read, parsed and reported in three steps, with a pause between them in which others are served. */
const largeBytes = 256 * 1024
/** A run of a neighbour needs dozens of turns of the event loop: in this time a short one passes as a whole. */
const pauseMillis = 20
/** Shown after the command in lists of processes. */
const processName = "svc-computing"

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

export interface WorkerOptions {
  readonly jail: Jail
  readonly source: Buffer
  readonly onReady: (worker: WorkerProcess) => void
  /**
   * The process has ended, before or after it was ready. Called once, before the end of the current job is reported.
   */
  readonly onGone: (worker: WorkerProcess, end: { readonly isExpected: boolean; readonly reason: string }) => void
}

export const startWorker = (options: WorkerOptions): WorkerProcess => {
  const child = spawn(options.jail.command, [...options.jail.args, processName], {
    cwd: "/",
    env: { TZ: "UTC" },
    // In a process group of its own: Ctrl-C in the terminal reaches only the service, which ends its workers itself.
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "pipe"]
  })
  // Node types the fourth pipe as readable or writable; a pipe of `spawn` is a socket and both.
  const socket = child.stdio[3] as Duplex
  let onJobEnded: ((end: JobEnd) => void) | undefined
  let timer: NodeJS.Timeout | undefined
  let isGone = false
  let isLate = false
  let isReady = false
  /** What the worker wrote to stderr before it was ready. Later output may quote a tenant and must not be logged. */
  let startOutput = ""

  const settle = (end: JobEnd): void => {
    const onEnded = onJobEnded
    onJobEnded = undefined
    clearTimeout(timer)
    onEnded?.(end)
  }

  const kill = (): void => {
    child.kill("SIGKILL")
    socket.destroy()
  }

  const onGone = (reason: string): void => {
    if (isGone) return
    isGone = true
    kill()
    const fullReason = startOutput === "" ? reason : `${reason}: ${startOutput.trim()}`
    clearTimeout(startTimeout)
    // The pool must remove this worker before the job's callback assigns the next job.
    options.onGone(worker, { isExpected: isLate, reason: fullReason })
    settle({ tag: isLate ? "TooMuchTime" : "TooMuchMemory" })
  }

  /** Ends the worker when the job has exceeded its time limit. */
  const watchTime = (allowedMillis: number): void => {
    const startedAt = performance.now()
    const millisBefore = childProcessorMillis(child)
    const checkTime = (): void => {
      const computed = childProcessorMillis(child) - millisBefore
      const elapsed = performance.now() - startedAt
      if (computed < allowedMillis && elapsed < allowedMillis * wallClockFactor) {
        timer = setTimeout(checkTime, Math.max(checkMillis, allowedMillis - computed)).unref()
        return
      }
      isLate = true
      onGone("a computation exceeded its time limit")
    }
    timer = setTimeout(checkTime, allowedMillis).unref()
  }

  const worker: WorkerProcess = {
    pid: child.pid,
    run: (job, allowedMillis, onEnded) => {
      onJobEnded = onEnded
      watchTime(allowedMillis)
      socket.write(textFrame(WorkerRequest.job, 0, JSON.stringify(job)))
    },
    kill
  }

  /** Runs a step of the protocol; ends the worker if the step throws. */
  const runStep = (step: () => void): void => {
    try {
      step()
    } catch (cause) {
      onGone(`the worker broke the protocol (${cause instanceof Error ? cause.name : "unknown"})`)
    }
  }

  /** Runs the step after the pause. */
  const runStepLater = (step: () => void): void => void setTimeout(() => runStep(step), pauseMillis)

  // A jail that does not work on this machine may hang instead of failing.
  const startTimeout = setTimeout(() => onGone("the worker did not answer"), startLimitMillis).unref()
  const read = frameReader((kind, payload) => {
    if (kind === WorkerReply.ready) {
      clearTimeout(startTimeout)
      isReady = true
      startOutput = ""
      return options.onReady(worker)
    }
    const parse = () => readAnswer(payload.toString("utf8", 4))
    if (payload.length <= largeBytes) return settle(parse())
    clearTimeout(timer)
    runStepLater(() => {
      const answer = parse()
      runStepLater(() => settle(answer))
    })
  })
  socket.on("data", (chunk: Buffer) => runStep(() => read(chunk)))
  socket.on("error", () => onGone("the worker's socket failed"))
  socket.on("close", () => onGone("the worker closed its socket"))
  child.on("error", (cause) => onGone(String(cause)))
  child.on("exit", (code, signal) => onGone(`the worker ended (${signal ?? code})`))
  child.stderr?.on("data", (chunk: Buffer) => {
    if (!isReady && startOutput.length < startOutputLength) startOutput += chunk.toString()
  })
  // A failure to write is ignored: the events of the socket and the process report the end.
  child.stdin?.on("error", () => undefined)
  child.stdin?.end(options.source)
  return worker
}
