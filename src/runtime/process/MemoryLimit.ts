/** The memory that this process may use. */
import { totalmem } from "node:os"

/** Bytes of memory of the machine or, if that is smaller, of the container. */
export const memoryLimit = (): number => {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
