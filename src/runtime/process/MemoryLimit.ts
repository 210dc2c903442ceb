/** The memory that this process may use. */
import { totalmem } from "node:os"

/** Bytes of memory of the machine or, if that is smaller, of the container. */
export const memoryLimit = (): number => {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Memory with which a node serves at its limits; a machine of 1 GiB has a little less. */
const enoughMemory = 1_024 * 1_048_576
const lessOfMachine = 64 / 1_024

/** What a start with this limit says of too little memory; `undefined` if it is enough. `needed`: bytes. */
export const littleMemory = (limit: number, needed = enoughMemory) =>
  limit < needed * (1 - lessOfMachine)
    ? { memoryMiB: Math.floor(limit / 1_048_576), neededMiB: needed / 1_048_576 }
    : undefined
