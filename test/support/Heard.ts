/**
 * What services say while tests run. A line of trouble that no test announced fails the test during which it was heard,
 * or its file when no test was running (`test/support/hearing.ts`).
 */
import { ofThisMachine } from "./LogLines.js"

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
 * Lets services say what matches: within a test until it ends, elsewhere in the whole file. `required`: the test or the
 * file fails when it is not said.
 */
export const announce = (pattern: RegExp, { required = false }: { readonly required?: boolean } = {}): void => {
  announcements = [...announcements, { pattern, required, scope, heard: false }]
}

/** A service has said this line of trouble. */
export const hear = (line: string): void => {
  if (ofThisMachine.some((pattern) => pattern.test(line))) return
  const expected = announcements.filter(({ pattern }) => pattern.test(line))
  for (const announcement of expected) announcement.heard = true
  if (expected.length === 0) unannounced = [...unannounced, line]
}

/** Lines of trouble since the last test that nobody announced. */
export const unannouncedLines = (): ReadonlyArray<string> => unannounced

export const beginTest = (): void => {
  scope = "test"
}

/** Ends the test, or the file. Throws when something was said that was not announced, or the reverse. */
export const end = (ended: Announcement["scope"]): void => {
  const missing = announcements.filter((one) => one.scope === ended && one.required && !one.heard)
  const lines = unannounced
  announcements = ended === "file" ? [] : announcements.filter((one) => one.scope === "file")
  unannounced = []
  scope = "file"
  const complaints = [
    ...lines.map((line) => `unannounced: ${line}`),
    ...missing.map(({ pattern }) => `announced, and not heard: ${String(pattern)}`)
  ]
  if (complaints.length > 0) throw new Error(["The service said:", ...complaints].join("\n"))
}
