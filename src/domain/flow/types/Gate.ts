/** A step that runs the steps of the first branch whose condition holds. */
import { Schema } from "effect"
import { Condition } from "../../expression/Condition.js"
import { defineStep } from "../DefineStep.js"
import { flowLimits, FlowStep } from "../Spec.js"
import type { Mistakes } from "../../expression/Checks.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const Steps = Schema.Array(FlowStep).pipe(Schema.maxItems(flowLimits.steps))
const Names = Schema.Array(Schema.String).pipe(Schema.maxItems(flowLimits.steps))

const Branch = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)),
  when: Condition,
  steps: optional(Steps),
  skip: optional(Names)
})
const Else = Schema.Struct({ steps: optional(Steps), skip: optional(Names) })

const Config = Schema.Struct({
  branches: Schema.Array(Branch).pipe(Schema.minItems(1), Schema.maxItems(flowLimits.branches)),
  else: optional(Else)
})

/** The name of the branch that is taken if no condition holds. */
const otherwise = "else"

export const gate = defineStep({
  type: "gate",
  description: "Runs the steps of the first branch whose condition holds, else those of `else`.",
  guide: {
    config: "`{branches: [{name, when, steps or skip}], else}`: the first true branch",
    output: "`{branch}`",
    limits: [{ of: "gate", timeoutMs: "the whole; what has begun inside is halted" }]
  },
  node: "gate",
  config: Config,
  meaning: (step, config) => {
    const branches = [
      ...config.branches.map((branch, at) => ({ ...branch, path: `config.branches[${at}]` })),
      ...(config.else === undefined ? [] : [{ name: otherwise, when: null, path: "config.else", ...config.else }])
    ]
    const names = branches.map(({ name }) => name)
    const mistakes: Mistakes = branches.flatMap(({ name, path, skip, steps }, at) => [
      ...(names.indexOf(name) === at
        ? []
        : [{ path: `${path}.name`, code: "DUPLICATE", message: `"${name}" is used already` }]),
      ...(steps === undefined || skip === undefined
        ? []
        : [{ path: `${path}.skip`, code: "NOT_ALLOWED", message: "a branch has steps or skips steps" }])
    ])
    return {
      ignoresRetry: true,
      label: "gate",
      groups: branches.map(({ name, path, steps = [] }) => ({
        path: `${path}.steps`,
        steps,
        label: name,
        variables: []
      })),
      expressions: branches.flatMap(({ path, when }) =>
        when === null ? [] : [{ path: `${path}.when`, condition: when }]
      ),
      skips: branches.flatMap(({ path, skip = [] }) => skip.map((name, at) => ({ path: `${path}.skip[${at}]`, name }))),
      mistakes,
      script: (writer) => ({
        method: "gate",
        args: [
          `[${branches
            .map(({ name, skip, when }, at) =>
              [
                `{ name: ${writer.literal(name)}`,
                ...(when === null ? [] : [`when: ${writer.literal(when)}`]),
                ...(skip === undefined ? [] : [`skip: ${writer.literal(skip)}`]),
                `steps: ${writer.group(at)} }`
              ].join(", ")
            )
            .join(", ")}]`
        ]
      })
    }
  }
})
