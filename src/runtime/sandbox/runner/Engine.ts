/**
 * QuickJS-ng as WebAssembly, without a single host function: an event goes in as text, an outbox comes out as text.
 * A guest is one instance of the module. What an instance is, is its memory, so a memory that was copied after the
 * prelude and the program were loaded makes every later guest: by rewinding a used instance in place (0.05 ms) or by
 * filling a new one (2 ms).
 */
import { Buffer } from "node:buffer"
import { wallMillis, processorMillis } from "./Processor.js"
import { GuestStopped, stoppedBy } from "./GuestStopped.js"
import { findHeapEnd } from "./HeapEnd.js"
import { prelude } from "./prelude/Prelude.js"
import type { EngineModule, Ffi, WasmMemory } from "./Wasm.js"
import { loadBindings, Memory, Module } from "./Wasm.js"

const pageBytes = 65_536
/** 16 MiB: what the module is built for. Untouched pages cost nothing. */
const initialPages = 256
/** 192 MiB: 128 MiB of guest, and what the engine needs beside it. */
const maximumPages = 3072
/** More is a program that recurses without end; the native stack of the process is many times larger. */
const stackBytes = 256 * 1024
const block = 4096
/** The C stack is cleared downwards from its top until this much of it is empty: no frame leaves a larger hole. */
const stackHoleBytes = 16 * block
/** Microtasks run between two looks at the clock. */
const jobsPerDrain = 1000

type Value = ReturnType<Ffi["QTS_GetUndefined"]> | ReturnType<Ffi["QTS_NewString"]>
type Owned = ReturnType<Ffi["QTS_NewString"]>

/** Where the guest's objects lie in memory: the same in every copy of one snapshot. */
interface Addresses {
  readonly runtime: ReturnType<Ffi["QTS_NewRuntime"]>
  readonly context: ReturnType<Ffi["QTS_NewContext"]>
  readonly step: Owned
  readonly take: Owned
  readonly load: Owned
  /** Room for the address of one argument. */
  readonly argv: Parameters<Ffi["QTS_Call"]>[4]
}

/** A memory as it was, without its empty blocks. */
export interface Snapshot {
  readonly extents: ReadonlyArray<{ readonly offset: number; readonly length: number }>
  readonly bytes: Uint8Array
  readonly memoryBytes: number
  readonly at: Addresses
}

