/** Creates directories with their parents. */
import * as fs from "node:fs"
import * as path from "node:path"

/**
 * Creates a directory and its parents; one that exists stays as it is. Throws the file system's error. Node's own
 * `recursive` never returns below `/proc`, where a parent exists and has no directories to create.
 */
export const makeDirectories = (directory: string, mode = 0o755): void => {
  const missing: Array<string> = []
  let at = path.resolve(directory)
  while (fs.statSync(at, { throwIfNoEntry: false }) === undefined) {
    missing.push(at)
    at = path.dirname(at)
  }
  for (const one of missing.toReversed()) makeOne(one, mode)
  if (!fs.statSync(directory).isDirectory()) throw new Error(`${path.resolve(directory)} is a file`)
}

const makeOne = (directory: string, mode: number): void => {
  try {
    fs.mkdirSync(directory, { mode })
  } catch (cause) {
    // Another process has created it meanwhile.
    if (!fs.existsSync(directory)) throw cause
  }
}
