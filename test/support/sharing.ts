/**
 * The service that the files of a worker share (`SharedService.ts`), as it stands between two files: the next file that does
 * not share it stops it, so that no file computes beside a service that is not its own.
 */
import { readFileSync } from "node:fs"
import { unannouncedLines } from "./LogExpectations.js"

/** A running service that files share. */
export interface SharedProcess {
  readonly stop: () => Promise<void>
  /** The names of the files that used it. */
  readonly files: ReadonlyArray<string>
}

let sharedProcess: SharedProcess | undefined
let fileOfTests = ""

/** The file whose tests run. */
export const presentFile = (): string => fileOfTests

/** Leaves a service running for the next files. */
export const keepRunning = (service: SharedProcess): void => {
  sharedProcess = service
}

/** Whether the tests of a file use the shared service. */
export const isSharing = (file: string): boolean => /\bstartShared/.test(readFileSync(file, "utf8"))

/** Begins a file: stops the shared service unless the file shares it. */
export const beginFile = async (path: string): Promise<void> => {
  fileOfTests = path
  if (sharedProcess !== undefined && !isSharing(path)) await stopShared()
}

/** Stops the shared service. Throws if it logged trouble since its last file, of which the present file is not the cause. */
export const stopShared = async (): Promise<void> => {
  const service = sharedProcess
  sharedProcess = undefined
  if (service === undefined) return
  await service.stop()
  const lines = unannouncedLines()
  if (lines.length > 0)
    throw new Error(`The service that ${service.files.join(", ")} shared logged after them: ${lines.join("\n")}`)
}
