/**
 * QuickJS-ng as WebAssembly, without any host function: an event goes in as text, an outbox comes out as text. A guest
 * is one instance of the module, and its state is its memory. A snapshot of that memory, taken after the prelude and
 * the program were loaded, makes every later guest: it rewinds a used instance (0.05 ms) or fills a new one (2 ms).
 */
import { Buffer } from "node:buffer"
import { type ProcessorTime, wallMillis } from "./Processor.js"
import { makeGuestCalls } from "./GuestCalls.js"
import { GuestStopped } from "./GuestStopped.js"
import { clearRanges, findFreeRanges } from "./FreeMemory.js"
import { findHeapEnd } from "./HeapEnd.js"
import { type GuestPointers, type Instance, isOverTime, type OwnedValue, pointer, type StepLimits } from "./Instance.js"
import { prelude } from "./prelude/Prelude.js"
import { partsOfScript } from "./Script.js"
import { fillMemory, insideLargestHole, restoreInPlace, type Snapshot, snapshotOf } from "./Snapshot.js"
import type { Ffi } from "./Wasm.js"
import { loadBindings, Memory, Module } from "./Wasm.js"

const pageBytes = 65_536
/** 16 MiB, the size that the module is built for. Untouched pages cost nothing. */
const initialPages = 256
/** 192 MiB: 128 MiB for the guest, the rest for the engine. */
const maximumPages = 3072
/** Only endless recursion needs more. The native stack of the process is many times larger. */
const stackBytes = 256 * 1024
/** Margin below a guest's limit: the prelude counts towards it, and freed pieces may be too small for reuse. */
const nearlyFullBytes = 4 * 1024 * 1024

/** The state letter of a guest that waits for a computation. */
const computationState = 99

export interface Engine {
  /** Loads a program into a new guest, and takes its snapshot. Fails with `GuestStopped`. */
  readonly load: (
    script: Buffer,
    limits: StepLimits
  ) => Promise<{ readonly snapshot: Snapshot<GuestPointers>; readonly instance: Instance }>
  /** Makes a new guest from the snapshot. */
  readonly restore: (snapshot: Snapshot<GuestPointers>) => Promise<Instance>
  /** Resets a used guest to the snapshot; `false` if it must be discarded. */
  readonly rewind: (instance: Instance, snapshot: Snapshot<GuestPointers>) => boolean
  readonly limit: (instance: Instance, limits: StepLimits) => void
  /** Delivers one event and runs the guest until it waits. Returns a letter of state and the JSON array of outputs. */
  readonly step: (instance: Instance, event: Uint8Array) => Buffer
  /** The path of the step in whose code a guest stands, or used up its time; `undefined`: none is known. */
  readonly standing: (instance: Instance) => string | undefined
  /** Upper bound of the bytes that the guest has allocated since it was loaded. */
  readonly usedBytes: (instance: Instance) => number
  /** Whether it has allocated nearly all that it may: then an error without a message means out of memory. */
  readonly isFull: (instance: Instance) => boolean
}

