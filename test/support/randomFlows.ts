/** Random flows without mistakes, from a number: every type of step, nested, with expressions over what they can read. */
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { naiveTypes } from "./naiveSteps.js"

/** Numbers from a seed, so that a failure can be repeated. */
export const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

/** A random flow, and the input of a run of it. */
export interface RandomFlow {
  readonly spec: {
    readonly steps: ReadonlyArray<JsonObject>
    readonly response?: JsonObject
    readonly trigger?: JsonObject
  }
  readonly input: JsonObject
}

/** What can be read at a place: steps that come before it, and the variables of loops around it. */
export interface Scope {
  readonly steps: ReadonlyArray<string>
  readonly variables: ReadonlyArray<string>
  readonly depth: number
}

/** What the bodies of random steps are made of. */
export class Generator {
  private names = 0
  readonly random: (below: number) => number
  /** What can be read of gates and loops: their error has the message of whichever step fails first. */
  private readonly groups = new Map<string, readonly [string, ...Array<string>]>()

  constructor(seed: number) {
    this.random = numbers(seed * 7 + 1)
  }

  pick<A>(...of: readonly [A, ...Array<A>]): A {
    return of[this.random(of.length)] ?? of[0]
  }
  chance(percent: number): boolean {
    return this.random(100) < percent
  }

  path({ steps, variables }: Scope): string {
    const step = steps[this.random(steps.length)]
    if (step !== undefined && this.chance(55)) {
      const simple = ["output", "output.v", "output.list", "output.v.none", "error.message"] as const
      const member = this.pick(...(this.groups.get(step) ?? simple))
      return `steps.${step}.${member}`
    }
    const variable = variables[this.random(variables.length)]
    if (variable !== undefined && this.chance(60)) return this.pick(variable, `${variable}.v`, "index")
    return this.pick(
      "input.n",
      "input.t",
      "input.list",
      "input.o.x",
      "input.none",
      "trigger.n",
      "input.list[1]",
      "input"
    )
  }

  template(scope: Scope): string {
    switch (this.random(4)) {
      case 0:
        return `a {{${this.path(scope)}}} and {{ ${this.path(scope)} }}`
      case 1:
        return this.pick("text", '{{"{{"}} n }}', "", "{ }")
      default:
        return `{{${this.path(scope)}}}`
    }
  }

  private value(scope: Scope): Json {
    switch (this.random(5)) {
      case 0:
        return this.pick<Json>(1, true, null, 2.5)
      case 1:
        return [this.template(scope), { in: this.template(scope) }]
      default:
        return this.template(scope)
    }
  }

  condition(scope: Scope, depth = 2): JsonObject {
    const kind = this.random(depth === 0 ? 4 : 7)
    if (kind === 4) return { all: [this.condition(scope, depth - 1), this.condition(scope, depth - 1)] }
    if (kind === 5) return { any: [this.condition(scope, depth - 1), this.condition(scope, depth - 1)] }
    if (kind === 6) return { not: this.condition(scope, depth - 1) }
    const step = scope.steps[this.random(scope.steps.length)]
    const path =
      step !== undefined && this.chance(40) ? `steps.${step}.output.v` : this.pick("input.n", "input.none", "input.o.x")
    const op = this.pick("eq", "neq", "gt", "lte", "in", "exists", "matches")
    if (op === "matches") {
      const text = step !== undefined && this.chance(60) ? `steps.${step}.output.text` : this.pick("input.t", "input.n")
      return { path: text, op, value: this.pick("^t[0-9]+$", "x", "[13579]$", "^(te|t1)", "(a|b)*c", "^$", "t.{2,4}$") }
    }
    if (op !== "exists" && op !== "in" && this.chance(20))
      return { path, op, value: this.pick("{{input.n}}", "{{ input.o.x }}", "{{input.none}}") }
    return { path, op, value: op === "exists" ? this.chance(70) : op === "in" ? [1, 2, 3, 4] : this.random(8) }
  }

