/** How much a guest may say at once. */
import { Buffer } from "node:buffer"
import { exceededBound } from "../../../domain/JsonText.js"
import { guest, jsonWeight } from "../../../domain/Limits.js"

/** A call may carry the largest body of `fetch` as base64, and what goes with it. */
const callBytes = Math.ceil((guest.fetchBytes * 4) / 3) + 65_536
/** All outputs of one step. */
export const stepBytes = 4 * guest.outputBytes

/** Smaller outputs cannot hold too many values. */
const smallBytes = 256 * 1024
/** The service judges how deep they nest. */
const weightOnly = { depth: Number.MAX_SAFE_INTEGER, weight: jsonWeight }

/** Whether the outputs hold more values than the service may be made to handle at once. `outputs`: a JSON array. */
export const isTooHeavy = (outputs: Buffer): boolean =>
  outputs.length > smallBytes && exceededBound(outputs.toString("latin1"), weightOnly) === "tooHeavy"

/** Whether one of the outputs, or all together, are larger than allowed. `outputs`: a JSON array. */
export const isOversized = (outputs: Buffer): boolean => {
  if (outputs.length <= guest.outputBytes) return false
  if (outputs.length > stepBytes) return true
  const read: unknown = JSON.parse(outputs.toString())
  return (
    Array.isArray(read) &&
    read.some((output: unknown) => {
      const isCall = typeof output === "object" && output !== null && "t" in output && output.t === "call"
      return Buffer.byteLength(JSON.stringify(output)) > (isCall ? callBytes : guest.outputBytes)
    })
  )
}
