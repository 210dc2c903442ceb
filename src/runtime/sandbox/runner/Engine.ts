/**
 * QuickJS-ng as WebAssembly, without a single host function: an event goes in as text, an outbox comes out as text.
 * A guest is one instance of the module. What an instance is, is its memory, so a memory that was copied after the
 * prelude and the program were loaded makes every later guest: by rewinding a used instance in place (0.05 ms) or by
 * filling a new one (2 ms).
 */
import { Buffer } from "node:buffer"
import { computation } from "./Computations.js"
import { wallMillis, processorMillis } from "./Processor.js"
import { GuestStopped, stoppedBy } from "./GuestStopped.js"
import { findHeapEnd } from "./HeapEnd.js"
import { prelude } from "./prelude/Prelude.js"
import { fill, insideLargestHole, restoreInPlace, type Snapshot, snapshotOf } from "./Snapshot.js"
import type { EngineModule, Ffi, WasmMemory } from "./Wasm.js"
import { loadBindings, Memory, Module } from "./Wasm.js"

const pageBytes = 65_536
/** 16 MiB: what the module is built for. Untouched pages cost nothing. */
const initialPages = 256
/** 192 MiB: 128 MiB of guest, and what the engine needs beside it. */
const maximumPages = 3072
/** More is a program that recurses without end; the native stack of the process is many times larger. */
const stackBytes = 256 * 1024
/** What the prelude holds counts towards a guest's limit, and a freed piece may be too small to be used again. */
const nearlyFullBytes = 4 * 1024 * 1024
/** Microtasks run between two looks at the clock. */
const jobsPerDrain = 1000

type Value = ReturnType<Ffi["QTS_GetUndefined"]> | ReturnType<Ffi["QTS_NewString"]>
type Owned = ReturnType<Ffi["QTS_NewString"]>

/** Where the guest's objects lie in memory: the same in every copy of one snapshot. */
export interface GuestPointers {
  readonly runtime: ReturnType<Ffi["QTS_NewRuntime"]>
  readonly context: ReturnType<Ffi["QTS_NewContext"]>
  readonly step: Owned
  readonly take: Owned
  readonly load: Owned
  readonly nextComputation: Owned
  readonly computationDone: Owned
  /** Room for the address of one argument. */
  readonly argv: Parameters<Ffi["QTS_Call"]>[4]
}

/** The guest waits for a computation. */
const computes = 99

export interface Instance {
  readonly module: EngineModule
  readonly ffi: Ffi
  readonly memory: WasmMemory
  at: GuestPointers
  /** Must not be used again: it trapped, was interrupted, or ran out of memory. */
  spoiled: boolean
  limits: StepLimits
  /** When the current step is looked at next, by the monotonic clock; its processor time is what counts. */
  deadline: number
  startedAt: number
  interrupted: boolean
}

export interface StepLimits {
  readonly memoryBytes: number
  readonly cpuMillis: number
}

