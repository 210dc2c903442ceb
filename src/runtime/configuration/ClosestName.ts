/** Suggests a known name for a mistyped one. */

/** The closest known name, or `undefined` if none is within three edits. */
export const closestName = (name: string, known: ReadonlyArray<string>): string | undefined =>
  known
    .map((one) => ({ one, edits: edits(one, name) }))
    .filter(({ edits }) => edits <= 3)
    .sort((a, b) => a.edits - b.edits)[0]?.one

const edits = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1]
    for (const [column, other] of [...b].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min((row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[b.length] ?? 0
}