/** `onComputing` is called every now and then while guest code runs. */
export const makeEngine = async (
  wasm: Uint8Array<ArrayBuffer>,
  processor: ProcessorTime,
  onComputing: () => void
): Promise<Engine> => {
  const compiled = new Module(wasm)
  const bindings = await loadBindings()

  // --- Instances ---

  const instantiate = async (pages: number): Promise<Instance> => {
    const memory = new Memory({ initial: pages, maximum: maximumPages })
    const module = await bindings.makeModule(compiled, memory)
    const ffi = bindings.makeFfi(module)
    const instance: Instance = {
      module,
      ffi,
      memory,
      at: noPointers,
      isSpoiled: false,
      touchedBytes: 0,
      limits: unlimited,
      startedAt: 0,
      deadline: Infinity,
      processorBefore: 0,
      isInterrupted: false
    }
    const refuseHostCall = (): never => {
      throw new GuestStopped("native", { name: "InternalError", message: "the guest called a host function" })
    }
    module.callbacks = {
      callFunction: refuseHostCall,
      // Never called: no module loader is enabled.
      loadModuleSource: refuseHostCall,
      normalizeModule: refuseHostCall,
      freeHostRef: refuseHostCall,
      shouldInterrupt: () => {
        onComputing()
        return isOverTime(instance) ? 1 : 0
      }
    }
    return instance
  }

  /** The address of the word that holds the end of the heap, which only grows; 0 if it is unknown. */
  const heapEndAddress = await findHeapEnd(await instantiate(initialPages))
  const heapEnd = (instance: Instance): number => new DataView(instance.memory.buffer).getUint32(heapEndAddress, true)

  /** The end of the heap with only the prelude loaded. */
  let baseEnd = 0
  const usedBytes = (instance: Instance): number =>
    heapEndAddress === 0 ? instance.memory.buffer.byteLength : Math.max(0, heapEnd(instance) - baseEnd)
  const isFull = (instance: Instance): boolean => usedBytes(instance) > instance.limits.memoryBytes - nearlyFullBytes

  const { apply, call, compute, drain, evaluate, textFrom } = makeGuestCalls(isFull)

  const limit = (instance: Instance, limits: StepLimits): void => {
    instance.limits = limits
    instance.ffi.QTS_RuntimeSetMemoryLimit(instance.at.runtime, limits.memoryBytes)
  }

  const startStep = (instance: Instance): void => {
    instance.isInterrupted = false
    instance.processorBefore = processor.recent()
    instance.startedAt = wallMillis()
    instance.deadline = instance.startedAt + instance.limits.cpuMillis
  }

  /** Runs guest code; any exception spoils the instance and becomes `GuestStopped`. */
  const runGuest = <A>(instance: Instance, run: () => A): A => {
    try {
      return run()
    } catch (cause) {
      instance.isSpoiled = true
      if (cause instanceof GuestStopped) throw cause
      // A wasm trap, mostly an overflow of the native stack: V8 throws RangeError for it.
      throw new GuestStopped("native", {
        name: cause instanceof RangeError ? "RangeError" : "InternalError",
        message: cause instanceof Error ? cause.message : String(cause)
      })
    }
  }

  // --- Snapshots ---

  const copyOf = (instance: Instance): Snapshot<GuestPointers> =>
    snapshotOf(
      instance.memory.buffer,
      heapEndAddress === 0 ? instance.memory.buffer.byteLength : heapEnd(instance),
      instance.at
    )

  const restore = async (snapshot: Snapshot<GuestPointers>): Promise<Instance> => {
    const instance = await instantiate(snapshot.memoryBytes / pageBytes)
    fillMemory(instance.memory.buffer, snapshot)
    instance.at = snapshot.at
    return instance
  }

  const rewind = (instance: Instance, snapshot: Snapshot<GuestPointers>): boolean => {
    const { buffer } = instance.memory
    if (instance.isSpoiled || heapEndAddress === 0 || buffer.byteLength !== snapshot.memoryBytes) return false
    restoreInPlace(buffer, snapshot, heapEnd(instance), insideStack)
    instance.at = snapshot.at
    return true
  }

  // --- The base guest, with the prelude loaded: all others are copies of it ---

  const baseGuest = await instantiate(initialPages)
  const runtime = baseGuest.ffi.QTS_NewRuntime()
  baseGuest.ffi.QTS_RuntimeSetMaxStackSize(runtime, stackBytes)
  baseGuest.ffi.QTS_RuntimeEnableInterruptHandler(runtime)
  const context = baseGuest.ffi.QTS_NewContext(runtime, everyIntrinsic)
  baseGuest.at = { ...noPointers, runtime, context, argv: pointer(baseGuest.module._malloc(4)) }
  /** An address in the C stack: it lies in the largest hole of a memory in which nothing has run yet. */
  const insideStack = insideLargestHole(copyOf(baseGuest))
  const entries = evaluate(baseGuest, Buffer.from(prelude), "svc")
  const entry = (index: number): OwnedValue => baseGuest.ffi.QTS_GetPropNumber(context, entries, index)
  baseGuest.at = {
    ...baseGuest.at,
    step: entry(0),
    take: entry(1),
    load: entry(2),
    nextComputation: entry(3),
    computationDone: entry(4),
    bring: entry(5)
  }
  baseGuest.ffi.QTS_FreeValuePointer(context, entries)
  baseEnd = heapEndAddress === 0 ? 0 : heapEnd(baseGuest)
  const probe = await restore(copyOf(baseGuest))
  clearRanges(baseGuest.memory.buffer, findFreeRanges(probe.module, baseEnd))
  const base = copyOf(baseGuest)

  return {
    load: async (script, limits) => {
      const instance = await restore(base)
      limit(instance, limits)
      startStep(instance)
      runGuest(instance, () => {
        const free = (value: OwnedValue): void => instance.ffi.QTS_FreeValuePointer(instance.at.context, value)
        const { code, library } = partsOfScript(script)
        if (library !== undefined) {
          const standing = apply(instance, instance.at.bring, evaluate(instance, library, "svc"))
          instance.at = { ...instance.at, standing }
        }
        free(evaluate(instance, code, "workflow.js"))
        drain(instance)
        free(call(instance, instance.at.load))
        drain(instance)
      })
      return { snapshot: copyOf(instance), instance }
    },
    restore,
    rewind,
    limit,
    step: (instance, event) => {
      startStep(instance)
      return runGuest(instance, () => {
        const { at, ffi } = instance
        ffi.QTS_FreeValuePointer(at.context, call(instance, at.step, event))
        drain(instance)
        let text = textFrom(instance, at.take)
        while (text[0] === computationState) {
          compute(instance)
          text = textFrom(instance, at.take)
        }
        return text
      })
    },
    standing: (instance) => {
      if (instance.at.standing === 0) return undefined
      // No code of the workflow runs.
      instance.isInterrupted = false
      instance.deadline = Infinity
      try {
        const path = textFrom(instance, instance.at.standing).toString()
        return path === "" ? undefined : path
      } catch {
        return undefined
      }
    },
    usedBytes,
    isFull
  }
}

// --- Private ---

const unlimited: StepLimits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: Infinity }

const everyIntrinsic = pointer<Parameters<Ffi["QTS_NewContext"]>[1]>(0)
const noPointers: GuestPointers = {
  runtime: pointer(0),
  context: pointer(0),
  step: pointer(0),
  take: pointer(0),
  load: pointer(0),
  nextComputation: pointer(0),
  computationDone: pointer(0),
  bring: pointer(0),
  standing: pointer(0),
  argv: pointer(0)
}
