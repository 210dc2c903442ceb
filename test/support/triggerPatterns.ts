/** Triggers whose routes have patterns, and patterns that cost most. */
import { patternLimits } from "../../src/domain/Limits.js"
import { svc } from "./calls.js"

/** Creates a trigger of a workflow with a route for each pattern. */
export const createTrigger = (flow: string, patterns: ReadonlyArray<string>, more: object = {}) =>
  svc.ask("POST", "/api/v1/triggers", {
    key: svc.first.key,
    body: {
      type: "webhook",
      name: "Filtered",
      webhook: { auth: "public" },
      routes: patterns.map((value) => ({ workflowId: flow, filter: { path: "text", op: "matches", value } })),
      ...more
    }
  })

/** So many patterns that differ. */
export const different = (count: number, patternOf: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => patternOf(n))

const manyOf = (patternOf: (n: number) => string) => different(patternLimits.trigger, patternOf)

/** Patterns that expand to very much, which is refused. */
export const costlyPatterns = manyOf((n) => `(?i)${"[\\pL]{0,1000}".repeat(34)}${n}`)
/** As `costlyPatterns`, in a part that is repeated zero times. */
export const hiddenPatterns = manyOf((n) => `(?:${"[^\\pL]{0,1000}".repeat(31)}){0}${n}`)
/** Patterns that are costly to compile. */
export const slowPatterns = manyOf((n) => `(?i)^${"[\\p{L}]".repeat(60)}?x{0}${n}$`)
