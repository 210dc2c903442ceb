/**
 * A runner: the process in which workflows compute. It is started in a jail, with its own source on its standard input
 * and one socket to the pool, and holds nothing that is worth reaching for. It does one thing at a time, in the order
 * in which it was asked; a long replay steps aside for its neighbours every few milliseconds. It ends when the socket does.
 */
import { frame, frameReader, textFrame } from "../../jail/Frames.js"
import { Buffer } from "node:buffer"
import { Socket } from "node:net"
import { guest, jsonWeight } from "../../../domain/Limits.js"
import type { Engine } from "./Engine.js"
import { makeEngine } from "./Engine.js"
import { GuestStopped } from "./GuestStopped.js"
import { engineIdentity } from "./Identity.js"
import type { Guests, Live } from "./Guests.js"
import { makeGuests } from "./Guests.js"
import { isOversized, isTooHeavy } from "./OutputSize.js"
import { processorMillis, wallMillis } from "./Processor.js"
import { RunnerRequest, idFrame, readEvents, type TurnFailure, RunnerReply, turnFlag, turnHeader } from "./Protocol.js"

/** How long a replay computes before its neighbours have their turn. */
const sliceMillis = 10
/** How long the runner works before it looks whether somebody gave up. */
const pollMillis = 10

/** How long after its last work a runner looks whether it has memory to give back. */
const idleMillis = 1000

/** One `start` or `feed`, answered once. */
interface Work {
  readonly session: number
  readonly events: ReadonlyArray<Buffer>
  readonly open: { readonly program: number; readonly memoryBytes: number; readonly cpuMillis: number } | undefined
  next: number
  live: Live | undefined
  cpuMillis: number
  ended: boolean
  readonly outputs: Array<Buffer>
  closed: boolean
  /** Stepped aside for its neighbours. */
  paused: boolean
}

const socket = new Socket({ fd: 3, readable: true, writable: true })
let engine: Engine
let guests: Guests
const queue: Array<Work> = []
/** Taken off the queue and not answered. It waits in places, and whoever asked may give up meanwhile. */
let inHand: Work | undefined
let paused = 0
let working = false

const send = (bytes: Buffer): void => {
  socket.write(bytes)
}

// --- Answers ---

const refuse = (work: Work, refusal: TurnFailure): void => {
  // Closed before its turn came: the guest was never taken in hand, and is there all the same.
  const live = work.live ?? guests.find(work.session)
  if (live !== undefined) guests.release(live)
  send(textFrame(RunnerReply.failed, work.session, JSON.stringify(refusal)))
}

const comma = Buffer.from(",")
const answer = (work: Work, live: Live): void => {
  let size = 2
  for (const output of work.outputs) size += output.length
  size += Math.max(0, work.outputs.length - 1)
  const bytes = frame(RunnerReply.turn, turnHeader + size)
  bytes.writeUInt32BE(work.session, 5)
  bytes[9] = work.ended ? turnFlag.ended : 0
  bytes.writeDoubleBE(work.cpuMillis, 10)
  bytes.writeDoubleBE(engine.usedBytes(live.instance), 18)
  let at = bytes.write("[", 5 + turnHeader) + 5 + turnHeader
  work.outputs.forEach((output, i) => {
    if (i > 0) at += comma.copy(bytes, at)
    at += output.copy(bytes, at)
  })
  bytes.write("]", at)
  send(bytes)
  if (work.ended) guests.release(live)
  else guests.rest(live)
}

const refusalOf = (work: Work, cause: unknown): TurnFailure => {
  const limits = work.live?.instance.limits ?? work.open
  if (!(cause instanceof GuestStopped)) throw cause
  switch (cause.reason) {
    case "memory":
      return { tag: "OutOfMemory", limit: limits?.memoryBytes ?? 0 }
    case "cpu":
      return { tag: "CpuLimit", limit: limits?.cpuMillis ?? 0 }
    default:
      return { tag: "LoadFailed", ...cause.thrown }
  }
}

/** The engine gave up inside a running workflow: the workflow's own error, so that it ends like any that throws. */
const endByThrow = (work: Work, thrown: { readonly name: string; readonly message: string }): void => {
  work.outputs.push(Buffer.from(JSON.stringify([{ t: "throw", e: thrown }])))
  work.ended = true
}

// --- Work ---

const states = { running: 114, stuck: 115, memory: 109, threwNull: 110, tooLarge: 111 } as const

