/** Limits on the size of a guest's outputs. */
import { Buffer } from "node:buffer"
import { findProblem } from "../../../domain/JsonText.js"
import { guest, jsonWeight } from "../../../domain/Limits.js"

/** A call may carry the largest body of `fetch` as base64, with its headers. */
const maxCallBytes = Math.ceil((guest.fetchBytes * 4) / 3) + 65_536
/** Bytes of all outputs of one step. */
export const maxStepBytes = 4 * guest.outputBytes

/** Smaller outputs cannot hold too many values. */
const smallBytes = 256 * 1024
/** Without a limit on depth: the service checks that. */
const weightOnly = { depth: Number.MAX_SAFE_INTEGER, weight: jsonWeight }

/** Whether the outputs, a JSON array, hold more values than the service accepts at once. */
export const isTooHeavy = (outputs: Buffer): boolean =>
  outputs.length > smallBytes && findProblem(outputs.toString("latin1"), weightOnly) === "tooHeavy"

/** Whether one of the outputs, or all together, exceed their limits. `outputs`: a JSON array. */
export const isOversized = (outputs: Buffer): boolean => {
  if (outputs.length <= guest.outputBytes) return false
  if (outputs.length > maxStepBytes) return true
  const read: unknown = JSON.parse(outputs.toString())
  return (
    Array.isArray(read) &&
    read.some((output: unknown) => {
      const isCall = typeof output === "object" && output !== null && "t" in output && output.t === "call"
      return Buffer.byteLength(JSON.stringify(output)) > (isCall ? maxCallBytes : guest.outputBytes)
    })
  )
}
