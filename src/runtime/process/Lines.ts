/** The lines of text that arrives in pieces: the output of a process, the answers on a socket. */

/** A longer line is passed on in pieces. */
const longestLine = 4 * 1_048_576

/** Calls `onLine` for each line of what is pushed, at the end also for a last one without a line break. */
export const splitLines = (onLine: (line: string) => void) => {
  let rest = ""
  return {
    push: (text: string) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) onLine(line)
      if (rest.length > longestLine) {
        onLine(rest)
        rest = ""
      }
    },
    end: () => {
      if (rest !== "") onLine(rest)
      rest = ""
    }
  }
}