export interface Engine {
  /** A new guest of the program, loaded and ready to be copied. Fails with GuestStopped. */
  readonly load: (
    script: Buffer,
    limits: StepLimits
  ) => Promise<{ readonly snapshot: Snapshot<GuestPointers>; readonly instance: Instance }>
  /** A new guest as the snapshot has it. */
  readonly restore: (snapshot: Snapshot<GuestPointers>) => Promise<Instance>
  /** Makes a used guest as the snapshot has it; `false` when it must be thrown away. */
  readonly rewind: (instance: Instance, snapshot: Snapshot<GuestPointers>) => boolean
  readonly limit: (instance: Instance, limits: StepLimits) => void
  /** Delivers one event and runs what follows from it. The answer is a letter of state and the JSON array of outputs. */
  readonly step: (instance: Instance, event: Uint8Array) => Buffer
  /** Bytes that the guest has claimed since it was loaded, at most. */
  readonly usedBytes: (instance: Instance) => number
  /** Whether it has claimed all that it may, or nearly: then an error without a word is one of memory. */
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
      at: unset,
      spoiled: false,
      limits: unlimited,
      deadline: Infinity,
      startedAt: 0,
      interrupted: false
    }
    const refused = (): never => {
      throw new GuestStopped("native", { name: "InternalError", message: "the guest reached for the host" })
    }
    module.callbacks = {
      callFunction: refused,
      // Never called, since no module loader is enabled; zero is "there is none".
      loadModuleSource: refused,
      normalizeModule: refused,
      freeHostRef: refused,
      shouldInterrupt: () => (overdue(instance) ? 1 : 0)
    }
    return instance
  }

  /** The address of the word that holds the end of the heap, which only ever grows; 0 when it cannot be told. */
  const heapEndAddress = await findHeapEnd(await instantiate(initialPages))
  const heapEnd = (instance: Instance): number => new DataView(instance.memory.buffer).getUint32(heapEndAddress, true)

  /** Where the heap of a guest ended when nothing but the prelude was in it. */
  let baseEnd = 0
  const usedBytes = (instance: Instance): number =>
    heapEndAddress === 0 ? instance.memory.buffer.byteLength : Math.max(0, heapEnd(instance) - baseEnd)
  const isFull = (instance: Instance): boolean => usedBytes(instance) > instance.limits.memoryBytes - nearlyFullBytes

  // --- Calls into the guest ---

  const place = (instance: Instance, bytes: Uint8Array): number => {
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

  const checked = (instance: Instance, value: Owned): Owned => {
    const { at, ffi } = instance
    if (instance.interrupted) throw new GuestStopped("cpu")
    const exception = ffi.QTS_ResolveException(at.context, value)
    if (exception === 0) return value
    const dumped = ffi.QTS_Dump(at.context, exception)
    throw stoppedBy(dumped === 0 ? "" : bytesAt(instance, dumped).toString(), isFull(instance))
  }

  const call = (instance: Instance, target: Owned, argument?: Uint8Array): Owned => {
    const { at, ffi, module } = instance
    if (argument === undefined) {
      return checked(instance, ffi.QTS_Call(at.context, target, ffi.QTS_GetUndefined(), 0, at.argv))
    }
    const text = place(instance, argument)
    const value = checked(instance, ffi.QTS_NewString(at.context, pointer(text)))
    module._free(text)
    return apply(instance, target, value)
  }

  /** Calls with one value, which it frees. */
  const apply = (instance: Instance, target: Owned, value: Owned): Owned => {
    const { at, ffi } = instance
    new DataView(instance.memory.buffer).setUint32(at.argv, value, true)
    const result = ffi.QTS_Call(at.context, target, ffi.QTS_GetUndefined(), 1, at.argv)
    ffi.QTS_FreeValuePointer(at.context, value)
    return checked(instance, result)
  }

  const evaluate = (instance: Instance, script: Uint8Array, file: string): Owned => {
    const { at, ffi, module } = instance
    const text = place(instance, script)
    const result = ffi.QTS_Eval(at.context, pointer(text), script.length, file, noModules, globalCode)
    module._free(text)
    return checked(instance, result)
  }

  /** Runs all microtasks. An interrupt inside one may end as a rejection that the guest catches, so it is looked for. */
  const drain = (instance: Instance): void => {
    const { at, ffi } = instance
    while (ffi.QTS_IsJobPending(at.runtime) === 1) {
      const done = checked(instance, ffi.QTS_ExecutePendingJob(at.runtime, jobsPerDrain, pointer(at.argv)))
      ffi.QTS_FreeValuePointer(at.context, done)
      if (overdue(instance)) throw new GuestStopped("cpu")
    }
  }

  const take = (instance: Instance): Buffer => {
    const taken = call(instance, instance.at.take)
    const text = textOf(instance, taken)
    instance.ffi.QTS_FreeValuePointer(instance.at.context, taken)
    return text
  }

  /** The bytes of a buffer of the guest; nothing when it is none. */
  const bufferOf = (instance: Instance, value: Owned): Uint8Array | undefined => {
    const { at, ffi, module } = instance
    const length = ffi.QTS_GetArrayBufferLength(at.context, value)
    // A copy, which is ours to free.
    const address = ffi.QTS_GetArrayBuffer(at.context, value)
    if (address === 0) return undefined
    const bytes = module.HEAPU8.slice(address, address + length)
    module._free(address)
    return bytes
  }

  /** Makes the computation that the guest has asked for first, and what follows from it. */
  const compute = (instance: Instance): void => {
    const { at, ffi } = instance
    const asked = call(instance, at.nextComputation)
    const member = (index: number): Owned => ffi.QTS_GetPropNumber(at.context, asked, index)
    const [name, key, data] = [member(0), member(1), member(2)]
    const what = textOf(instance, name).toString()
    const given = what === "base64-decode" ? textOf(instance, data) : bufferOf(instance, data)
    const bytes = computation(what, bufferOf(instance, key), given ?? new Uint8Array(0))
    for (const value of [name, key, data, asked]) ffi.QTS_FreeValuePointer(at.context, value)
    const address = place(instance, bytes)
    const result = checked(instance, ffi.QTS_NewArrayBuffer(at.context, pointer(address), bytes.length))
    ffi.QTS_FreeValuePointer(at.context, apply(instance, at.computationDone, result))
    if (overdue(instance)) throw new GuestStopped("cpu")
    drain(instance)
  }

  const limit = (instance: Instance, limits: StepLimits): void => {
    instance.limits = limits
    instance.ffi.QTS_RuntimeSetMemoryLimit(instance.at.runtime, limits.memoryBytes)
  }

  const begin = (instance: Instance): void => {
    instance.interrupted = false
    instance.startedAt = processorMillis()
    instance.deadline = wallMillis() + instance.limits.cpuMillis
  }

  /** Runs guest code; whatever stops it spoils the instance. */
  const guarded = <A>(instance: Instance, run: () => A): A => {
    try {
      return run()
    } catch (cause) {
      instance.spoiled = true
      if (cause instanceof GuestStopped) throw cause
      // A trap of the wasm, mostly the native stack: V8 throws RangeError for it.
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
    fill(instance.memory.buffer, snapshot)
    instance.at = snapshot.at
    return instance
  }

  const rewind = (instance: Instance, snapshot: Snapshot<GuestPointers>): boolean => {
    const { buffer } = instance.memory
    if (instance.spoiled || heapEndAddress === 0 || buffer.byteLength !== snapshot.memoryBytes) return false
    restoreInPlace(buffer, snapshot, heapEnd(instance), insideStack)
    instance.at = snapshot.at
    return true
  }

  // --- The guest that all others are copies of ---

  const first = await instantiate(initialPages)
  const runtime = first.ffi.QTS_NewRuntime()
  first.ffi.QTS_RuntimeSetMaxStackSize(runtime, stackBytes)
  first.ffi.QTS_RuntimeEnableInterruptHandler(runtime)
  const context = first.ffi.QTS_NewContext(runtime, everyIntrinsic)
  first.at = { ...unset, runtime, context, argv: pointer(first.module._malloc(4)) }
  /** An address in the C stack: it lies in the largest hole of a memory in which nothing has run yet. */
  const insideStack = insideLargestHole(copyOf(first))
  const entries = evaluate(first, Buffer.from(prelude), "svc")
  const entry = (index: number): Owned => first.ffi.QTS_GetPropNumber(context, entries, index)
  first.at = {
    ...first.at,
    step: entry(0),
    take: entry(1),
    load: entry(2),
    nextComputation: entry(3),
    computationDone: entry(4)
  }
  first.ffi.QTS_FreeValuePointer(context, entries)
  const base = copyOf(first)
  baseEnd = heapEndAddress === 0 ? 0 : heapEnd(first)

  return {
    load: async (script, limits) => {
      const instance = await restore(base)
      limit(instance, limits)
      begin(instance)
      guarded(instance, () => {
        const free = (value: Owned): void => instance.ffi.QTS_FreeValuePointer(instance.at.context, value)
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
      begin(instance)
      return guarded(instance, () => {
        const { at, ffi } = instance
        ffi.QTS_FreeValuePointer(at.context, call(instance, at.step, event))
        drain(instance)
        let text = take(instance)
        while (text[0] === computes) {
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

/** The bindings brand their numbers; the memory of the engine knows no brands. */
const pointer = <P extends number>(address: number): P => address as P
const noModules = pointer<Parameters<Ffi["QTS_Eval"]>[4]>(0)
const globalCode = pointer<Parameters<Ffi["QTS_Eval"]>[5]>(0)
const everyIntrinsic = pointer<Parameters<Ffi["QTS_NewContext"]>[1]>(0)
const unset: GuestPointers = {
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
 * Whether the step has used up its time. The wall clock decides when to look, the processor clock decides: on a
 * machine that is busy with other things nobody is interrupted for having waited.
 */
const overdue = (instance: Instance): boolean => {
  if (instance.interrupted) return true
  const now = wallMillis()
  if (now < instance.deadline) return false
  const used = processorMillis() - instance.startedAt
  if (used < instance.limits.cpuMillis) {
    instance.deadline = now + Math.max(1, instance.limits.cpuMillis - used)
    return false
  }
  instance.interrupted = true
  return true
}
