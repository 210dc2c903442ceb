/** Another version of a random flow: steps of it differ, are of another type, stand elsewhere in their list, or were added. */
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { listsOf } from "./naiveOrder.js"
import type { Any } from "./naiveStep.js"
import { groupOf, naiveTypes } from "./naiveSteps.js"

const listsIn = (list: Array<Any>): ReadonlyArray<Array<Any>> => [
  list,
  ...list.flatMap((step) => listsOf(step).flatMap(listsIn))
]

/** Bodies of steps that have none inside of them. */
const bodies = [...naiveTypes.values()].flatMap(({ changes }) => changes)

export const changedFlow = <Spec extends { readonly steps: ReadonlyArray<JsonObject> }>(
  spec: Spec,
  random: (below: number) => number,
  nth: number
): Spec => {
  const changed: Any = structuredClone(spec)
  const lists = listsIn(changed.steps)
  for (let count = 1 + random(2); count > 0; count--) {
    const list = lists[random(lists.length)] ?? []
    const at = random(list.length)
    const step = list[at]
    const body = bodies[random(bodies.length)] ?? {}
    switch (random(6)) {
      case 0:
        // Before another: that one may follow it by default.
        list.splice(at, 0, { name: `a${nth}x${count}`, ...body })
        break
      case 1:
        step.description = `changed in ${nth}`
        break
      case 2:
        if (step.dependsOn === undefined) step.dependsOn = []
        else delete step.dependsOn
        break
      case 3:
        // In another order; what a step reads still comes before it.
        for (const one of list) one.dependsOn ??= []
        list.reverse()
        break
      default: {
        if (groupOf(step) !== undefined) break
        const { dependsOn, name, onError, when } = step as { readonly [member: string]: Json }
        list[at] = {
          name,
          ...body,
          ...(when === undefined ? {} : { when }),
          ...(dependsOn === undefined ? {} : { dependsOn }),
          ...(onError === undefined ? {} : { onError })
        }
      }
    }
  }
  return changed
}
