/** What the steps of a flow wait for, from the description of flows alone. Nothing here is shared with the service. */
import { expression, isPlain } from "./naiveExpressions.js"
import type { Any } from "./naiveStep.js"
import { groupOf } from "./naiveSteps.js"

/** The lists of steps inside of a step. */
export const listsOf = (step: Any): ReadonlyArray<Any> => groupOf(step)?.listsOf(step.config) ?? []

/** The names of a step and of those inside of it. */
export const namesIn = (step: Any): ReadonlyArray<string> => [step.name, ...listsOf(step).flat().flatMap(namesIn)]

/** The names of the steps that a step, or one inside of it, reads or names. */
const readBy = (step: Any): ReadonlySet<string> => {
  const read = new Set<string>()
  const visit = (value: Any, member = ""): void => {
    if (typeof value === "string") {
      const paths =
        member === "path" || member === "from"
          ? [value]
          : [...value.matchAll(expression)].map(([, source]) => source ?? "")
      for (const path of paths) {
        const [root, name] = path.split(".")
        if (root === "steps" && name !== undefined) read.add(name)
      }
    } else if (isPlain(value) && (value.fn === "CONCAT" || value.fn === "COALESCE")) {
      for (const path of value.fn === "CONCAT" ? value.args.slice(1) : value.args) visit(path, "path")
    } else if (typeof value === "object" && value !== null)
      for (const [name, child] of Object.entries(value)) visit(child, name)
  }
  visit(step)
  const nameds = (one: Any): void => {
    for (const name of one.dependsOn ?? []) read.add(name)
    for (const inner of listsOf(one).flat()) nameds(inner)
  }
  nameds(step)
  return read
}

/** What each step of a list waits for, by name. */
export const waitsOf = (steps: ReadonlyArray<Any>): ReadonlyMap<string, ReadonlySet<string>> => {
  const waits = new Map<string, Set<string>>(steps.map(({ name }) => [name, new Set<string>()]))
  for (const step of steps) {
    const read = readBy(step)
    for (const other of steps)
      if (other !== step && namesIn(other).some((name) => read.has(name))) waits.get(step.name)?.add(other.name)
    for (const name of groupOf(step)?.skips(step.config) ?? []) waits.get(name)?.add(step.name)
  }
  const named = new Map([...waits].map(([name, own]) => [name, new Set(own)]))
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(named.get(from) ?? [])].some((one) => one === to || (!seen.has(one) && reaches(one, to, seen.add(one))))
  steps.forEach((step, at) => {
    if (step.dependsOn !== undefined) return
    const before = steps.slice(0, at)
    // What an earlier step reads or names comes before that step, and so before those between.
    const user = before.findIndex((one) => reaches(one.name, step.name))
    for (const one of user === -1 ? before : before.slice(0, user)) waits.get(step.name)?.add(one.name)
  })
  return waits
}
