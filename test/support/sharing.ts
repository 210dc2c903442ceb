/**
 * The service that the files of a worker share (`SharedService.ts`), as it stands between two files: the next file that does
 * not share it stops it, so that no file computes beside a service that is not its own.
 */
import { appendFileSync, readFileSync } from "node:fs"
import { relative } from "node:path"
import { takeUnannounced } from "./LogExpectations.js"

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
  if (sharedProcess === undefined || isSharing(path)) return
  const { files } = sharedProcess
  const lines = await stopShared()
  if (lines.length > 0) blame(files, lines)
}

/** Whether the service that files share ends with this file: the last one where their order is given (`scripts/test.mjs`). */
export const isLastFile = (path: string): boolean =>
  relative(process.cwd(), path) === process.env["SVC_TEST_ORDER"]?.split(",").at(-1)

/** Stops the shared service. Returns the lines of trouble that it logged since its last file. */
export const stopShared = async (): Promise<ReadonlyArray<string>> => {
  const service = sharedProcess
  sharedProcess = undefined
  if (service === undefined) return []
  await service.stop()
  return takeUnannounced()
}

/** Reports lines of trouble as a failure of the files that a service served: the file that begins is not the cause. */
const blame = (files: ReadonlyArray<string>, lines: ReadonlyArray<string>): void => {
  const served = files.map((file) => relative(process.cwd(), file))
  const error = `The service that ${served.join(", ")} shared logged after them: ${lines.join(" ⏎ ")}`
  const report = process.env["SVC_TEST_REPORT"]
  if (report === undefined) throw new Error(error)
  const failures = [{ test: "(its log)", error: error.slice(0, 5_000) }]
  const entry = {
    project: process.env["SVC_TEST_PROJECT"],
    file: "(a shared service)",
    seconds: 0,
    passed: 0,
    failures,
    served
  }
  appendFileSync(report, `${JSON.stringify(entry)}\n`)
}
