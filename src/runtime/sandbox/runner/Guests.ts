/** The guests of one runner: which programs are loaded, which instances are free, which sessions are alive. */
import type { Buffer } from "node:buffer"
import type { GuestPointers, Engine, Instance, StepLimits } from "./Engine.js"
import type { Snapshot } from "./Snapshot.js"

/** Snapshots kept (about 0.7 MB each), and instances kept for the next run of their program. */
const snapshotsKept = 128
const instancesKept = 64
/** A guest that claimed more than this is thrown away: its memory would stay as large as it was. */
const rewoundBytes = 4 * 1024 * 1024
/** Free instances that are kept while there is nothing to do. */
const instancesKeptIdle = 8
/** What an instance holds beside what its guest claimed. */
const instanceBytes = 1024 * 1024
/** Memory of instances thrown away that may wait for the collector while there is work. */
const garbageBytes = 64 * 1024 * 1024
/** Memory that waiting guests may hold together before the one that waits longest is dropped. */
const waitingBytes = 1024 * 1024 * 1024

interface Program {
  readonly id: number
  readonly script: Buffer
  snapshot: Snapshot<GuestPointers> | undefined
  readonly free: Array<Instance>
}

/** A guest between its first event and its end. */
export interface Live {
  readonly session: number
  readonly instance: Instance
  readonly program: Program
  /** Has work queued or in hand: may not be dropped. */
  busy: boolean
  /** Memory that it held when it was laid to rest. */
  bytes: number
}

export interface Guests {
  readonly define: (program: number, script: Buffer) => void
  readonly forget: (program: number) => void
  /** A guest for the session, loading its program first if need be. Fails with GuestStopped. */
  readonly open: (session: number, program: number, limits: StepLimits) => Promise<Live>
  readonly find: (session: number) => Live | undefined
  /** The session waits from now on: it moves to the end of the order in which guests are dropped. */
  readonly rest: (live: Live) => void
  /** Gives the guest's instance back, wiped, if it is fit for another run. */
  readonly release: (live: Live) => void
  /** Gives memory of instances that were thrown away back to the system; all of it while there is nothing to do. */
  readonly collect: (isIdle: boolean) => void
}

/** Of V8, by the flag that a runner is started with. It knows nothing of the size of a guest's memory by itself. */
const { gc } = globalThis

export const makeGuests = (engine: Engine, mostLive: number): Guests => {
  const programs = new Map<number, Program>()
  /** In the order in which they were used last. */
  const lives = new Map<number, Live>()
  const loaded = new Set<Program>()
  let freeCount = 0
  let waitingTotal = 0
  let garbage = 0

  const touch = (program: Program): void => {
    loaded.delete(program)
    loaded.add(program)
  }

  const drop = (program: Program): void => {
    loaded.delete(program)
    program.snapshot = undefined
    freeCount -= program.free.length
    for (const instance of program.free) discard(instance)
    program.free.length = 0
  }

  /** Makes room by taking an instance from the program that was used least lately. */
  const trimFree = (kept: number): void => {
    for (const program of loaded) {
      if (freeCount <= kept) return
      while (program.free.length > 0 && freeCount > kept) {
        discard(program.free.pop())
        freeCount--
      }
    }
  }

  /** Counts what the instance has touched, not what is reserved for it: a collection stops the runner for milliseconds. */
  const discard = (instance: Instance | undefined): void => {
    if (instance !== undefined) garbage += instanceBytes + engine.usedBytes(instance)
  }

  const collect = (isIdle: boolean): void => {
    if (isIdle) trimFree(instancesKeptIdle)
    if (gc === undefined || garbage <= (isIdle ? 0 : garbageBytes)) return
    garbage = 0
    void gc()
  }

  const keep = (program: Program, instance: Instance): void => {
    const isFit =
      program.snapshot !== undefined &&
      programs.get(program.id) === program &&
      engine.usedBytes(instance) <= rewoundBytes &&
      engine.rewind(instance, program.snapshot)
    if (!isFit) return discard(instance)
    program.free.push(instance)
    freeCount++
    trimFree(instancesKept)
  }

  const release = (live: Live): void => {
    if (lives.get(live.session) !== live) return
    lives.delete(live.session)
    waitingTotal -= live.bytes
    keep(live.program, live.instance)
  }

  /** Drops guests that wait, longest first, until there is room for one more. */
  const makeRoom = (): void => {
    for (const live of lives.values()) {
      if (lives.size < mostLive && waitingTotal <= waitingBytes) return
      if (!live.busy) release(live)
    }
  }

  const instanceOf = async (program: Program, limits: StepLimits): Promise<Instance> => {
    const free = program.free.pop()
    if (free !== undefined) {
      freeCount--
      return free
    }
    if (program.snapshot !== undefined) return engine.restore(program.snapshot)
    const { instance, snapshot } = await engine.load(program.script, limits)
    program.snapshot = snapshot
    for (const oldest of loaded) {
      if (loaded.size < snapshotsKept) break
      drop(oldest)
    }
    return instance
  }

  return {
    define: (id, script) => {
      programs.set(id, { id, script, snapshot: undefined, free: [] })
    },
    forget: (id) => {
      const program = programs.get(id)
      if (program !== undefined) drop(program)
      programs.delete(id)
    },
    open: async (session, id, limits) => {
      const program = programs.get(id)
      if (program === undefined) throw new Error(`program ${id} was never sent`)
      makeRoom()
      const instance = await instanceOf(program, limits)
      touch(program)
      engine.limit(instance, limits)
      const live: Live = { session, instance, program, busy: true, bytes: 0 }
      lives.set(session, live)
      return live
    },
    find: (session) => lives.get(session),
    rest: (live) => {
      live.busy = false
      const bytes = engine.usedBytes(live.instance)
      waitingTotal += bytes - live.bytes
      live.bytes = bytes
      lives.delete(live.session)
      lives.set(live.session, live)
    },
    release,
    collect
  }
}
