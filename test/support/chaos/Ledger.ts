/** The books of a trial outside the service, which counts by number what it sent and received, and those of the service beside. */
import type { PromiseName } from "./Verdict.js"
import type { Trial } from "./Trial.js"

interface Entry {
  readonly what: string
  /** As the trial, the provider or the receiver counted. */
  readonly outside: number
  /** As the service's own records say. */
  readonly service: number
}

export interface Ledger {
  /** Compares two counts, of which a difference violates a promise. */
  readonly compare: (promise: PromiseName, entry: Entry) => void
  /** One line for each entry. */
  readonly table: () => string
}

export const makeLedger = ({ violated }: Trial): Ledger => {
  const entries: Array<Entry> = []
  return {
    compare: (promise, entry) => {
      entries.push(entry)
      if (entry.outside !== entry.service)
        violated(promise, `${entry.what}: ${entry.outside} outside, ${entry.service} in the service's records`)
    },
    table: () => {
      const rows = [
        ["counted", "outside", "service"],
        ...entries.map(({ outside, service, what }) => [what, String(outside), String(service)])
      ]
      const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
      return rows
        .map((row) => row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0))))
        .map((row) => row.join("  "))
        .join("\n")
    }
  }
}
