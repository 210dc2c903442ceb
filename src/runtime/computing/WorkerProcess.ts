/**
 * One computing worker as the pool sees it: a job in, its answer out, and the end of the process when a job computes
 * longer than it may. Callbacks, since a process speaks in events; none of them throws.
 */
import type { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import type { Jail } from "../jail/Jail.js"
import { frameReader, textFrame } from "../jail/Frames.js"
import { childProcessorMillis } from "../jail/ProcessorTime.js"
import { WorkerRequest, type Job, type JobAnswer, WorkerReply } from "./Protocol.js"

/** A worker that got no processor may take this many times the allowed time by the clock. */
const starvation = 10
const checkMillis = 100
const complaintLength = 2_000
const startMillis = 10_000
/** What lists of processes show behind the command. */
const processName = "svc-computing"

/** A worker that dies with a job in hand dies of that job: most likely the system took its memory back. */
export type JobEnd = JobAnswer | { readonly tag: "TooMuchTime" }

export interface WorkerProcess {
  readonly pid: number | undefined
  /** Does one job; the next one may be given when it has ended. */
  readonly run: (job: Job, allowedMillis: number, onEnded: (ended: JobEnd) => void) => void
  readonly kill: () => void
}

export interface WorkerOptions {
  readonly jail: Jail
  readonly source: Buffer
  readonly onReady: (worker: WorkerProcess) => void
  /** It is gone, ready or not. Called once, before the job in hand is told its end. */
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
  /** What it wrote to its error stream before it was ready. Afterwards that may quote a tenant, and the end is logged. */
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
    // First, so that what follows from the job's end is not given to this worker.
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

  // A jail that is not possible here may neither fail nor answer.
  const impatient = setTimeout(() => onGone("the worker did not answer"), startMillis).unref()
  const read = frameReader((kind, payload) => {
    if (kind === WorkerReply.ready) {
      clearTimeout(impatient)
      isReady = true
      complaint = ""
      return options.onReady(worker)
    }
    // Written by the worker's own code, which tenants' input cannot become.
    settle(JSON.parse(payload.toString("utf8", 4)) as JobAnswer)
  })
  socket.on("data", (chunk: Buffer) => {
    try {
      read(chunk)
    } catch (cause) {
      onGone(`the worker broke the protocol (${cause instanceof Error ? cause.name : "unknown"})`)
    }
  })
  socket.on("error", () => onGone("the worker's socket failed"))
  socket.on("close", () => onGone("the worker closed its socket"))
  child.on("error", (cause) => onGone(String(cause)))
  child.on("exit", (code, signal) => onGone(`the worker ended (${signal ?? code})`))
  child.stderr?.on("data", (chunk: Buffer) => {
    if (!isReady && complaint.length < complaintLength) complaint += chunk.toString()
  })
  // Its end is told by the socket and by the process.
  child.stdin?.on("error", () => undefined)
  child.stdin?.end(options.source)
  return worker
}
