/**
 * A runner: the jailed process that runs workflows. It gets its source on stdin and has one socket to the pool, and
 * holds no secret of the service. It runs one turn at a time, in order; a long replay yields to other turns every few
 * milliseconds. It exits when the socket closes.
 */
import { frame, frameReader, textFrame } from "../../jail/Frames.js"
import { Buffer } from "node:buffer"
import { Socket } from "node:net"
import { guest as guestLimits, jsonWeight } from "../../../domain/Limits.js"
import type { Engine } from "./Engine.js"
import { makeEngine } from "./Engine.js"
import { GuestStopped } from "./GuestStopped.js"
import { engineIdentity } from "./Identity.js"
import type { Guests, Guest } from "./Guests.js"
import { makeGuests } from "./Guests.js"
import { isOversized, isTooHeavy } from "./OutputSize.js"
import { ProcessorTime, wallMillis } from "./Processor.js"
import { Replies } from "./Replies.js"
import {
  guestState,
  RunnerRequest,
  idFrame,
  readEvents,
  type TurnFailure,
  RunnerReply,
  turnFlag,
  turnHeader
} from "./Protocol.js"

/** How long a replay computes before it yields. */
const sliceMillis = 10
/** How long the runner works before it reads the socket again, which may close a session. */
const pollMillis = 10

/** Work with more bytes of events may be long. */
const shortEventBytes = 16 * 1024

/** How long after its last work a runner begins to give memory back. */
const idleMillis = 1000

/** One `start` or `feed`. It gets one answer. */
interface Work {
  readonly session: number
  readonly events: ReadonlyArray<Buffer>
  readonly open: { readonly program: number; readonly memoryBytes: number; readonly cpuMillis: number } | undefined
  next: number
  guest: Guest | undefined
  cpuMillis: number
  isEnded: boolean
  readonly outputs: Array<Buffer>
  isClosed: boolean
  /** It has yielded. */
  isPaused: boolean
}

const socket = new Socket({ fd: 3, readable: true, writable: true })
const replies = new Replies(socket)
const processor = new ProcessorTime()
let engine: Engine
let guests: Guests
const queue: Array<Work> = []
/** Taken from the queue and not yet answered. The pool may close its session while it awaits. */
let atWork: Work | undefined
let pausedCount = 0
let isWorking = false

// --- Answers ---

const refuse = (work: Work, refusal: TurnFailure): void => {
  // A session that was closed in the queue still has its guest.
  const guest = work.guest ?? guests.find(work.session)
  if (guest !== undefined) guests.release(guest)
  replies.add(textFrame(RunnerReply.failed, work.session, JSON.stringify(refusal)))
}

const comma = Buffer.from(",")
const answer = (work: Work, guest: Guest): void => {
  let size = 2
  for (const output of work.outputs) size += output.length
  size += Math.max(0, work.outputs.length - 1)
  const bytes = frame(RunnerReply.turn, turnHeader + size)
  bytes.writeUInt32BE(work.session, 5)
  bytes[9] = work.isEnded ? turnFlag.ended : 0
  bytes.writeDoubleBE(work.cpuMillis, 10)
  bytes.writeDoubleBE(engine.usedBytes(guest.instance), 18)
  let at = bytes.write("[", 5 + turnHeader) + 5 + turnHeader
  work.outputs.forEach((output, i) => {
    if (i > 0) at += comma.copy(bytes, at)
    at += output.copy(bytes, at)
  })
  bytes.write("]", at)
  replies.add(bytes)
  if (work.isEnded) guests.release(guest)
  else guests.suspend(guest)
}

const refusalOf = (work: Work, cause: unknown): TurnFailure => {
  const limits = work.guest?.instance.limits ?? work.open
  if (!(cause instanceof GuestStopped)) throw cause
  switch (cause.reason) {
    case "memory":
      return { tag: "OutOfMemory", limit: limits?.memoryBytes ?? 0 }
    case "cpu": {
      const step = work.guest === undefined ? undefined : engine.standing(work.guest.instance)
      return { tag: "CpuLimit", limit: limits?.cpuMillis ?? 0, ...(step === undefined ? {} : { step }) }
    }
    default:
      return { tag: "LoadFailed", ...cause.thrown }
  }
}