/** Delivers one event; `false` once the work is answered. */
const deliver = (work: Work, live: Live, event: Buffer): boolean => {
  let text: Buffer
  try {
    text = engine.step(live.instance, event)
  } catch (cause) {
    if (cause instanceof GuestStopped && (cause.reason === "native" || cause.reason === "threw")) {
      live.instance.spoiled = true
      endByThrow(work, cause.thrown)
      return true
    }
    refuse(work, refusalOf(work, cause))
    return false
  }
  const state = text[0]
  const outputs = text.subarray(1)
  if (state === states.memory || (state === states.threwNull && engine.isFull(live.instance))) {
    live.instance.spoiled = true
    refuse(work, { tag: "OutOfMemory", limit: live.instance.limits.memoryBytes })
    return false
  }
  if (state === states.tooLarge || isOversized(outputs)) {
    refuse(work, { tag: "OutputTooLarge", limit: guest.outputBytes })
    return false
  }
  if (isTooHeavy(outputs)) {
    refuse(work, { tag: "TooManyValues", limit: jsonWeight })
    return false
  }
  work.outputs.push(outputs)
  work.ended = state !== states.running && state !== states.stuck
  return true
}

/** Works until it is answered or its slice is over; `true` when it is answered. */
const proceed = async (work: Work): Promise<boolean> => {
  const lost = (reason: "evicted" | "closed"): boolean => {
    refuse(work, { tag: "SessionLost", reason })
    return true
  }
  if (work.closed) return lost("closed")
  const before = processorMillis()
  const until = wallMillis() + sliceMillis
  const isLate = (): boolean => wallMillis() > until && work.next < work.events.length && !work.ended
  const stepAside = (): boolean => {
    work.cpuMillis += processorMillis() - before
    return false
  }
  if (work.open !== undefined && work.live === undefined) {
    try {
      work.live = await guests.open(work.session, work.open.program, work.open)
    } catch (cause) {
      refuse(work, refusalOf(work, cause))
      return true
    }
  } else if (work.live === undefined) {
    work.live = guests.find(work.session)
    if (work.live === undefined) return lost("evicted")
    work.live.busy = true
  }
  // Loading had a step's time of its own: the first event begins a new one in the eyes of the watch.
  if (isLate() && work.next === 0) return stepAside()
  while (work.next < work.events.length && !work.ended) {
    const event = work.events[work.next++]
    if (event !== undefined && !deliver(work, work.live, event)) return true
    if (isLate()) return stepAside()
  }
  work.cpuMillis += processorMillis() - before
  if (work.closed) return lost("closed")
  answer(work, work.live)
  return true
}

/**
 * Works off the queue. Whatever was answered is on its way before the next piece begins, so that the pool can tell
 * a guest that hangs from those behind it.
 */
const workOff = async (): Promise<void> => {
  if (working) return
  working = true
  let since = wallMillis()
  for (let work = queue.shift(); work !== undefined; work = queue.shift()) {
    inHand = work
    if (socket.writableLength > 0) await new Promise<void>((resolve) => socket.once("drain", resolve))
    if (paused > 0) send(idFrame(RunnerReply.begin, work.session))
    if (work.paused) paused--
    work.paused = !(await proceed(work))
    if (work.paused) {
      paused++
      queue.push(work)
      send(idFrame(RunnerReply.yielded, work.session))
    }
    inHand = undefined
    guests.collect(false)
    if (wallMillis() - since > pollMillis) {
      // Twice: the first comes before the socket is read again.
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
      since = wallMillis()
    }
  }
  working = false
  workedAt = wallMillis()
  idle ??= setTimeout(whenIdle, idleMillis).unref()
}

let idle: NodeJS.Timeout | undefined
/** When the last work ended. A runner under load has nothing to do for moments, too. */
let workedAt = 0
const whenIdle = (): void => {
  const busyFor = working ? idleMillis : idleMillis - (wallMillis() - workedAt)
  idle = busyFor > 0 ? setTimeout(whenIdle, busyFor).unref() : undefined
  if (idle === undefined) guests.collect(true)
}

const enqueue = (session: number, events: ReadonlyArray<Buffer>, open: Work["open"]): void => {
  const live = guests.find(session)
  if (live !== undefined) live.busy = true
  queue.push({
    session,
    events,
    open,
    next: 0,
    live: undefined,
    cpuMillis: 0,
    ended: false,
    outputs: [],
    closed: false,
    paused: false
  })
  void workOff()
}

// --- What the pool asks ---

const initialise = async (mostLive: number, wasm: Uint8Array<ArrayBuffer>): Promise<void> => {
  engine = await makeEngine(wasm)
  guests = makeGuests(engine, mostLive)
  send(textFrame(RunnerReply.ready, 0, engineIdentity(wasm)))
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
      const open = inHand?.session === session ? inHand : queue.find((work) => work.session === session)
      if (open !== undefined) {
        open.closed = true
        return
      }
      const live = guests.find(session)
      if (live !== undefined) guests.release(live)
      return
    }
    default:
      throw new Error(`the pool asks for ${kind}, which this runner does not know`)
  }
}

socket.on("data", frameReader(onFrame))
socket.on("close", () => process.exit(0))
socket.on("error", () => process.exit(0))
