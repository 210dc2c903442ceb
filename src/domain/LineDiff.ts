/** The difference of two texts, line by line. */

/** One line of a difference between two texts. */
export interface DiffLine {
  readonly op: "same" | "added" | "removed"
  readonly text: string
}

/** The lines to remove and add to get from `a` to `b`. Texts beyond a bound are treated as completely different. */
export const diffLines = (a: string, b: string): ReadonlyArray<DiffLine> => {
  const left = a.split("\n")
  const right = b.split("\n")
  let head = 0
  while (head < left.length && head < right.length && left[head] === right[head]) head++
  let tail = 0
  while (
    tail < left.length - head &&
    tail < right.length - head &&
    left[left.length - 1 - tail] === right[right.length - 1 - tail]
  )
    tail++
  const as = left.slice(head, left.length - tail)
  const bs = right.slice(head, right.length - tail)
  const same = (lines: ReadonlyArray<string>) => lines.map((text): DiffLine => ({ op: "same", text }))
  return [...same(left.slice(0, head)), ...diffMiddle(as, bs), ...same(left.slice(left.length - tail))]
}

const diffMiddle = (as: ReadonlyArray<string>, bs: ReadonlyArray<string>): ReadonlyArray<DiffLine> => {
  const removed = as.map((text): DiffLine => ({ op: "removed", text }))
  const added = bs.map((text): DiffLine => ({ op: "added", text }))
  if (as.length === 0 || bs.length === 0 || as.length * bs.length > 4_000_000) return [...removed, ...added]
  // The longest common subsequence, computed from the end so that the walk below goes forward.
  const width = bs.length + 1
  const longest = new Uint32Array((as.length + 1) * width)
  const at = (i: number, j: number) => longest[i * width + j] ?? 0
  for (let i = as.length - 1; i >= 0; i--) {
    for (let j = bs.length - 1; j >= 0; j--) {
      longest[i * width + j] = as[i] === bs[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const out: Array<DiffLine> = []
  let i = 0
  let j = 0
  while (i < as.length && j < bs.length) {
    if (as[i] === bs[j]) {
      out.push({ op: "same", text: as[i] ?? "" })
      i++
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) out.push({ op: "removed", text: as[i++] ?? "" })
    else out.push({ op: "added", text: bs[j++] ?? "" })
  }
  return [...out, ...removed.slice(i), ...added.slice(j)]
}
