/** Suggests a known name for a mistyped one. */

/** Longer names get no suggestion: comparing costs the product of both lengths. */
const longest = 80

/** The closest known name, or `undefined` if none is within three edits, or half of its letters if that is less. */
export const closestName = (name: string, known: ReadonlyArray<string>): string | undefined =>
  name.length > longest
    ? undefined
    : known
        .filter((one) => Math.abs(one.length - name.length) <= mostEdits(one, name))
        .map((one) => ({ one, edits: edits(one, name) }))
        .filter(({ edits, one }) => edits <= mostEdits(one, name))
        .sort((a, b) => a.edits - b.edits)[0]?.one

/** A sentence to put behind a refusal, with a space before it; empty without a close name. */
export const didYouMean = (name: string, known: ReadonlyArray<string>): string => {
  const meant = closestName(name, known)
  return meant === undefined ? "" : ` Did you mean ${meant}?`
}

const mostEdits = (a: string, b: string) => Math.min(3, Math.floor(Math.max(a.length, b.length) / 2))

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
