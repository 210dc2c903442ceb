/**
 * The generation of what writes a workflow's script from steps, and of the library of steps that the script brings along. A
 * script says its own: what was published keeps its order and its library. Decisions: 0078.
 */

/**
 * The generation that saves compile to. 1: a reference of a step replaced “after the step before it”. 2: conditions took blanks
 * and `0x10` for numbers, and rounded integers beyond 2^53.
 */
export const presentGeneration = 3

/** The first generation whose steps have the present order. */
export const orderGeneration = 2

/** What the text of a library begins with. Generation 1 had no mark. */
export const libraryHead = `(host)=>{"use strict";/*generation ${presentGeneration}*/`

const head = /^\/\/svc-library \d{1,7}\n\(host\)=>\{"use strict";(?:\/\*generation (\d{1,4})\*\/)?/

/** The generation of a script; `null`: it has no library of steps, or there is none. */
export const generationOf = (script: string | null): number | null => {
  const found = script === null ? null : head.exec(script)
  return found === null ? null : Number(found[1] ?? 1)
}

/** Whether the steps of a script have the order of the first generation. */
export const hasEarlierOrder = (script: string | null): boolean =>
  (generationOf(script) ?? presentGeneration) < orderGeneration

/** Whether a script is of an earlier generation than the present one. */
export const isOfOlderGeneration = (script: string | null): boolean =>
  (generationOf(script) ?? presentGeneration) < presentGeneration
