/**
 * QuickJS-ng as WebAssembly, without any host function: an event goes in as text, an outbox comes out as text. A guest
 * is one instance of the module, and its state is its memory. A snapshot of that memory, taken after the prelude and
 * the program were loaded, makes every later guest: it rewinds a used instance (0.05 ms) or fills a new one (2 ms).
 */
import { Buffer } from "node:buffer"
import { computeBytes } from "./Computations.js"
import { wallMillis, processorMillis } from "./Processor.js"
import { GuestStopped, readException } from "./GuestStopped.js"
import { findHeapEnd } from "./HeapEnd.js"
import { prelude } from "./prelude/Prelude.js"
import { fillMemory, insideLargestHole, restoreInPlace, type Snapshot, snapshotOf } from "./Snapshot.js"
import type { EngineModule, Ffi, WasmMemory } from "./Wasm.js"
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
/** Microtasks between two reads of the clock. */
const jobsPerDrain = 1000

type Value = ReturnType<Ffi["QTS_GetUndefined"]> | ReturnType<Ffi["QTS_NewString"]>
type OwnedValue = ReturnType<Ffi["QTS_NewString"]>

/** Addresses of the guest's objects: the same in every copy of one snapshot. */
export interface GuestPointers {
  readonly runtime: ReturnType<Ffi["QTS_NewRuntime"]>
  readonly context: ReturnType<Ffi["QTS_NewContext"]>
  readonly step: OwnedValue
  readonly take: OwnedValue
  readonly load: OwnedValue
  readonly nextComputation: OwnedValue
  readonly computationDone: OwnedValue
  /** Room for the address of one argument. */
  readonly argv: Parameters<Ffi["QTS_Call"]>[4]
}

/** The state letter of a guest that waits for a computation. */
const computationState = 99

export interface Instance {
  readonly module: EngineModule
  readonly ffi: Ffi
  readonly memory: WasmMemory
  at: GuestPointers
  /** It trapped, was interrupted or ran out of memory, and must not be used again. */
  isSpoiled: boolean
  limits: StepLimits
  /** When the CPU time of the current step is checked next, by the monotonic clock. */
  deadline: number
  startedAt: number
  isInterrupted: boolean
}

export interface StepLimits {
  readonly memoryBytes: number
  readonly cpuMillis: number
}

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
  /** Upper bound of the bytes that the guest has allocated since it was loaded. */
  readonly usedBytes: (instance: Instance) => number
  /** Whether it has allocated nearly all that it may: then an error without a message means out of memory. */
  readonly isFull: (instance: Instance) => boolean
}

