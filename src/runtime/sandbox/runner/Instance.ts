/** An instance of the engine, its limits, and the addresses of its guest's objects. */
import { processorMillis, wallMillis } from "./Processor.js"
import type { EngineModule, Ffi, WasmMemory } from "./Wasm.js"

export type Value = ReturnType<Ffi["QTS_GetUndefined"]> | ReturnType<Ffi["QTS_NewString"]>
export type OwnedValue = ReturnType<Ffi["QTS_NewString"]>

/** Addresses of the guest's objects: the same in every copy of one snapshot. */
export interface GuestPointers {
  readonly runtime: ReturnType<Ffi["QTS_NewRuntime"]>
  readonly context: ReturnType<Ffi["QTS_NewContext"]>
  readonly step: OwnedValue
  readonly take: OwnedValue
  readonly load: OwnedValue
  readonly nextComputation: OwnedValue
  readonly computationDone: OwnedValue
  readonly bring: OwnedValue
  /** Of the script's library; none: 0. */
  readonly standing: OwnedValue
  /** Room for the address of one argument. */
  readonly argv: Parameters<Ffi["QTS_Call"]>[4]
}

export interface Instance {
  readonly module: EngineModule
  readonly ffi: Ffi
  readonly memory: WasmMemory
  at: GuestPointers
  /** It trapped, was interrupted or ran out of memory, and must not be used again. */
  isSpoiled: boolean
  /** The most that one of its guests had allocated: rewinding does not give memory back. */
  touchedBytes: number
  limits: StepLimits
  /** When the current step began, and when its CPU time is checked next, by the monotonic clock. */
  startedAt: number
  deadline: number
  /** CPU time of the process shortly before the step. */
  processorBefore: number
  isInterrupted: boolean
}

export interface StepLimits {
  readonly memoryBytes: number
  readonly cpuMillis: number
}

/** Brands an address as the bindings' types require. */
export const pointer = <P extends number>(address: number): P => address as P

/**
 * Whether the step has used up its CPU time. The wall clock only decides when to check, so that a busy machine
 * interrupts no guest for having waited.
 */
export const isOverTime = (instance: Instance): boolean => {
  if (instance.isInterrupted) return true
  const now = wallMillis()
  if (now < instance.deadline) return false
  const used = Math.min(processorMillis() - instance.processorBefore, now - instance.startedAt)
  if (used < instance.limits.cpuMillis) {
    instance.deadline = now + Math.max(1, instance.limits.cpuMillis - used)
    return false
  }
  instance.isInterrupted = true
  return true
}
