/** A step that runs its steps once for each item of a list. */
import { Schema } from "effect"
import { Json } from "../../Json.js"
import { guest } from "../../Limits.js"
import { defineStep } from "../DefineStep.js"
import { flowLimits, FlowStep, stepNamePattern } from "../Spec.js"
import type { Mistakes } from "../../expression/Checks.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  over: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000)),
  as: optional(Schema.String.pipe(Schema.maxLength(64))),
  steps: Schema.Array(FlowStep).pipe(Schema.minItems(1), Schema.maxItems(flowLimits.steps)),
  concurrency: optional(Schema.Int.pipe(Schema.between(1, 20))),
  maxIterations: optional(Schema.Int.pipe(Schema.between(1, guest.calls))),
  continueOnError: optional(Schema.Boolean),
  result: optional(Json)
})

/** Roots of expressions that a loop's variable cannot be named after. */
const taken = new Set(["input", "trigger", "steps", "index", "error", "state", "poll"])

export const loop = defineStep({
  type: "loop",
  description: "Runs its steps once for each item of a list.",
  guide: {
    config: "`{over, as, steps, result, concurrency, maxIterations, continueOnError}`",
    output: "`{results, failed}`",
    limits: [{ of: "loop", timeoutMs: "the whole; what has begun inside is halted" }]
  },
  node: "loop",
  config: Config,
  meaning: (step, config) => {
    const variable = config.as ?? "item"
    const mistakes: Mistakes =
      stepNamePattern.test(variable) && !taken.has(variable)
        ? []
        : [{ path: "config.as", code: "INVALID_VALUE", message: `must be a name other than ${[...taken].join(", ")}` }]
    const { steps, ...settings } = config
    return {
      label: `for each ${variable} of ${config.over}`.slice(0, 80),
      ignoresRetry: true,
      groups: [{ path: "config.steps", steps, variables: [variable, "index"] }],
      expressions: [
        { path: "config.over", value: config.over },
        ...(config.result === undefined ? [] : [{ path: "config.result", value: config.result, group: 0 }])
      ],
      mistakes,
      script: (writer) => ({ method: "loop", args: [writer.literal({ ...settings, as: variable }), writer.group(0)] })
    }
  }
})