export const makeEngine = async (wasm: Uint8Array<ArrayBuffer>): Promise<Engine> => {
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
      limits: unlimited,
      deadline: Infinity,
      startedAt: 0,
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
      shouldInterrupt: () => (isOverTime(instance) ? 1 : 0)
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

  // --- Calls into the guest ---

  const writeBytes = (instance: Instance, bytes: Uint8Array): number => {
    const address = instance.module._malloc(bytes.length + 1)
    if (address === 0) throw new GuestStopped("memory")
    const heap = instance.module.HEAPU8
    heap.set(bytes, address)
    heap[address + bytes.length] = 0
    return address
  }

  /** The bytes of a zero-terminated string of the engine, copied. */
  const bytesAt = (instance: Instance, address: number): Buffer => {
    const heap = instance.module.HEAPU8
    return Buffer.from(heap.subarray(address, heap.indexOf(0, address)))
  }

  const textOf = (instance: Instance, value: Value): Buffer => {
    const { at, ffi } = instance
    const address = ffi.QTS_GetString(at.context, value)
    if (address === 0) throw new GuestStopped("memory")
    const bytes = bytesAt(instance, address)
    ffi.QTS_FreeCString(at.context, address)
    return bytes
  }

  const checkResult = (instance: Instance, value: OwnedValue): OwnedValue => {
    const { at, ffi } = instance
    if (instance.isInterrupted) throw new GuestStopped("cpu")
    const exception = ffi.QTS_ResolveException(at.context, value)
    if (exception === 0) return value
    const dumped = ffi.QTS_Dump(at.context, exception)
    throw readException(dumped === 0 ? "" : bytesAt(instance, dumped).toString(), isFull(instance))
  }

  const call = (instance: Instance, target: OwnedValue, argument?: Uint8Array): OwnedValue => {
    const { at, ffi, module } = instance
    if (argument === undefined) {
      return checkResult(instance, ffi.QTS_Call(at.context, target, ffi.QTS_GetUndefined(), 0, at.argv))
    }
    const text = writeBytes(instance, argument)
    const value = checkResult(instance, ffi.QTS_NewString(at.context, pointer(text)))
    module._free(text)
    return apply(instance, target, value)
  }

  /** Calls with one value, which it frees. */
  const apply = (instance: Instance, target: OwnedValue, value: OwnedValue): OwnedValue => {
    const { at, ffi } = instance
    new DataView(instance.memory.buffer).setUint32(at.argv, value, true)
    const result = ffi.QTS_Call(at.context, target, ffi.QTS_GetUndefined(), 1, at.argv)
    ffi.QTS_FreeValuePointer(at.context, value)
    return checkResult(instance, result)
  }

  const evaluate = (instance: Instance, script: Uint8Array, file: string): OwnedValue => {
    const { at, ffi, module } = instance
    const text = writeBytes(instance, script)
    const result = ffi.QTS_Eval(at.context, pointer(text), script.length, file, noModules, globalCode)
    module._free(text)
    return checkResult(instance, result)
  }

  /** Runs all microtasks. The guest may catch an interrupt as a rejection, so the time is checked after each batch. */
  const drain = (instance: Instance): void => {
    const { at, ffi } = instance
    while (ffi.QTS_IsJobPending(at.runtime) === 1) {
      const done = checkResult(instance, ffi.QTS_ExecutePendingJob(at.runtime, jobsPerDrain, pointer(at.argv)))
      ffi.QTS_FreeValuePointer(at.context, done)
      if (isOverTime(instance)) throw new GuestStopped("cpu")
    }
  }

  const take = (instance: Instance): Buffer => {
    const outbox = call(instance, instance.at.take)
    const text = textOf(instance, outbox)
    instance.ffi.QTS_FreeValuePointer(instance.at.context, outbox)
    return text
  }

  /** The bytes of a guest's `ArrayBuffer`; `undefined` if the value is not one. */
  const bufferOf = (instance: Instance, value: OwnedValue): Uint8Array | undefined => {
    const { at, ffi, module } = instance
    const length = ffi.QTS_GetArrayBufferLength(at.context, value)
    // The binding returns a copy, which the caller must free.
    const address = ffi.QTS_GetArrayBuffer(at.context, value)
    if (address === 0) return undefined
    const bytes = module.HEAPU8.slice(address, address + length)
    module._free(address)
    return bytes
  }

  /** Runs the guest's oldest pending computation, gives it the result, and runs the microtasks. */
  const compute = (instance: Instance): void => {
    const { at, ffi } = instance
    const request = call(instance, at.nextComputation)
    const member = (index: number): OwnedValue => ffi.QTS_GetPropNumber(at.context, request, index)
    const [name, key, data] = [member(0), member(1), member(2)]
    const what = textOf(instance, name).toString()
    const input = what === "base64-decode" ? textOf(instance, data) : bufferOf(instance, data)
    const bytes = computeBytes(what, bufferOf(instance, key), input ?? new Uint8Array(0))
    for (const value of [name, key, data, request]) ffi.QTS_FreeValuePointer(at.context, value)
    const address = writeBytes(instance, bytes)
    const result = checkResult(instance, ffi.QTS_NewArrayBuffer(at.context, pointer(address), bytes.length))
    ffi.QTS_FreeValuePointer(at.context, apply(instance, at.computationDone, result))
    if (isOverTime(instance)) throw new GuestStopped("cpu")
    drain(instance)
  }

  const limit = (instance: Instance, limits: StepLimits): void => {
    instance.limits = limits
    instance.ffi.QTS_RuntimeSetMemoryLimit(instance.at.runtime, limits.memoryBytes)
  }

  const startStep = (instance: Instance): void => {
    instance.isInterrupted = false
    instance.startedAt = processorMillis()
    instance.deadline = wallMillis() + instance.limits.cpuMillis
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
    computationDone: entry(4)
  }
  baseGuest.ffi.QTS_FreeValuePointer(context, entries)
  const base = copyOf(baseGuest)
  baseEnd = heapEndAddress === 0 ? 0 : heapEnd(baseGuest)

  return {
    load: async (script, limits) => {
      const instance = await restore(base)
      limit(instance, limits)
      startStep(instance)
      runGuest(instance, () => {
        const free = (value: OwnedValue): void => instance.ffi.QTS_FreeValuePointer(instance.at.context, value)
        free(evaluate(instance, script, "workflow.js"))
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
        let text = take(instance)
        while (text[0] === computationState) {
          compute(instance)
          text = take(instance)
        }
        return text
      })
    },
    usedBytes,
    isFull
  }
}

// --- Private ---

const unlimited: StepLimits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: Infinity }

/** Brands an address as the bindings' types require. */
const pointer = <P extends number>(address: number): P => address as P
const noModules = pointer<Parameters<Ffi["QTS_Eval"]>[4]>(0)
const globalCode = pointer<Parameters<Ffi["QTS_Eval"]>[5]>(0)
const everyIntrinsic = pointer<Parameters<Ffi["QTS_NewContext"]>[1]>(0)
const noPointers: GuestPointers = {
  runtime: pointer(0),
  context: pointer(0),
  step: pointer(0),
  take: pointer(0),
  load: pointer(0),
  nextComputation: pointer(0),
  computationDone: pointer(0),
  argv: pointer(0)
}

/**
 * Whether the step has used up its CPU time. The wall clock only decides when to check, so that a busy machine
 * interrupts no guest for having waited.
 */
const isOverTime = (instance: Instance): boolean => {
  if (instance.isInterrupted) return true
  const now = wallMillis()
  if (now < instance.deadline) return false
  const used = processorMillis() - instance.startedAt
  if (used < instance.limits.cpuMillis) {
    instance.deadline = now + Math.max(1, instance.limits.cpuMillis - used)
    return false
  }
  instance.isInterrupted = true
  return true
}
