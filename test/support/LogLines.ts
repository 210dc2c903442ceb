/** Reads what a service prints: which of its lines tell of trouble. */

export interface PrintedLine {
  readonly text: string
  readonly stream: "stdout" | "stderr"
}

const severe = new Set(["WARN", "ERROR", "FATAL"])
/** A line of Effect's default logger, and one of the service's pretty logger. */
const severeText = /^timestamp=\S+ level=(?:WARN|ERROR|FATAL) |^\[\d\d:\d\d:\d\d\.\d{3}\] (?:WARN|ERROR|FATAL) /

const levelOf = (line: string): string | undefined => {
  try {
    const entry: unknown = JSON.parse(line)
    if (typeof entry !== "object" || entry === null || !("logLevel" in entry)) return undefined
    return String(entry.logLevel)
  } catch {
    return undefined
  }
}

/** A log entry above INFO, or anything but a log entry on the error stream. */
export const isTrouble = ({ stream, text }: PrintedLine): boolean => {
  const level = levelOf(text)
  if (level !== undefined) return severe.has(level)
  return severeText.test(text) || (stream === "stderr" && text.trim() !== "" && !text.startsWith("timestamp="))
}

/** What depends on the machine that the tests run on, and on nothing that a test does: how far it lets runners be jailed. */
export const ofThisMachine: ReadonlyArray<RegExp> = [/sandbox\.jail_incomplete/]

/** Cuts pieces of text into lines; `end` tells of a last one that has no end. */
export const lineReader = (onLine: (text: string) => void) => {
  let rest = ""
  return {
    push: (piece: string) => {
      const lines = (rest + piece).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) onLine(line)
    },
    end: () => {
      if (rest !== "") onLine(rest)
      rest = ""
    }
  }
}
