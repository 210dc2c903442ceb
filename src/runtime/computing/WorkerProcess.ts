/**
 * The pool's side of one computing worker: sends a job, receives its answer, and kills the process when a job computes
 * longer than allowed. Its callbacks must not throw.
 */
import type { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import type { Jail } from "../jail/Jail.js"
import { frameReader, textFrame } from "../jail/Frames.js"
import { childProcessorMillis } from "../jail/ProcessorTime.js"
import { WorkerRequest, type Job, type JobAnswer, WorkerReply } from "./Protocol.js"

/** A worker that gets no CPU may take this many times the allowed time by the wall clock. */
const starvation = 10
const checkMillis = 100
const complaintLength = 2_000
const startMillis = 10_000
/** A larger answer is read, parsed and handed over in three turns of the event loop. */
const largeBytes = 256 * 1024
/** Shown after the command in lists of processes. */
const processName = "svc-computing"

/** A worker that dies with a job in hand dies of that job: most likely the system took its memory back. */
export type JobEnd = JobAnswer | { readonly tag: "TooMuchTime" }

export interface WorkerProcess {
  readonly pid: number | undefined
  /** Runs one job. The caller must wait for its end before the next one. */
  readonly run: (job: Job, allowedMillis: number, onEnded: (ended: JobEnd) => void) => void
  readonly kill: () => void
}

export interface WorkerOptions {
  readonly jail: Jail
  readonly source: Buffer
  readonly onReady: (worker: WorkerProcess) => void
  /** The process has ended, ready or not. Called once, before the end of the current job is reported. */
  readonly onGone: (worker: WorkerProcess, end: { readonly isExpected: boolean; readonly why: string }) => void
}

export const startWorker = (options: WorkerOptions): WorkerProcess => {
  const child = spawn(options.jail.command, [...options.jail.args, processName], {
    cwd: "/",
    env: { TZ: "UTC" },
    // In a session of its own: a Ctrl-C in the terminal is for the service, which ends its workers itself.
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "pipe"]
  })
  // Node types further pipes as readable or writable; a "pipe" is a socket, hence both.
  const socket = child.stdio[3] as Duplex
  let inHand: ((ended: JobEnd) => void) | undefined
  let check: NodeJS.Timeout | undefined
  let isGone = false
  let isLate = false
  let isReady = false
  /** What it wrote to stderr before it was ready. Later output may quote a tenant and must not be logged. */
  let complaint = ""

  const settle = (ended: JobEnd): void => {
    const onEnded = inHand
    inHand = undefined
    clearTimeout(check)
    onEnded?.(ended)
  }

  const kill = (): void => {
    child.kill("SIGKILL")
    socket.destroy()
  }

  const onGone = (why: string): void => {
    if (isGone) return
    isGone = true
    kill()
    const told = complaint === "" ? why : `${why}: ${complaint.trim()}`
    clearTimeout(impatient)
    // First, so that the callback of the job gives no further job to this worker.
    options.onGone(worker, { isExpected: isLate, why: told })
    settle({ tag: isLate ? "TooMuchTime" : "TooMuchMemory" })
  }

  /** Ends the worker when the job has computed for longer than allowed. */
  const watch = (allowedMillis: number): void => {
    const started = performance.now()
    const before = childProcessorMillis(child)
    const look = (): void => {
      const computed = childProcessorMillis(child) - before
      const passed = performance.now() - started
      if (computed < allowedMillis && passed < allowedMillis * starvation) {
        check = setTimeout(look, Math.max(checkMillis, allowedMillis - computed)).unref()
        return
      }
      isLate = true
      onGone("a computation took longer than it may")
    }
    check = setTimeout(look, allowedMillis).unref()
  }

  const worker: WorkerProcess = {
    pid: child.pid,
    run: (job, allowedMillis, onEnded) => {
      inHand = onEnded
      watch(allowedMillis)
      socket.write(textFrame(WorkerRequest.job, 0, JSON.stringify(job)))
    },
    kill
  }

  /** Takes a step of the protocol; ends the worker if that fails. */
  const obey = (step: () => void): void => {
    try {
      step()
    } catch (cause) {
      onGone(`the worker broke the protocol (${cause instanceof Error ? cause.name : "unknown"})`)
    }
  }

  /** Takes the step in a later turn of the event loop, so that other requests are served in between. */
  const obeyLater = (step: () => void): void => void setImmediate(() => obey(step))

  // A jail that does not work here may hang instead of failing.
  const impatient = setTimeout(() => onGone("the worker did not answer"), startMillis).unref()
  const read = frameReader((kind, payload) => {
    if (kind === WorkerReply.ready) {
      clearTimeout(impatient)
      isReady = true
      complaint = ""
      return options.onReady(worker)
    }
    // Written by the worker's own code: a tenant's input never becomes code.
    const parse = () => JSON.parse(payload.toString("utf8", 4)) as JobAnswer
    if (payload.length <= largeBytes) return settle(parse())
    clearTimeout(check)
    obeyLater(() => {
      const answer = parse()
      obeyLater(() => settle(answer))
    })
  })
  socket.on("data", (chunk: Buffer) => obey(() => read(chunk)))
  socket.on("error", () => onGone("the worker's socket failed"))
  socket.on("close", () => onGone("the worker closed its socket"))
  child.on("error", (cause) => onGone(String(cause)))
  child.on("exit", (code, signal) => onGone(`the worker ended (${signal ?? code})`))
  child.stderr?.on("data", (chunk: Buffer) => {
    if (!isReady && complaint.length < complaintLength) complaint += chunk.toString()
  })
  // The socket and the process report its end.
  child.stdin?.on("error", () => undefined)
  child.stdin?.end(options.source)
  return worker
}
