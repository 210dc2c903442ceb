/** Calls into a guest: passes text and bytes over its memory, runs its microtasks, and turns its exceptions into failures. */
import { Buffer } from "node:buffer"
import { computeBytes } from "./Computations.js"
import { GuestStopped, readException } from "./GuestStopped.js"
import { type Instance, isOverTime, type OwnedValue, pointer, type Value } from "./Instance.js"
import type { Ffi } from "./Wasm.js"

/** Microtasks between two reads of the clock. */
const jobsPerDrain = 1000
const noModules = pointer<Parameters<Ffi["QTS_Eval"]>[4]>(0)
const globalCode = pointer<Parameters<Ffi["QTS_Eval"]>[5]>(0)

/** Makes the functions that call into guests. `isFull`: whether a guest has allocated nearly all that it may. */
export const makeGuestCalls = (isFull: (instance: Instance) => boolean) => {
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

  /** The text that a function without arguments gives. */
  const textFrom = (instance: Instance, target: OwnedValue): Buffer => {
    const value = call(instance, target)
    const text = textOf(instance, value)
    instance.ffi.QTS_FreeValuePointer(instance.at.context, value)
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

  return { apply, call, compute, drain, evaluate, textFrom }
}
