/** What a node writes, as the supervisor passes it on: each line with the name of its node. */

/** A line of JSON stays one, with a member `node`; a line of text gets the name in front of it. */
export const namedLine = (node: string, line: string): string =>
  line.startsWith("{") && line.endsWith("}")
    ? `{"node":"${node}"${line === "{}" ? "" : ","}${line.slice(1)}`
    : `${node}: ${line}`

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
