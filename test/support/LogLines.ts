/** Reads the output of a service, and finds the lines of trouble: warnings, errors and unexpected output. */

export interface PrintedLine {
  readonly text: string
  readonly stream: "stdout" | "stderr"
}

const severe = new Set(["WARN", "ERROR", "FATAL"])
/** Lines of Effect's default logger and of the service's pretty logger. */
const severeText = /^timestamp=\S+ level=(?:WARN|ERROR|FATAL) |^\d\d:\d\d:\d\d (?:WARN|ERROR|FATAL) /

const levelOf = (line: string): string | undefined => {
  try {
    const entry: unknown = JSON.parse(line)
    if (typeof entry !== "object" || entry === null || !("logLevel" in entry)) return undefined
    return String(entry.logLevel)
  } catch {
    return undefined
  }
}

/** Whether a line is a log entry above INFO, or a line of the error stream that is not a log entry. */
export const isTrouble = ({ stream, text }: PrintedLine): boolean => {
  const level = levelOf(text)
  if (level !== undefined) return severe.has(level)
  return severeText.test(text) || (stream === "stderr" && text.trim() !== "" && !text.startsWith("timestamp="))
}

/** Lines that depend only on the machine of the tests: which jail of runners works on it. */
export const machineLines: ReadonlyArray<RegExp> = [/sandbox\.jail_incomplete/]
