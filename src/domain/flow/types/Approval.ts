/** A step that waits until a person approves or rejects. */
import { Schema } from "effect"
import { approvalSettings } from "../../run/Approval.js"
import { defineStep } from "../DefineStep.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  approvers: approvalSettings.approvers.annotations({
    description: "E-mail addresses, users' ids, or names of roles. The first of them who decides counts."
  }),
  message: approvalSettings.message,
  expiresInMs: optional(approvalSettings.expiresInMs),
  onExpire: optional(approvalSettings.onExpire)
})

export const approval = defineStep({
  type: "approval",
  description: "Waits until one of the approvers decides, or its time is over.",
  guide: {
    config: "`{approvers, message, expiresInMs, onExpire}`",
    output: "`{decision, comment, actor}`",
    limits: [{ of: "approval", timeoutMs: "the whole; an open approval is withdrawn" }]
  },
  traced: { prefix: "approval.", isWaiting: true },
  node: "approval",
  config: Config,
  meaning: (_, config) => ({
    label: `approval by ${config.approvers.join(", ")}`.slice(0, 80),
    ignoresRetry: true,
    isLong: true,
    calls: 1,
    expressions: [
      { path: "config.message", value: config.message },
      { path: "config.approvers", value: [...config.approvers] }
    ],
    people: config.approvers.flatMap((name, at) =>
      name.includes("{{") ? [] : [{ path: `config.approvers[${at}]`, name }]
    ),
    script: (writer) => ({
      method: "approval",
      args: [writer.literal({ ...config, approvers: [...config.approvers] })]
    })
  })
})
