/** Steps with steps inside, from their description alone. */
import { holds, render, renderAll } from "./naiveExpressions.js"
import { type Any, type Env, Failed, type NaiveType } from "./naiveStep.js"

const branchesOf = (config: Any): ReadonlyArray<Any> => [config.else ?? {}, ...config.branches]

export const gate: NaiveType = {
  complete: [
    {
      name: "route",
      type: "gate",
      config: {
        branches: [
          { name: "one", when: { path: "input.a", op: "eq", value: 1 }, steps: [{ name: "in", type: "action" }] }
        ],
        else: { skip: ["each"] }
      }
    }
  ],
  group: {
    isLoop: false,
    listsOf: (config) => branchesOf(config).flatMap(({ steps }) => (steps === undefined ? [] : [steps])),
    skips: (config) => branchesOf(config).flatMap(({ skip = [] }) => skip),
    members: ["output", "output.branch"]
  },
  weight: 5,
  random: (of, scope, next) => {
    const inner = { ...scope, depth: scope.depth + 1 }
    if (next !== undefined && of.chance(30))
      return { type: "gate", config: { branches: [{ name: "b0", when: of.condition(scope), skip: [next] }] } }
    const branches = Array.from({ length: 1 + of.random(2) }, (_, at) => ({
      name: `b${at}`,
      when: of.condition(scope),
      steps: of.list(inner, 2)
    }))
    return { type: "gate", config: { branches, ...(of.chance(50) ? { else: { steps: of.list(inner, 2) } } : {}) } }
  },
  changes: [],
  run: async (flow, { config, env, scope, skipped }) => {
    const taken =
      config.branches.find(({ when }: Any) => holds(when, scope)) ?? (config.else && { name: "else", ...config.else })
    for (const name of taken?.skip ?? []) skipped.add(name)
    for (const branch of [...config.branches, config.else ?? {}])
      if (branch.steps !== taken?.steps) for (const step of branch.steps ?? []) flow.skip(step, env)
    await flow.runList(taken?.steps ?? [], env)
    return { branch: taken?.name ?? null }
  }
}

export const loop: NaiveType = {
  complete: [
    {
      name: "each",
      type: "loop",
      config: {
        over: "{{input.list}}",
        as: "row",
        concurrency: 2,
        maxIterations: 10,
        continueOnError: true,
        result: "{{row}}",
        steps: [{ name: "inner", type: "action" }]
      }
    }
  ],
  group: {
    isLoop: true,
    listsOf: ({ steps }) => [steps],
    skips: () => [],
    members: ["output", "output.results", "output.results[0]", "output.failed"]
  },
  weight: 5,
  random: (of, scope) => {
    const variable = of.pick("item", `row${scope.depth}`)
    const steps = of.list({ ...scope, depth: scope.depth + 1, variables: [...scope.variables, variable] }, 3)
    const result = { of: `{{steps.${String(steps[0]?.["name"])}.output}}`, at: "{{index}}" }
    return {
      type: "loop",
      config: {
        over: of.chance(80) ? "{{input.list}}" : `{{${of.path(scope)}}}`,
        ...(variable === "item" ? {} : { as: variable }),
        steps,
        concurrency: 1 + of.random(3),
        ...(of.chance(60) ? { continueOnError: true } : {}),
        ...(of.chance(30) ? { result } : {})
      }
    }
  },
  changes: [],
  run: async (flow, { config, env, path, scope }) => {
    const items = render(config.over, scope)
    if (!Array.isArray(items)) throw new Failed(new Set([path]), "not a list")
    const known = flow.places
    const before = new Set(flow.calls.keys())
    const paths = new Set<string>()
    const causes: Array<ReadonlySet<string>> = []
    const results: Array<Any> = []
    let failed = 0
    for (const [index, item] of items.entries()) {
      const inside: Env = {
        variables: { ...env.variables, [config.as ?? "item"]: item, index },
        steps: { ...env.steps },
        prefix: `${path}[${index}].`,
        after: env.after,
        before: new Set([...env.before, ...[...flow.calls.keys()].filter((key) => !before.has(key))])
      }
      try {
        await flow.runList(config.steps, inside)
        results.push(
          config.result === undefined
            ? (inside.steps[config.steps.at(-1).name]?.output ?? null)
            : renderAll(config.result, flow.scopeOf(inside))
        )
      } catch (cause) {
        if (!(cause instanceof Failed)) throw cause
        results.push(null)
        failed++
        flow.hasFailures = true
        for (const one of cause.paths) paths.add(one)
        causes.push(...cause.causes)
      }
    }
    if (failed === 0 || config.continueOnError === true) return { results, failed }
    flow.doubt(known)
    throw flow.halted(new Failed(paths, "an iteration failed"), causes, (one) => one.startsWith(`${path}[`))
  }
}
