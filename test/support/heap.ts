/** Measures the memory in use after a full garbage collection. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** The bytes of all buffers. */
export const liveBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().external
}

/** The bytes of all objects and buffers. */
export const liveObjectBytes = (): number => {
  collectGarbage()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}
