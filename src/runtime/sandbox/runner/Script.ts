/**
 * The script of a program: the workflow's code, and before it the library that the code needs. The engine evaluates the
 * library first and by itself, so that the code can neither change nor replace it.
 */
import { Buffer } from "node:buffer"

/** A script's first line, if it has a library, of so many bytes. The code of a workflow never begins like this. */
const header = /^\/\/svc-library (\d{1,7})\n/
const headerBytes = 32

/** The script of code with a library: an expression of a function that takes the parts of the prelude. */
export const withLibrary = (library: string, code: string): string =>
  `//svc-library ${Buffer.byteLength(library)}\n${library}\n${code}`

/** The parts of a script. */
export const partsOfScript = (script: Buffer): { readonly library: Buffer | undefined; readonly code: Buffer } => {
  const found = header.exec(script.toString("latin1", 0, headerBytes))
  if (found === null) return { library: undefined, code: script }
  const start = found[0].length
  const end = start + Number(found[1])
  return { library: script.subarray(start, end), code: script.subarray(end + 1) }
}
