/** Which flows have a cycle, and in which order their steps start, agrees with another implementation of graphs. */
import { assert, describe, it } from "@effect/vitest"
import { alg, Graph } from "@dagrejs/graphlib"
import { Either } from "effect"
import { checkFlow } from "../../../src/domain/flow/Checks.js"
import { startOrder } from "../../../src/domain/flow/Dependencies.js"

const graphs = 10_000

/** Numbers from a seed, so that a failure can be repeated. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

describe("The order of a flow's steps", () => {
  it(`is that of ${graphs} random graphs, or a cycle where they have one`, () => {
    let cyclic = 0
    for (let seed = 0; seed < graphs; seed++) {
      const random = numbers(seed)
      const count = 1 + random(9)
      const graph = new Graph()
      const steps = Array.from({ length: count }, (_, at) => {
        const name = `s${at}`
        graph.setNode(name)
        const dependsOn = Array.from({ length: random(3) }, () => `s${random(count)}`).filter((one) => one !== name)
        for (const one of dependsOn) graph.setEdge(one, name)
        return { name, type: "action", dependsOn: [...new Set(dependsOn)] }
      })
      const isAcyclic = alg.isAcyclic(graph)
      const checked = checkFlow({ steps }, {})
      if (Either.isRight(checked) !== isAcyclic) assert.fail(`graph ${seed}: ${JSON.stringify(steps)}`)
      if (Either.isLeft(checked)) {
        cyclic++
        if (checked.left.some(({ code }) => code !== "CYCLE_DETECTED")) assert.fail(`graph ${seed}: another mistake`)
        continue
      }
      const { dependencies, flow } = checked.right
      const order = startOrder(flow.root, dependencies).map(({ step }) => step.name)
      const isOrdered = graph.edges().every(({ v, w }) => order.indexOf(v) < order.indexOf(w))
      if (order.length !== count || !isOrdered) assert.fail(`graph ${seed}: ${order.join(" ")}`)
    }
    assert.isAbove(cyclic, graphs / 10)
    assert.isBelow(cyclic, graphs)
  })

  it("makes a step inside of another wait outside, and lets independent ones start at once", () => {
    const steps = [
      { name: "a", type: "action" },
      { name: "b", type: "action", dependsOn: [] },
      {
        name: "gate",
        type: "gate",
        dependsOn: [],
        config: {
          branches: [
            {
              name: "one",
              when: { path: "input.x", op: "exists" },
              steps: [{ name: "inner", type: "action", input: { x: "{{steps.b.output}}" } }]
            }
          ]
        }
      },
      { name: "last", type: "action" }
    ]
    const checked = Either.getOrThrow(checkFlow({ steps }, {}))
    const waits = new Map(
      [...checked.dependencies].map(([node, on]) => [node.step.name, on.map((one) => one.step.name)])
    )
    assert.deepStrictEqual(Object.fromEntries(waits), { a: [], b: [], gate: ["b"], inner: [], last: ["gate"] })
  })
})
