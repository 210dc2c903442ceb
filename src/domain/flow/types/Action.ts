/** A step that calls a connector, transforms data, runs code, or asks a language model. */
import { Schema } from "effect"
import { JsonObject } from "../../Json.js"
import { guest } from "../../Limits.js"
import { defineStep } from "../DefineStep.js"
import { isRecordAction, recordMistakes } from "../RecordStep.js"
import type { FlowStep } from "../Spec.js"
import type { Mistakes } from "../../expression/Checks.js"
import type { StepAction } from "../StepType.js"

const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  kind: optional(Schema.Literal("connector", "transform", "code", "ai")).annotations({
    description: "`connector` where the step names one, else `code` where it has code, else `transform`."
  }),
  code: optional(text(guest.sourceBytes)),
  transform: optional(JsonObject),
  prompt: optional(text(100_000)),
  model: optional(text(128))
})
type Config = typeof Config.Type

const kindOf = (step: FlowStep, { code, kind, prompt }: Config): NonNullable<Config["kind"]> =>
  kind ??
  (step.connector !== undefined ? "connector" : code !== undefined ? "code" : prompt !== undefined ? "ai" : "transform")

/** The connector of a step that asks a language model, and its action. */
const chatConnector = "openai"
const chatAction = "createChatCompletion"

/** Whether a step says which model it asks. */
const namesModel = ({ input, mapping }: FlowStep, { model }: Config): boolean =>
  model !== undefined || input?.["model"] !== undefined || mapping?.["model"] !== undefined

const required = (path: string): Mistakes => [{ path, code: "REQUIRED", message: "is required" }]

const unusedMistakes = (step: FlowStep, config: Config, kind: string): Mistakes => {
  const unused = [
    ...(kind === "connector" || kind === "ai"
      ? []
      : (["connector", "action", "actionVersion", "connection"] as const)
    ).filter((name) => step[name] !== undefined),
    ...(["code", "transform"] as const)
      .filter((name) => name !== kind && config[name] !== undefined)
      .map((name) => `config.${name}`),
    ...(["prompt", "model"] as const)
      .filter((name) => kind !== "ai" && config[name] !== undefined)
      .map((name) => `config.${name}`)
  ]
  return unused.map((path) => ({ path, code: "NOT_ALLOWED", message: `is not a member of an action of kind ${kind}` }))
}

const actionOf = (step: FlowStep, isChat: boolean): StepAction => ({
  connector: step.connector ?? chatConnector,
  action: step.action ?? (isChat ? chatAction : ""),
  version: step.actionVersion,
  paths: { connector: "connector", action: "action" },
  ...(isChat ? { kind: "ai" } : {})
})

const recordStepOf = ({ input, mapping }: FlowStep, called: StepAction) => ({
  ...called,
  input: { path: "input", value: input },
  mapping: { path: "mapping", value: mapping },
  versionPath: "actionVersion"
})

/** Options of the call that asks a model. The step is retried as a whole, so that its call is not. */
const chatOptions = ({ actionVersion, connection, retry }: FlowStep) => ({
  ...(actionVersion === undefined ? {} : { version: actionVersion }),
  ...(connection === undefined || connection === "default" ? {} : { connection }),
  ...(retry === undefined ? {} : { retry: false })
})

/** Options of a connector call that the step sets. */
const callOptions = ({ actionVersion, connection, retry, timeoutMs }: FlowStep) => ({
  ...(actionVersion === undefined ? {} : { version: actionVersion }),
  ...(connection === undefined || connection === "default" ? {} : { connection }),
  ...(retry === undefined ? {} : { retry }),
  ...(timeoutMs === undefined ? {} : { timeoutMs })
})

export const action = defineStep({
  type: "action",
  description: "Calls a connector's action, transforms data, runs code, or asks a language model.",
  guide: {
    config: "none with `connector` and `action`; `{code}`; `{transform}`; `{prompt, model}`",
    output: "the answer; what the code returns; the object; `{text, usage}`",
    limits: [
      {
        of: "connector's action",
        retry: "the call, by the service, instead of the connector's own setting",
        timeoutMs: "each attempt"
      },
      {
        of: "code, transform, AI",
        retry: "the step, after transient errors",
        timeoutMs: "each attempt; its calls in flight are given up"
      }
    ]
  },
  node: "action",
  config: Config,
  meaning: (step, config) => {
    const kind = kindOf(step, config)
    const mistakes = unusedMistakes(step, config, kind)
    switch (kind) {
      case "connector": {
        const called = actionOf(step, false)
        const isNamed = step.connector !== undefined && step.action !== undefined
        return {
          label: `${called.connector}.${called.action}`,
          actions: isNamed && !isRecordAction(called) ? [called] : [],
          mistakes: [
            ...mistakes,
            ...(isNamed ? recordMistakes(recordStepOf(step, called)) : []),
            ...(step.connector === undefined ? required("connector") : []),
            ...(step.action === undefined ? required("action") : [])
          ],
          calls: 1,
          script: (writer) => {
            const options = callOptions(step)
            const more = Object.keys(options).length === 0 ? "" : `, ${writer.literal(options)}`
            return { method: "action", args: [`(svc, v) => ${writer.action(called)}(${writer.args}${more})`] }
          }
        }
      }
      case "transform":
        return {
          label: "transform",
          expressions: config.transform === undefined ? [] : [{ path: "config.transform", mapping: config.transform }],
          mistakes,
          script: (writer) => ({
            method: "transform",
            args: [
              `(v) => ${writer.args}`,
              ...(config.transform === undefined ? [] : [writer.literal(config.transform)])
            ]
          })
        }
      case "code": {
        const code = { path: "config.code", source: config.code ?? "" }
        return {
          label: "code",
          ...(config.code === undefined ? { mistakes: [...mistakes, ...required(code.path)] } : { mistakes, code }),
          script: (writer) => ({ method: "code", args: [`(v) => ${writer.args}`, writer.code(code)] })
        }
      }
      case "ai": {
        const called = actionOf(step, true)
        return {
          label: `${called.connector}.${called.action}`,
          actions: [called],
          expressions: config.prompt === undefined ? [] : [{ path: "config.prompt", value: config.prompt }],
          mistakes: [
            ...mistakes,
            ...(config.prompt === undefined ? required("config.prompt") : []),
            ...(namesModel(step, config) ? [] : required("config.model"))
          ],
          calls: 1,
          script: (writer) => ({
            method: "chat",
            args: [
              `(svc, v, args) => ${writer.action(called)}(args, ${writer.literal(chatOptions(step))})`,
              `(v) => v.chat(${writer.literal(config.prompt)}, ${writer.literal(config.model ?? null)}, ${writer.args})`
            ]
          })
        }
      }
    }
  }
})
