/** Another version of a random flow: steps of it differ, are of another type, stand elsewhere in their list, or were added. */
import type { Json, JsonObject } from "../../src/domain/Json.js"

// oxlint-disable-next-line typescript/no-explicit-any -- Documents of any kind.
type Any = any

const listsOf = ({ config = {} }: Any): ReadonlyArray<Array<Any>> =>
  [config.steps, config.else?.steps, ...(config.branches ?? []).map((branch: Any) => branch.steps)].filter(
    (list) => list !== undefined
  )
const listsIn = (list: Array<Any>): ReadonlyArray<Array<Any>> => [
  list,
  ...list.flatMap((step) => listsOf(step).flatMap(listsIn))
]

const code = 'export default async (input, ctx) => ({ v: "changed", input, n: ctx.input.n })'
const codeWithCall = `export default async (input) => {
  const answer = await svc.connector.crm.send({ of: "CHANGED", input })
  return { v: "changed", answer, list: [answer] }
}`

/** Bodies of steps that have none inside of them. */
const bodies: ReadonlyArray<JsonObject> = [
  { type: "action", connector: "crm", action: "find", input: { i1: "changed" } },
  { type: "action", connector: "crm", action: "send", input: { i1: "changed" }, retry: { maxAttempts: 2 } },
  { type: "action", input: { v: "changed", list: [{ v: 1 }] } },
  { type: "action", config: { code } },
  { type: "action", config: { code: codeWithCall } },
  { type: "action", config: { prompt: "changed", model: "m" } },
  { type: "wait", config: { durationMs: 50 } },
  { type: "wait", config: { condition: { path: "state.ORG.k", op: "lte", value: 2 }, pollSeconds: 5 } },
  { type: "notification", config: { channel: "in_app", body: "changed" } },
  { type: "approval", config: { approvers: ["admin"], message: "changed" } }
]

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
        if (step.type === "gate" || step.type === "loop") break
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
