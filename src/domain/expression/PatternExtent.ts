/** Estimates what a regular expression expands to, before anything is compiled. */

const repetition = /\{(\d{1,6})(?:(,)(\d{0,6}))?\}/y
const escape = /\\(?:[pPx]\{[^}]{0,200}\}|Q[^]*?(?:\\E|$)|[^])/y
const characterClass = /\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]/y
const groupStart = /\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z-]*(?=\))))?/y

/** The form that may begin with a character. */
const forms: { readonly [letter: string]: RegExp } = {
  "{": repetition,
  "\\": escape,
  "[": characterClass,
  "(": groupStart
}

/** The part of a pattern that begins at a place: a construct, or one character. */
const partAt = (pattern: string, at: number): readonly [part: string, ...groups: ReadonlyArray<string | undefined>] => {
  const letter = pattern[at] ?? ""
  const form = forms[letter]
  if (form === undefined) return [letter]
  form.lastIndex = at
  const [part, ...groups] = form.exec(pattern) ?? [letter]
  return [part, ...groups]
}

/** How often `{least}`, `{least,}` or `{least,most}` repeats. */
const copiesOf = (least = "0", comma?: string, most = ""): number =>
  Math.max(1, comma === undefined || most !== "" ? Number(most === "" ? least : most) : Number(least) + 1)

/** A group that is open: the size of what precedes its last atom, and of that atom. */
class Group {
  private before = 1
  private last = 0

  get size(): number {
    return this.before + this.last
  }

  add(size: number): void {
    this.before += this.last
    this.last = size
  }

  repeat(copies: number): void {
    this.last = (this.last + 1) * copies
  }
}

/**
 * About the number of instructions. A counted repetition counts its largest number, and at least once, since also what is
 * repeated zero times must be expanded before it is dropped.
 */
export const patternExtent = (pattern: string): number => {
  const outer: Array<Group> = []
  let open = new Group()
  for (let at = 0; at < pattern.length;) {
    const [part, ...groups] = partAt(pattern, at)
    const [letter] = part
    if (letter === "(") {
      outer.push(open)
      open = new Group()
    } else if (letter === ")") {
      const { size } = open
      open = outer.pop() ?? new Group()
      open.add(size)
    } else if (letter === "{" && part !== "{") open.repeat(copiesOf(...groups))
    else if (letter === "*" || letter === "+" || letter === "?") open.repeat(1)
    else open.add(part.startsWith("\\Q") ? part.length : 1)
    at += Math.max(1, part.length)
  }
  return [...outer, open].reduce((sum, { size }) => sum + size, 0)
}
