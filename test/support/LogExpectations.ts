/**
 * Collects the log lines of services during tests. A line of trouble that no test announced fails the running test, or
 * its file if no test is running (`test/support/logSetup.ts`).
 */
import { setTimeout as pause } from "node:timers/promises"
import { machineLines } from "./LogLines.js"

interface Announcement {
  readonly pattern: RegExp
  readonly required: boolean
  readonly scope: "file" | "test"
  heard: boolean
}

let announcements: ReadonlyArray<Announcement> = []
let unannounced: ReadonlyArray<string> = []
let scope: Announcement["scope"] = "file"

/**
 * Allows lines that match: in a test until it ends, elsewhere in the whole file. `required`: the test or the file fails
 * if no line matches.
 */
export const announce = (pattern: RegExp, { required = false }: { readonly required?: boolean } = {}): void => {
  announcements = [...announcements, { pattern, required, scope, heard: false }]
}

/** Records a line of trouble of a service. */
export const hear = (line: string): void => {
  if (machineLines.some((pattern) => pattern.test(line))) return
  const expected = announcements.filter(({ pattern }) => pattern.test(line))
  for (const announcement of expected) announcement.heard = true
  if (expected.length === 0) unannounced = [...unannounced, line]
}

/** Lines of trouble since the last test that no test announced. */
export const unannouncedLines = (): ReadonlyArray<string> => unannounced

/** Takes the lines of trouble since the last test that no test announced: the next test does not answer for them. */
export const takeUnannounced = (): ReadonlyArray<string> => {
  const lines = unannounced
  unannounced = []
  return lines
}

export const beginTest = (): void => {
  scope = "test"
}

/** How long a required line may be under way: those of processes come over a pipe. */
const lateLineMillis = 10_000

/** Ends the test, or the file. Throws if there was a line that was not announced, or a required line was missing. */
export const endScope = async (ended: Announcement["scope"]): Promise<void> => {
  const isMissing = (one: Announcement) => one.scope === ended && one.required && !one.heard
  const until = Date.now() + lateLineMillis
  while (announcements.some(isMissing) && unannounced.length === 0 && Date.now() < until) await pause(20)
  const missing = announcements.filter(isMissing)
  const lines = takeUnannounced()
  announcements = ended === "file" ? [] : announcements.filter((one) => one.scope === "file")
  scope = "file"
  const problems = [
    ...lines.map((line) => `unannounced: ${line}`),
    ...missing.map(({ pattern }) => `announced, but not logged: ${String(pattern)}`)
  ]
  if (problems.length > 0) throw new Error(["Log lines of the service:", ...problems].join("\n"))
}