export interface Instance {
  readonly module: EngineModule
  readonly ffi: Ffi
  readonly memory: WasmMemory
  at: Addresses
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
  ) => Promise<{ readonly snapshot: Snapshot; readonly instance: Instance }>
  /** A new guest as the snapshot has it. */
  readonly restore: (snapshot: Snapshot) => Promise<Instance>
  /** Makes a used guest as the snapshot has it; `false` when it must be thrown away. */
  readonly rewind: (instance: Instance, snapshot: Snapshot) => boolean
  readonly limit: (instance: Instance, limits: StepLimits) => void
  /** Delivers one event and runs what follows from it. The answer is a letter of state and the JSON array of outputs. */
  readonly step: (instance: Instance, event: Uint8Array) => Buffer
  /** Bytes that the guest has claimed since it was loaded, at most. */
  readonly usedBytes: (instance: Instance) => number
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
    throw stoppedBy(dumped === 0 ? "" : bytesAt(instance, dumped).toString())
  }

  const call = (instance: Instance, target: Owned, argument?: Uint8Array): Owned => {
    const { at, ffi, module } = instance
    if (argument === undefined) {
      return checked(instance, ffi.QTS_Call(at.context, target, ffi.QTS_GetUndefined(), 0, at.argv))
    }
    const text = place(instance, argument)
    const value = checked(instance, ffi.QTS_NewString(at.context, pointer(text)))
    module._free(text)
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

  const copyOf = (instance: Instance): Snapshot => {
    const buffer = instance.memory.buffer
    const end = heapEndAddress === 0 ? buffer.byteLength : Math.ceil(heapEnd(instance) / block) * block
    const blocks = Buffer.from(buffer)
    const extents: Array<{ offset: number; length: number }> = []
    let total = 0
    for (let offset = 0; offset < end; offset += block) {
      if (blocks.compare(emptyBlock, 0, block, offset, offset + block) === 0) continue
      const last = extents.at(-1)
      if (last !== undefined && last.offset + last.length === offset) last.length += block
      else extents.push({ offset, length: block })
      total += block
    }
    const bytes = new Uint8Array(total)
    const source = new Uint8Array(buffer)
    let to = 0
    for (const { length, offset } of extents) {
      bytes.set(source.subarray(offset, offset + length), to)
      to += length
    }
    return { extents, bytes, memoryBytes: buffer.byteLength, at: instance.at }
  }

  const restore = async (snapshot: Snapshot): Promise<Instance> => {
    const instance = await instantiate(snapshot.memoryBytes / pageBytes)
    const heap = new Uint8Array(instance.memory.buffer)
    let from = 0
    for (const { length, offset } of snapshot.extents) {
      heap.set(snapshot.bytes.subarray(from, from + length), offset)
      from += length
    }
    instance.at = snapshot.at
    return instance
  }

  const rewind = (instance: Instance, snapshot: Snapshot): boolean => {
    const buffer = instance.memory.buffer
    if (instance.spoiled || heapEndAddress === 0 || buffer.byteLength !== snapshot.memoryBytes) return false
    const heap = instance.module.HEAPU8
    const end = heapEnd(instance)
    let from = 0
    let cleared = 0
    for (const { length, offset } of snapshot.extents) {
      if (cleared <= insideStack && insideStack < offset) clearDown(buffer, offset, cleared)
      else if (offset > cleared) heap.fill(0, cleared, offset)
      heap.set(snapshot.bytes.subarray(from, from + length), offset)
      from += length
      cleared = offset + length
    }
    if (end > cleared) heap.fill(0, cleared, end)
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
  const insideStack = middleOfLargestHole(copyOf(first))
  const entries = evaluate(first, Buffer.from(prelude), "svc")
  const entry = (index: number): Owned => first.ffi.QTS_GetPropNumber(context, entries, index)
  first.at = { ...first.at, step: entry(0), take: entry(1), load: entry(2) }
  first.ffi.QTS_FreeValuePointer(context, entries)
  const base = copyOf(first)
  const baseEnd = heapEndAddress === 0 ? 0 : heapEnd(first)

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
        const taken = call(instance, at.take)
        const text = textOf(instance, taken)
        ffi.QTS_FreeValuePointer(at.context, taken)
        return text
      })
    },
    usedBytes: (instance) =>
      heapEndAddress === 0 ? instance.memory.buffer.byteLength : Math.max(0, heapEnd(instance) - baseEnd)
  }
}

// --- Private ---

const unlimited: StepLimits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: Infinity }

/** The bindings brand their numbers; the memory of the engine knows no brands. */
const pointer = <P extends number>(address: number): P => address as P
const noModules = pointer<Parameters<Ffi["QTS_Eval"]>[4]>(0)
const globalCode = pointer<Parameters<Ffi["QTS_Eval"]>[5]>(0)
const everyIntrinsic = pointer<Parameters<Ffi["QTS_NewContext"]>[1]>(0)
const unset: Addresses = {
  runtime: pointer(0),
  context: pointer(0),
  step: pointer(0),
  take: pointer(0),
  load: pointer(0),
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

const emptyBlock = Buffer.alloc(block)

const middleOfLargestHole = ({ extents }: Snapshot): number => {
  let [largest, middle, end] = [0, 0, 0]
  for (const { length, offset } of extents) {
    if (offset - end > largest) [largest, middle] = [offset - end, (offset + end) / 2]
    end = offset + length
  }
  return middle
}

/** Clears what was used below `top`, down to where nothing was; blocks that are empty are read and not written. */
const clearDown = (memory: ArrayBuffer, top: number, bottom: number): void => {
  const blocks = Buffer.from(memory)
  let hole = 0
  for (let at = top - block; at >= bottom && hole < stackHoleBytes; at -= block) {
    if (blocks.compare(emptyBlock, 0, block, at, at + block) === 0) hole += block
    else {
      blocks.fill(0, at, at + block)
      hole = 0
    }
  }
}
