/** A step that waits until a person approves or rejects. */
import { Duration, Schema } from "effect"
import { guest } from "../../Limits.js"
import { defineStep } from "../DefineStep.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  approvers: Schema.Array(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(320))).pipe(
    Schema.minItems(1),
    Schema.maxItems(20)
  ),
  message: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4_000)),
  expiresInMs: optional(Schema.Int.pipe(Schema.between(1_000, Duration.toMillis(guest.timer)))),
  onExpire: optional(Schema.Literal("reject", "approve"))
})

export const approval = defineStep({
  type: "approval",
  description: "Waits until one of the approvers decides.",
  node: "approval",
  config: Config,
  meaning: (step, config) => ({
    label: `approval by ${config.approvers.join(", ")}`.slice(0, 80),
    isLong: true,
    calls: 1,
    expressions: [{ path: "config.message", value: config.message }],
    script: (writer) => ({ method: "approval", args: [writer.literal(config)] })
  })
})