/** The engine failed inside the workflow: ends the run as if the workflow had thrown. */
const endByThrow = (work: Work, thrown: { readonly name: string; readonly message: string }): void => {
  work.outputs.push(Buffer.from(JSON.stringify([{ t: "throw", e: thrown }])))
  work.isEnded = true
}

/** Outputs with the step in whose code the guest stands. */
const withStep = (outputs: Buffer, step: string): Buffer => {
  const before = outputs.toString().slice(0, -1)
  return Buffer.from(`${before}${before === "[" ? "" : ","}${JSON.stringify({ t: "at", p: step })}]`)
}

// --- Work ---

/** Delivers one event; `false` if the work was answered with a failure. */
const deliver = (work: Work, guest: Guest, event: Buffer): boolean => {
  let text: Buffer
  try {
    text = engine.step(guest.instance, event)
  } catch (cause) {
    if (cause instanceof GuestStopped && (cause.reason === "native" || cause.reason === "threw")) {
      guest.instance.isSpoiled = true
      endByThrow(work, cause.thrown)
      return true
    }
    refuse(work, refusalOf(work, cause))
    return false
  }
  const state = text[0]
  const outputs = text.subarray(1)
  if (state === guestState.memory || (state === guestState.threwNull && engine.isFull(guest.instance))) {
    guest.instance.isSpoiled = true
    refuse(work, { tag: "OutOfMemory", limit: guest.instance.limits.memoryBytes })
    return false
  }
  if (state === guestState.tooLarge || isOversized(outputs)) {
    refuse(work, { tag: "OutputTooLarge", limit: guestLimits.outputBytes })
    return false
  }
  if (isTooHeavy(outputs)) {
    refuse(work, { tag: "TooManyValues", limit: jsonWeight })
    return false
  }
  const step = state === guestState.stuck ? engine.standing(guest.instance) : undefined
  work.outputs.push(step === undefined ? outputs : withStep(outputs, step))
  work.isEnded = state !== guestState.running && state !== guestState.stuck
  return true
}

/** Works until the answer is sent or the slice is over; `true` if the answer is sent. */
const runSlice = async (work: Work): Promise<boolean> => {
  const lost = (reason: "evicted" | "closed"): boolean => {
    refuse(work, { tag: "SessionLost", reason })
    return true
  }
  if (work.isClosed) return lost("closed")
  const before = processor.recent()
  const startedAt = wallMillis()
  const until = startedAt + sliceMillis
  /** The last reading may precede what the runner did before this slice, which the wall clock excludes. */
  const addCpuTime = (): void => {
    work.cpuMillis += Math.min(processor.read() - before, wallMillis() - startedAt)
  }
  const isLate = (): boolean => wallMillis() > until && work.next < work.events.length && !work.isEnded
  const stepAside = (): boolean => {
    addCpuTime()
    return false
  }
  if (work.open !== undefined && work.guest === undefined) {
    try {
      work.guest = await guests.open(work.session, work.open.program, work.open)
    } catch (cause) {
      refuse(work, refusalOf(work, cause))
      return true
    }
  } else if (work.guest === undefined) {
    work.guest = guests.find(work.session)
    if (work.guest === undefined) return lost("evicted")
    work.guest.isBusy = true
  }
  // Loading a program has a CPU limit of its own: by yielding it restarts the watchdog's count for the first event.
  if (isLate() && work.next === 0) return stepAside()
  while (work.next < work.events.length && !work.isEnded) {
    const event = work.events[work.next++]
    if (event !== undefined && !deliver(work, work.guest, event)) return true
    if (isLate()) return stepAside()
  }
  addCpuTime()
  if (work.isClosed) return lost("closed")
  answer(work, work.guest)
  return true
}

/** Whether it may compute for more than a moment: it loads a program, makes an instance, or replays a journal. */
const isLong = ({ events, guest, open }: Work): boolean => {
  if (open !== undefined && guest === undefined && !guests.hasFree(open.program)) return true
  let bytes = 0
  for (const event of events) bytes += event.length
  return bytes > shortEventBytes
}

