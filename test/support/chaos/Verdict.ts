/** Counts what a trial tried of each promise, and collects what violated it. */

/** The promises of the service, as the table names them. */
export const promises = {
  accepted: "what was accepted is committed: no event, no run is lost",
  once: "a deduplication key starts one run; a completed call never runs again, one in flight has the same key",
  ends: "every run ends, with its result; a cancelled one stops within a second",
  items:
    "a call through a connection has one key, makes one item at the provider, and a run knows of those that it made",
  limits: "a provider that refuses is not asked before the time that it names, while its connection's owner stays",
  deliveries: "the end of a run is told to its caller, each time under one id",
  rpc: "a call of the RPC client is answered with its outcome, over all faults; one that is sent again has one effect",
  watches: "a watch tells of every end of a run and of every event, or that some may have been missed",
  refresh: "one refresh for an expiry; at most two when an owner dies, never a loop",
  ticks: "a tick of a schedule fires once",
  tenants: "no organisation sees what is another's",
  keys: "a revoked key works nowhere after a second",
  secrets: "no log line of a node and no message of the broker has a secret",
  answers: "every request is answered, or refused with a reason, within 30 s",
  recovery: "all shards are held 15 s after the last fault; the audit trail and all events are accounted for",
  nodes: "no node ends by itself, and each that joins takes part"
} as const

export type PromiseName = keyof typeof promises

/** Those that a machine which is too slow for the trial's load can seem to break. */
const timed = ["ends", "answers", "recovery", "nodes"] as const satisfies ReadonlyArray<PromiseName>

/**
 * Whether violations, as `violations` lists them, are final. Where requests were not answered in time, or runs are still
 * open, what was accepted and what it did cannot be counted: such a trial is repeated.
 */
export const areFinal = (violations: ReadonlyArray<string>): boolean =>
  violations.length > 0 && !violations.some((one) => timed.some((name) => one.startsWith(`${name}: `)))

export interface Verdict {
  readonly tried: (promise: PromiseName, count?: number) => void
  /** `what` names the ids. */
  readonly violated: (promise: PromiseName, what: string) => void
  /** One line for each promise, and below one for each violation. */
  readonly table: () => string
  readonly violations: () => ReadonlyArray<string>
  /** The promises that nothing has tried. */
  readonly untried: () => ReadonlyArray<PromiseName>
}

const mostShown = 50

/** `onViolation` is told at once. */
export const makeVerdict = (onViolation: (line: string) => void): Verdict => {
  const counts = new Map<PromiseName, number>()
  const found = new Map<PromiseName, Array<string>>()
  const names = Object.keys(promises) as ReadonlyArray<PromiseName>
  const violations = () => names.flatMap((name) => (found.get(name) ?? []).map((what) => `${name}: ${what}`))
  return {
    tried: (promise, count = 1) => void counts.set(promise, (counts.get(promise) ?? 0) + count),
    violated: (promise, what) => {
      found.set(promise, [...(found.get(promise) ?? []), what])
      onViolation(`${promise}: ${what}`)
    },
    violations,
    untried: () => names.filter((name) => !counts.has(name)),
    table: () => {
      const rows = names.map((name) => [
        name,
        promises[name],
        String(counts.get(name) ?? 0),
        String(found.get(name)?.length ?? 0)
      ])
      const all = [["", "promise", "tried", "violated"], ...rows]
      const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
      const lines = all.map((row) =>
        row.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  ")
      )
      const listed = violations()
      const more = listed.length > mostShown ? [`… and ${listed.length - mostShown} more`] : []
      return [...lines, ...(listed.length > 0 ? ["", ...listed.slice(0, mostShown), ...more] : [])].join("\n")
    }
  }
}
