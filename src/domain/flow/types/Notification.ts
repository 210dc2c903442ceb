/** A step that sends a notification. */
import { Schema } from "effect"
import { notificationChannels, severities } from "../../organisation/Notification.js"
import { defineStep } from "../DefineStep.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  channel: Schema.Literal(...notificationChannels),
  to: optional(Schema.String.pipe(Schema.maxLength(2_048))).annotations({
    description:
      "An e-mail address, the address of a chat or webhook, or in the application a user's id; else the targets that the configuration names."
  }),
  subject: optional(Schema.String.pipe(Schema.maxLength(1_000))),
  body: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000)),
  severity: optional(Schema.Literal(...severities))
})

export const notification = defineStep({
  type: "notification",
  description: "Sends a notification in the application, by e-mail, to a team's chat or to a webhook.",
  guide: {
    config: "`{channel, to, subject, body, severity}`",
    output: "what was sent",
    limits: [
      {
        of: "notification",
        retry: "the step, after transient errors",
        timeoutMs: "each attempt; its call in flight is given up"
      }
    ]
  },
  traced: { prefix: "notify.", isWaiting: false },
  node: "notification",
  config: Config,
  meaning: (_, config) => ({
    label: `notify by ${config.channel}`,
    calls: 1,
    expressions: (["to", "subject", "body"] as const).flatMap((name) => {
      const value = config[name]
      return value === undefined ? [] : [{ path: `config.${name}`, value }]
    }),
    script: (writer) => ({ method: "notify", args: [writer.literal(config)] })
  })
})
