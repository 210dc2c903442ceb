/** Which flows have a cycle, and in which order their steps start, agrees with another implementation of graphs. */
import { assert, describe, it } from "@effect/vitest"
import { alg, Graph } from "@dagrejs/graphlib"
import { Either } from "effect"
import { checkFlow } from "../../../src/domain/flow/Checks.js"
import { startOrder } from "../../../src/domain/flow/Dependencies.js"
import { orderWarnings, withEarlierOrder } from "../../../src/domain/flow/OrderWarnings.js"
import { type Dependencies, waitsOfFirstGeneration } from "../../../src/domain/flow/Waits.js"
import type { JsonObject } from "../../../src/domain/Json.js"
import { waitsOf } from "../../support/naiveOrder.js"

const graphs = 10_000

/** Numbers from a seed, so that a failure can be repeated. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

/** What each step waits for, directly or not, by name. */
const closureOf = (waits: ReadonlyMap<string, Iterable<string>>) => {
  const reached = (name: string, seen = new Set<string>()): Set<string> => {
    for (const one of waits.get(name) ?? []) if (!seen.has(one)) reached(one, seen.add(one))
    return seen
  }
  return Object.fromEntries([...waits.keys()].map((name) => [name, [...reached(name)].toSorted()]))
}
const namesOf = (dependencies: Dependencies) =>
  new Map([...dependencies].map(([node, on]) => [node.step.name, on.map((one) => one.step.name)]))
const checked = (steps: ReadonlyArray<object>) =>
  Either.getOrThrow(checkFlow({ steps: steps as ReadonlyArray<JsonObject> }, {}))
const waits = (steps: ReadonlyArray<object>) => Object.fromEntries(namesOf(checked(steps).dependencies))

/** A random list: steps read others, name some, or none. */
const randomSteps = (random: (below: number) => number) => {
  const count = 2 + random(7)
  return Array.from({ length: count }, (_, at) => {
    const others = () => Array.from({ length: random(3) }, () => `s${random(count)}`).filter((one) => one !== `s${at}`)
    const read = Object.fromEntries(others().map((one) => [one, `{{steps.${one}.output}}`]))
    return {
      name: `s${at}`,
      type: "action",
      ...(random(3) === 0 ? { input: read } : {}),
      ...(random(4) === 0 ? { dependsOn: [...new Set(others())] } : {})
    }
  })
}

describe("The order of a flow's steps", () => {
  it("holds back a step that reads an earlier one until all before it have ended, such as an approval", () => {
    const ask = { name: "ask", type: "approval", config: { approvers: ["a@b.co"], message: "pay?" } }
    const pay = { name: "pay", type: "action", input: { total: "{{steps.order.output}}" } }
    assert.deepStrictEqual(waits([{ name: "order", type: "action" }, ask, pay]), {
      order: [],
      ask: ["order"],
      pay: ["ask"]
    })
  })

  it("lets a step with dependsOn wait for those, and for what it reads; steps after it wait for it", () => {
    const free = { name: "free", type: "action", dependsOn: [] }
    const both = { name: "both", type: "action", dependsOn: ["a"], input: { x: "{{steps.free.output}}" } }
    assert.deepStrictEqual(waits([{ name: "a", type: "action" }, free, both, { name: "last", type: "action" }]), {
      a: [],
      free: [],
      both: ["a", "free"],
      last: ["both"]
    })
  })

  it("lets what an earlier step reads wait for nothing between them, and warns with the names", () => {
    const steps = [
      { name: "first", type: "action" },
      { name: "reader", type: "action", input: { x: "{{steps.read.output}}" } },
      { name: "between", type: "action" },
      { name: "read", type: "action" }
    ]
    assert.deepStrictEqual(waits(steps), { first: [], reader: ["read"], between: ["reader"], read: ["first"] })
    const [warning, ...others] = orderWarnings(checked(steps), false)
    assert.deepInclude(warning, { path: "spec.steps[3]", code: "RUNS_AHEAD" })
    assert.match(warning?.message ?? "", /"reader".*"between"/)
    assert.isEmpty(others)
  })

  it(`is what the description says, and a cycle only where steps wait for each other: ${graphs} random lists`, () => {
    let ahead = 0
    for (let seed = 0; seed < graphs; seed++) {
      const steps = randomSteps(numbers(seed + 77))
      const found = checkFlow({ steps: steps as ReadonlyArray<JsonObject> }, {})
      const graph = new Graph()
      for (const { dependsOn = [], input, name } of steps)
        for (const one of [...dependsOn, ...Object.keys(input ?? {})]) graph.setEdge(one, name)
      if (Either.isRight(found) !== alg.isAcyclic(graph)) assert.fail(`list ${seed}: ${JSON.stringify(steps)}`)
      if (Either.isLeft(found)) continue
      assert.deepStrictEqual(closureOf(namesOf(found.right.dependencies)), closureOf(waitsOf(steps)), `list ${seed}`)
      if (orderWarnings(found.right, false).length > 0) ahead++
    }
    assert.isAbove(ahead, graphs / 20)
  })

  it(`of the first generation is kept by the dependsOn that are written out, and differs where a warning says so: ${graphs} random lists`, () => {
    let changed = 0
    for (let seed = 0; seed < graphs; seed++) {
      const steps = randomSteps(numbers(seed + 991))
      const found = checkFlow({ steps: steps as ReadonlyArray<JsonObject> }, {})
      if (Either.isLeft(found)) continue
      const earlier = namesOf(waitsOfFirstGeneration(found.right.edges))
      const graph = new Graph()
      for (const [name, on] of earlier) for (const one of on) graph.setEdge(one, name)
      // The first generation refused it.
      if (!alg.isAcyclic(graph)) continue
      const written = withEarlierOrder({ steps: steps as ReadonlyArray<JsonObject> }, found.right)
      const now = Either.getOrThrow(checkFlow(written, {}))
      assert.deepStrictEqual(closureOf(namesOf(now.dependencies)), closureOf(earlier), `list ${seed}`)
      const warned = orderWarnings(found.right, true).filter(({ code }) => code === "ORDER_CHANGED")
      const isChanged =
        JSON.stringify(closureOf(namesOf(found.right.dependencies))) !== JSON.stringify(closureOf(earlier))
      assert.strictEqual(warned.length, isChanged ? 1 : 0, `list ${seed}`)
      if (isChanged) changed++
      else assert.deepStrictEqual(written["steps"], steps)
    }
    assert.isAbove(changed, graphs / 10)
  })

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
      const found = checkFlow({ steps }, {})
      if (Either.isRight(found) !== isAcyclic) assert.fail(`graph ${seed}: ${JSON.stringify(steps)}`)
      if (Either.isLeft(found)) {
        cyclic++
        if (found.left.some(({ code }) => code !== "CYCLE_DETECTED")) assert.fail(`graph ${seed}: another mistake`)
        continue
      }
      const { dependencies, flow } = found.right
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
    assert.deepStrictEqual(waits(steps), { a: [], b: [], gate: ["b"], inner: [], last: ["a", "gate"] })
  })
})
