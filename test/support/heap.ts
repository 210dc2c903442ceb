/** How much memory is in use, without what is only not collected yet. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Bytes of buffers. */
export const heldBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().external
}