/** Runs the queue, and sends the answers of several short turns together. */
const runQueue = async (): Promise<void> => {
  if (isWorking) return
  isWorking = true
  let polledAt = wallMillis()
  for (let work = queue.shift(); work !== undefined; work = queue.shift()) {
    atWork = work
    await replies.awaitWritten()
    if (pausedCount > 0) replies.add(idFrame(RunnerReply.begin, work.session))
    replies.beginTurn(work.session, pausedCount > 0 || isLong(work))
    if (work.isPaused) pausedCount--
    work.isPaused = !(await runSlice(work))
    if (work.isPaused) {
      pausedCount++
      queue.push(work)
      replies.add(idFrame(RunnerReply.yielded, work.session))
    }
    atWork = undefined
    if (queue.length === 0) replies.flush()
    else replies.flushLate()
    guests.collect(false)
    if (wallMillis() - polledAt > pollMillis) {
      replies.flush()
      // Twice: the first callback runs before the socket is read again.
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
      polledAt = wallMillis()
    }
  }
  isWorking = false
  workedAt = wallMillis()
  idleTimer ??= setTimeout(collectWhenIdle, idleMillis).unref()
}

let idleTimer: NodeJS.Timeout | undefined
/** When the last work ended. A runner under load is idle for moments, too. */
let workedAt = 0
const collectWhenIdle = (): void => {
  const busyFor = isWorking ? idleMillis : idleMillis - (wallMillis() - workedAt)
  const again = busyFor > 0 ? busyFor : guests.collect(true) ? idleMillis : undefined
  idleTimer = again === undefined ? undefined : setTimeout(collectWhenIdle, again).unref()
}

const enqueue = (session: number, events: ReadonlyArray<Buffer>, open: Work["open"]): void => {
  const guest = guests.find(session)
  if (guest !== undefined) guest.isBusy = true
  queue.push({
    session,
    events,
    open,
    next: 0,
    guest: undefined,
    cpuMillis: 0,
    isEnded: false,
    outputs: [],
    isClosed: false,
    isPaused: false
  })
  void runQueue()
}

// --- Requests of the pool ---

/** An exception, of a full stack, would leave frames half sent: the runner ends, and its guests are replayed. */
const flushWhileComputing = (): void => {
  try {
    replies.flushLate()
  } catch {
    process.exit(1)
  }
}

const initialise = async (mostLive: number, wasm: Uint8Array<ArrayBuffer>): Promise<void> => {
  engine = await makeEngine(wasm, processor, flushWhileComputing)
  guests = makeGuests(engine, mostLive)
  replies.add(textFrame(RunnerReply.ready, 0, engineIdentity(wasm)))
  replies.flush()
}

const onFrame = (kind: number, payload: Buffer): void => {
  const number = (index: number): number => payload.readUInt32BE(index * 4)
  switch (kind) {
    case RunnerRequest.init:
      void initialise(number(0), Uint8Array.from(payload.subarray(4)))
      return
    case RunnerRequest.program:
      return guests.define(number(0), payload.subarray(4))
    case RunnerRequest.forget:
      return guests.forget(number(0))
    case RunnerRequest.start:
      return enqueue(number(0), readEvents(payload, 16), {
        program: number(1),
        memoryBytes: number(2),
        cpuMillis: number(3)
      })
    case RunnerRequest.feed:
      return enqueue(number(0), readEvents(payload, 4), undefined)
    case RunnerRequest.close: {
      const session = number(0)
      const open = atWork?.session === session ? atWork : queue.find((work) => work.session === session)
      if (open !== undefined) {
        open.isClosed = true
        return
      }
      const guest = guests.find(session)
      if (guest !== undefined) guests.release(guest)
      return
    }
    default:
      throw new Error(`the pool sent a frame of unknown kind ${kind}`)
  }
}

socket.on("data", frameReader(onFrame))
socket.on("close", () => process.exit(0))
socket.on("error", () => process.exit(0))
