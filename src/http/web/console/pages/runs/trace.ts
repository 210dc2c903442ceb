/** The trace of a run as rows of a waterfall: a tree by the paths of steps, and times as parts of the whole. */

/** An attempt of a step. Times are RFC 3339. */
export interface TraceAttempt {
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly error: { readonly message?: string; readonly code?: string; readonly category?: string } | null
}

/** A step or a call of a run, as the API shows it. */
export interface TraceStep {
  readonly name: string
  readonly index: number
  readonly type: string
  readonly path: string
  readonly parent: string | null
  readonly connector: string | null
  readonly action: string | null
  readonly attempts: ReadonlyArray<TraceAttempt>
  readonly input?: unknown
  readonly output?: unknown
  readonly error: { readonly message?: string; readonly code?: string; readonly category?: string } | null
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly durationMs: number | null
  readonly status: string
  readonly idempotencyKey?: string
  /** Targets of the mapping that had no value. */
  readonly missing?: ReadonlyArray<string>
  readonly warnings?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

/** Steps as the API shows them. Calls outside of steps have no path: there the name stands for it. */
export const stepsOf = (shown: ReadonlyArray<unknown>): ReadonlyArray<TraceStep> =>
  (shown as ReadonlyArray<TraceStep>).map((step) => ({
    ...step,
    path: step.path ?? step.name,
    parent: step.parent ?? null
  }))

/** A step with its place in the tree. */
export interface TraceRow {
  readonly step: TraceStep
  readonly depth: number
  /** How many rows are below it, at any depth. */
  readonly below: number
}

/** What a part of a step's time was spent on: waiting for a place, an attempt, the pause before the next attempt. */
export type SpanKind = "waiting" | "attempt" | "failed attempt" | "back-off" | "inside"

export interface TimeSpan {
  readonly kind: SpanKind
  /** Unix milliseconds. */
  readonly from: number
  readonly to: number
}

/** The path of what a row is inside of, without iterations: `each` of `each[3].send`. */
const outerOf = (path: string): string | null => {
  const at = path.lastIndexOf(".")
  return at < 0 ? null : path.slice(0, at).replace(/\[\d+\]$/, "")
}

/** The path of a step as it is shown below what it is inside of. */
export const shortPath = ({ parent, path }: TraceStep): string =>
  parent !== null && path.startsWith(parent) && path.length > parent.length
    ? path.slice(parent.length).replace(/^\./, "")
    : path

/** The rows in the order of the trace, each below what it is inside of. */
export const rowsOf = (steps: ReadonlyArray<TraceStep>): ReadonlyArray<TraceRow> => {
  const byPath = new Map(steps.map((step) => [step.path, step]))
  const inside = new Map<string | null, Array<TraceStep>>()
  for (const step of steps) {
    const outer = step.parent ?? outerOf(step.path)
    const known = outer !== null && outer !== step.path && byPath.has(outer) ? outer : null
    const siblings = inside.get(known)
    if (siblings === undefined) inside.set(known, [step])
    else siblings.push(step)
  }
  const rows: Array<{ step: TraceStep; depth: number; below: number }> = []
  const seen = new Set<TraceStep>()
  // An own stack: a trace may be deeper than that of the browser.
  const open: Array<{ readonly step: TraceStep; readonly depth: number }> = []
  const push = (outer: string | null, depth: number) => {
    const found = inside.get(outer) ?? []
    for (let at = found.length - 1; at >= 0; at--) open.push({ step: found[at]!, depth })
  }
  push(null, 0)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next.step)) continue
    seen.add(next.step)
    rows.push({ ...next, below: 0 })
    // Calls outside of steps may share a path.
    if (byPath.get(next.step.path) === next.step) push(next.step.path, next.depth + 1)
  }
  const above: Array<number> = []
  for (let at = 0; at < rows.length; at++) {
    while (above.length > 0 && rows[above.at(-1)!]!.depth >= rows[at]!.depth) above.pop()
    for (const outer of above) rows[outer]!.below += 1
    above.push(at)
  }
  return rows
}

/** The rows without those below a collapsed one. */
export const withoutCollapsed = (
  rows: ReadonlyArray<TraceRow>,
  collapsed: ReadonlySet<string>
): ReadonlyArray<TraceRow> => {
  const shown: Array<TraceRow> = []
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    shown.push(row)
    if (collapsed.has(row.step.path)) at += row.below
  }
  return shown
}

const contains = (text: string | null | undefined, part: string): boolean =>
  text !== null && text !== undefined && text.toLowerCase().includes(part)

/** Whether a step's name, path, connector, action or error has the text. */
export const matches = ({ action, connector, error, name, path }: TraceStep, text: string): boolean => {
  const part = text.toLowerCase()
  return [name, path, connector, action, error?.message, error?.code].some((one) => contains(one, part))
}

const at = (time: string | null, otherwise: number): number => (time === null ? otherwise : Date.parse(time))

/** From the start of the run to its end, or to `now` while it goes on. */
export const rangeOf = (
  run: { readonly createdAt: string; readonly startedAt: string | null; readonly finishedAt: string | null },
  now: number
): readonly [from: number, to: number] => {
  const from = Date.parse(run.createdAt)
  return [from, Math.max(from + 1, at(run.finishedAt, now))]
}

/** The parts of a step's time; `now` ends what has not ended. */
export const spansOf = (step: TraceStep, now: number): ReadonlyArray<TimeSpan> => {
  if (step.startedAt === null) return []
  const from = Date.parse(step.startedAt)
  const to = at(step.finishedAt, now)
  if (step.connector === null) return [{ kind: "inside", from, to }]
  const spans: Array<TimeSpan> = []
  let last = from
  step.attempts.forEach(({ error, finishedAt, startedAt }, index) => {
    const begin = Math.max(last, Date.parse(startedAt))
    if (begin > last) spans.push({ kind: index === 0 ? "waiting" : "back-off", from: last, to: begin })
    const end = Math.max(begin, at(finishedAt, to))
    spans.push({ kind: error === null ? "attempt" : "failed attempt", from: begin, to: end })
    last = end
  })
  if (spans.length === 0) spans.push({ kind: "waiting", from, to })
  return spans
}

/** Milliseconds of each kind of time in all calls. */
export const timeByKind = (steps: ReadonlyArray<TraceStep>, now: number): Readonly<Record<SpanKind, number>> => {
  const sums = { waiting: 0, attempt: 0, "failed attempt": 0, "back-off": 0, inside: 0 }
  for (const step of steps) for (const { from, kind, to } of spansOf(step, now)) sums[kind] += to - from
  return sums
}

/** Steps as they were, with those that have changed. */
export const mergeSteps = (
  before: ReadonlyArray<TraceStep>,
  changed: ReadonlyArray<TraceStep>
): ReadonlyArray<TraceStep> => {
  if (changed.length === 0) return before
  const byIndex = new Map(changed.map((step) => [step.index, step]))
  const kept = before.map((step) => {
    const now = byIndex.get(step.index)
    byIndex.delete(step.index)
    return now ?? step
  })
  return [...kept, ...byIndex.values()].sort((one, other) => one.index - other.index)
}
