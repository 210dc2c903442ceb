/** A step that sends a notification. */
import { Schema } from "effect"
import { defineStep } from "../DefineStep.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  channel: Schema.Literal("in_app", "email", "team_chat", "webhook"),
  to: optional(Schema.String.pipe(Schema.maxLength(2_048))),
  subject: optional(Schema.String.pipe(Schema.maxLength(200))),
  body: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000)),
  severity: optional(Schema.Literal("info", "success", "warning", "error", "critical"))
})

export const notification = defineStep({
  type: "notification",
  description: "Sends an in-app, e-mail, team-chat or webhook notification.",
  node: "notification",
  config: Config,
  meaning: (step, config) => ({
    label: `notify by ${config.channel}`,
    calls: 1,
    expressions: (["to", "subject", "body"] as const).map((name) => ({
      path: `config.${name}`,
      value: config[name] ?? ""
    })),
    script: (writer) => ({ method: "notify", args: [writer.literal(config)] })
  })
})
