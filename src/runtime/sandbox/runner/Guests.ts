/** The guests of one runner: caches snapshots of programs and free instances, and evicts suspended guests. */
import type { Buffer } from "node:buffer"
import type { Engine } from "./Engine.js"
import { wallMillis } from "./Processor.js"
import type { GuestPointers, Instance, StepLimits } from "./Instance.js"
import type { Snapshot } from "./Snapshot.js"

/** Cached snapshots, of about 0.6 MB each. */
const maxSnapshots = 128
/** A guest that allocated more is discarded, since a wasm memory never shrinks. */
const maxRewindBytes = 4 * 1024 * 1024
/** Free instances that are kept for the next runs, even by an idle runner. */
const minFreeInstances = 8
/** Memory of all free instances. */
const maxFreeBytes = 192 * 1024 * 1024
/** As many instances are kept as were in use at once in this interval or the one before it: loads come in bursts. */
const peakMillis = 5_000
/** Memory of an instance beside its guest's allocations. */
const instanceBytes = 1024 * 1024
/** Memory of discarded instances before a collection is forced while there is work. */
const maxGarbageBytes = 64 * 1024 * 1024
/** Memory of all suspended guests before the longest suspended one is evicted. */
const maxWaitingBytes = 1024 * 1024 * 1024

interface Program {
  readonly id: number
  readonly script: Buffer
  snapshot: Snapshot<GuestPointers> | undefined
  readonly free: Array<Instance>
}

/** A guest between its first event and its end. */
export interface Guest {
  readonly session: number
  readonly instance: Instance
  readonly program: Program
  /** Has work queued or in progress: must not be evicted. */
  isBusy: boolean
  /** Its memory when it was last suspended. */
  bytes: number
}

export interface Guests {
  readonly define: (program: number, script: Buffer) => void
  readonly forget: (program: number) => void
  /** A guest for the session; loads its program if it is not cached. Fails with `GuestStopped`. */
  readonly open: (session: number, program: number, limits: StepLimits) => Promise<Guest>
  readonly find: (session: number) => Guest | undefined
  /** Whether a guest of the program opens at once. */
  readonly hasFree: (program: number) => boolean
  /** The guest waits for events: it moves to the end of the eviction order. */
  readonly suspend: (guest: Guest) => void
  /** Ends the guest, and keeps its rewound instance for another run if it is fit for one. */
  readonly release: (guest: Guest) => void
  /**
   * Discards free instances that the recent load did not need. Forces a garbage collection if enough memory was
   * discarded; while idle, if any was. Returns whether an idle runner has more to give back later.
   */
  readonly collect: (isIdle: boolean) => boolean
}

/** V8's `--expose-gc`, with which runners start: V8 itself does not account for the size of a wasm memory. */
const { gc } = globalThis

/** `now`: milliseconds of a monotonic clock. */
export const makeGuests = (engine: Engine, maxLiveGuests: number, now = wallMillis): Guests => {
  const programs = new Map<number, Program>()
  /** Least recently used first. */
  const liveGuests = new Map<number, Guest>()
  const loadedPrograms = new Set<Program>()
  let freeCount = 0
  let freeBytes = 0
  /** Guests that were live at once, in this interval and in the one before it. */
  let peak = { current: 0, previous: 0, until: 0 }
  let waitingTotal = 0
  let discardedBytes = 0

  const touch = (program: Program): void => {
    loadedPrograms.delete(program)
    loadedPrograms.add(program)
  }

  const bytesOf = (instance: Instance): number => instanceBytes + instance.touchedBytes

  const takeFree = (program: Program): Instance | undefined => {
    const instance = program.free.pop()
    if (instance === undefined) return undefined
    freeCount--
    freeBytes -= bytesOf(instance)
    return instance
  }

  const drop = (program: Program): void => {
    loadedPrograms.delete(program)
    program.snapshot = undefined
    while (program.free.length > 0) discard(takeFree(program))
  }

  /** Discards free instances beyond `kept`, of the least recently used programs first. */
  const trimFree = (kept: number): void => {
    const isOver = (): boolean => freeCount > kept || freeBytes > maxFreeBytes
    for (const program of loadedPrograms) {
      while (program.free.length > 0 && isOver()) discard(takeFree(program))
      if (!isOver()) return
    }
  }

  /** Counts the touched memory only, not the reserved one: a collection stops the runner for milliseconds. */
  const discard = (instance: Instance | undefined): void => {
    if (instance !== undefined) discardedBytes += bytesOf(instance)
  }

  /** Keeps the free instances that the recent load needed. */
  const trimToPeak = (): void => {
    if (now() < peak.until) return
    trimFree(Math.max(minFreeInstances, Math.max(peak.current, peak.previous) - liveGuests.size))
    peak = { current: liveGuests.size, previous: peak.current, until: now() + peakMillis }
  }

  const collect = (isIdle: boolean): boolean => {
    trimToPeak()
    if (discardedBytes > (isIdle ? 0 : maxGarbageBytes)) {
      discardedBytes = 0
      void gc?.()
    }
    return freeCount > minFreeInstances
  }

  const reuse = (program: Program, instance: Instance): void => {
    instance.touchedBytes = Math.max(instance.touchedBytes, engine.usedBytes(instance))
    const isFit =
      program.snapshot !== undefined &&
      programs.get(program.id) === program &&
      instance.touchedBytes <= maxRewindBytes &&
      engine.rewind(instance, program.snapshot)
    if (!isFit) return discard(instance)
    program.free.push(instance)
    freeCount++
    freeBytes += bytesOf(instance)
    trimFree(maxLiveGuests - liveGuests.size)
  }

  const release = (guest: Guest): void => {
    if (liveGuests.get(guest.session) !== guest) return
    liveGuests.delete(guest.session)
    waitingTotal -= guest.bytes
    reuse(guest.program, guest.instance)
  }

  /** Evicts suspended guests, the longest suspended first, until there is room for one more. */
  const makeRoom = (): void => {
    for (const guest of liveGuests.values()) {
      if (liveGuests.size < maxLiveGuests && waitingTotal <= maxWaitingBytes) return
      if (!guest.isBusy) release(guest)
    }
  }

  const instanceOf = async (program: Program, limits: StepLimits): Promise<Instance> => {
    const free = takeFree(program)
    if (free !== undefined) return free
    if (program.snapshot !== undefined) return engine.restore(program.snapshot)
    const { instance, snapshot } = await engine.load(program.script, limits)
    program.snapshot = snapshot
    for (const oldest of loadedPrograms) {
      if (loadedPrograms.size < maxSnapshots) break
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
      const guest: Guest = { session, instance, program, isBusy: true, bytes: 0 }
      liveGuests.set(session, guest)
      peak.current = Math.max(peak.current, liveGuests.size)
      return guest
    },
    find: (session) => liveGuests.get(session),
    hasFree: (id) => (programs.get(id)?.free.length ?? 0) > 0,
    suspend: (guest) => {
      guest.isBusy = false
      const bytes = engine.usedBytes(guest.instance)
      waitingTotal += bytes - guest.bytes
      guest.bytes = bytes
      liveGuests.delete(guest.session)
      liveGuests.set(guest.session, guest)
    },
    release,
    collect
  }
}
