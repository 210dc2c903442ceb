/** What of a flow runs anew when it is run again from a step, from the description of re-runs alone. */
import { listsOf, waitsOf } from "./naiveOrder.js"
import type { Any } from "./naiveStep.js"
import { groupOf } from "./naiveSteps.js"

/** Whether the paths of the steps inside have the step's own, with an iteration. */
const isLoop = (step: Any): boolean => groupOf(step)?.isLoop === true

/** A list of steps in which a step stands, with what comes before the names in their paths. */
interface Level {
  readonly list: ReadonlyArray<Any>
  readonly step: Any
  readonly prefix: string
}

/** The lists around the step at a path, from the inside; `undefined` if the flow has no such step. */
const levelsOf = (list: ReadonlyArray<Any>, path: string, prefix = ""): ReadonlyArray<Level> | undefined => {
  for (const step of list) {
    if (path === prefix + step.name) return [{ list, step, prefix }]
    const iteration = path.slice(prefix.length).match(/^(\w+\[\d+\]\.)/)?.[1]
    const isInside = isLoop(step) ? iteration?.startsWith(`${step.name}[`) === true : true
    for (const inner of isInside ? listsOf(step) : []) {
      const found = levelsOf(inner, path, isLoop(step) ? prefix + iteration : prefix)
      if (found !== undefined) return [...found, { list, step, prefix }]
    }
  }
  return undefined
}

/** The steps of a list that wait for one of it, however indirectly. */
const dependantsOf = (list: ReadonlyArray<Any>, step: Any): ReadonlyArray<Any> => {
  const waits = waitsOf(list)
  const reached = new Set([step.name])
  for (const _ of list)
    for (const [name, before] of waits) if ([...before].some((one) => reached.has(one))) reached.add(name)
  return list.filter((one) => one !== step && reached.has(one.name))
}

/** Says of paths whether their steps run anew when a flow is run again from a step: it, and what depends on it. */
export const anewFrom = ({ steps }: Any, from: string): ((path: string) => boolean) => {
  const levels = levelsOf(steps, from) ?? []
  const prefixes = levels.flatMap(({ list, prefix, step }, at) => {
    const anew = [...(at === 0 ? [step] : []), ...dependantsOf(list, step)]
    const namesOf = (one: Any): ReadonlyArray<string> =>
      isLoop(one) ? [one.name] : [one.name, ...listsOf(one).flat().flatMap(namesOf)]
    return anew.flatMap(namesOf).map((name) => prefix + name)
  })
  return (path) => prefixes.some((one) => path === one || path.startsWith(`${one}[`))
}

/** The paths of all steps, with one iteration of each loop that `pick` chooses. */
export const pathsOf = (list: ReadonlyArray<Any>, pick: () => number, prefix = ""): ReadonlyArray<string> =>
  list.flatMap((step) => {
    const inside = isLoop(step) ? `${prefix}${step.name}[${pick()}].` : prefix
    return [prefix + step.name, ...listsOf(step).flatMap((inner) => pathsOf(inner, pick, inside))]
  })

/** The steps of a flow by name, without the steps inside of them. */
export const ownTexts = (list: ReadonlyArray<Any>): ReadonlyMap<string, string> =>
  new Map(
    list.flatMap((step) => {
      const inner = listsOf(step)
      const text = JSON.stringify(step, (_, value) => (inner.includes(value) ? undefined : value))
      return [[step.name, text] as const, ...inner.flatMap((one) => [...ownTexts(one)])]
    })
  )