  /** Targets by the length of their paths, which is the order of the members that they set. */
  mapping(scope: Scope): JsonObject {
    const mapping: Record<string, Json> = {}
    for (const target of ["i1", "m", "deep.x", "deep.y"]) {
      if (this.chance(50)) continue
      mapping[target] = this.chance(60)
        ? this.value(scope)
        : {
            ...(this.chance(50) ? this.computed(scope) : { from: this.path(scope) }),
            ...(this.chance(50) ? { default: this.value(scope) } : {})
          }
    }
    return mapping
  }

  /** A path with transforms that can be applied to whatever it gives. */
  private computed(scope: Scope): JsonObject {
    const other = () => this.path(scope)
    if (this.chance(40)) {
      const numbers = [
        { fn: "ADD", args: [this.random(9)] },
        { fn: "MULTIPLY", args: [3] },
        { fn: "ROUND", args: [0] }
      ]
      return {
        from: this.pick("input.n", "input.o.x", "input.none"),
        transforms: numbers.filter(() => this.chance(60))
      }
    }
    const first = this.chance(70)
      ? { fn: "CONCAT", args: [this.pick("", "-", " "), other()] }
      : { fn: "COALESCE", args: [other(), other()] }
    const rest = ["TRIM", "UPPER", "LOWER"].filter(() => this.chance(40)).map((fn) => ({ fn }))
    return { from: other(), transforms: first.fn === "CONCAT" ? [first, ...rest] : [first] }
  }

  arguments(scope: Scope): JsonObject {
    return {
      ...(this.chance(60) ? { input: { i1: this.value(scope), i2: this.value(scope) } } : {}),
      ...(this.chance(40) ? { mapping: this.mapping(scope) } : {})
    }
  }

  retry(percent = 40): JsonObject {
    if (!this.chance(percent)) return {}
    return { retry: { maxAttempts: 1 + this.random(3), backoff: "fixed", initialMs: 1 + this.random(500), jitter: 0 } }
  }

  /** The name and body of a step, of a type that may stand there. */
  private body(name: string, scope: Scope, next: string | undefined): JsonObject {
    const types = [...naiveTypes.values()].filter(({ group }) => group === undefined || scope.depth < 3)
    let at = this.random(types.reduce((sum, { weight }) => sum + weight, 0))
    const type = types.find(({ weight }) => (at -= weight) < 0)
    if (type === undefined) throw new Error("there are no types")
    if (type.group !== undefined) this.groups.set(name, type.group.members)
    return { name, ...type.random(this, scope, next) }
  }

  /** Steps of which each may read those before it. */
  list(scope: Scope, most: number): ReadonlyArray<JsonObject> {
    const own: Array<string> = []
    const steps: Array<JsonObject> = []
    const count = 1 + this.random(most)
    for (let at = 0; at < count; at++) {
      const name = `s${this.names++}`
      const reads = { ...scope, steps: [...scope.steps, ...own] }
      const next = at + 1 < count ? `s${this.names}` : undefined
      const body = this.body(name, reads, next)
      own.push(name)
      const before = own.filter((one) => one !== name)
      steps.push({
        ...body,
        ...(this.chance(15) ? { when: this.condition(reads) } : {}),
        ...(this.chance(20) ? { dependsOn: before.filter(() => this.chance(30)) } : {}),
        ...(this.chance(this.groups.has(name) ? 45 : 40) ? { onError: "continue" } : {})
      })
    }
    return steps
  }

  flow(): RandomFlow {
    const scope: Scope = { steps: [], variables: [], depth: 0 }
    const steps = [...this.list(scope, 6), { name: "last", type: "action", input: { end: 1 } }]
    const names = steps.map(({ name }) => String(name))
    const reads = { ...scope, steps: names }
    const answer = {
      body: this.chance(50) ? this.mapping(reads) : this.template(reads),
      ...(this.chance(30) ? { status: 201 } : {})
    }
    return {
      spec: { steps, ...(this.chance(60) ? { response: { success: answer } } : {}) },
      input: {
        n: this.random(8),
        t: "text",
        list: Array.from({ length: this.random(4) }, (_, v) => ({ v })),
        o: { x: this.random(8) }
      }
    }
  }
}

/** The flow of a number. */
export const randomFlow = (seed: number): RandomFlow => new Generator(seed).flow()
