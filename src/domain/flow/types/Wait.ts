/** A step that waits for a duration, until a time, or until a condition holds. */
import { Schema } from "effect"
import { JsonObject } from "../../Json.js"
import { guest } from "../../Limits.js"
import { Duration } from "effect"
import { Condition } from "../../expression/Condition.js"
import { defineStep } from "../DefineStep.js"
import { timeOf } from "../WaitTime.js"
import { isRecordAction, recordMistakes } from "../RecordStep.js"
import type { Mistakes } from "../../expression/Checks.js"
import { conditionReferences } from "../../expression/References.js"
import type { StepAction } from "../StepType.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const millis = Schema.Int.pipe(Schema.between(1, Duration.toMillis(guest.timer)))

const Poll = Schema.Struct({
  connector: Schema.String.pipe(Schema.maxLength(64)),
  action: Schema.String.pipe(Schema.maxLength(128)),
  actionVersion: optional(Schema.Int.pipe(Schema.positive())),
  connection: optional(Schema.String.pipe(Schema.maxLength(128))),
  input: optional(JsonObject)
})

const Config = Schema.Struct({
  durationMs: optional(millis),
  until: optional(Schema.String.pipe(Schema.maxLength(1_000))),
  condition: optional(Condition),
  poll: optional(Poll),
  pollSeconds: optional(Schema.Int.pipe(Schema.between(5, 3_600))),
  timeoutMs: optional(millis)
})

const oneOf: Mistakes = [
  { path: "config", code: "REQUIRED", message: "has exactly one of durationMs, until and condition" }
]

const noTime = {
  path: "config.until",
  code: "INVALID_TIME",
  message:
    "must be a time: RFC 3339 such as 2026-01-31T09:00:00Z, a date, Unix seconds or milliseconds, or an expression"
}
const unread: Mistakes = [
  {
    path: "config.poll",
    code: "NOT_ALLOWED",
    message: "is called for a condition that reads poll, which this one does not"
  }
]
const unchanging: Mistakes = [
  {
    path: "config.condition",
    code: "INVALID_VALUE",
    message: "reads neither state nor poll, so that waiting cannot change it: use a gate"
  }
]

/** A condition reads what waiting can change: stored values, and the answer of a poll that is there. */
const changeMistakes = (condition: Condition, polls: boolean): Mistakes => {
  const { references } = conditionReferences(condition, "config.condition")
  const ofPoll = references.filter(({ path: [root] }) => root === "poll")
  if (ofPoll.length > 0)
    return polls
      ? []
      : ofPoll.map(({ at }) => ({
          path: at,
          code: "INVALID_PATH",
          message: "reads poll, and config.poll is absent: name the action to call, or the condition never holds"
        }))
  const readsState = references.some(({ path: [root] }) => root === "state")
  return [...(polls ? unread : []), ...(readsState ? [] : unchanging)]
}

/** The stored values that a condition reads: scope and key. */
const statesOf = (condition: Condition): ReadonlyArray<readonly [scope: string, key: string]> => {
  const found = new Map<string, readonly [string, string]>()
  for (const { path } of conditionReferences(condition, "").references) {
    const [root, scope, key] = path
    if (root === "state" && scope !== undefined && key !== undefined)
      found.set(JSON.stringify([scope, key]), [String(scope), String(key)])
  }
  return [...found.values()]
}

/** Paths into state that name no scope and key. */
const stateMistakes = (condition: Condition): Mistakes =>
  conditionReferences(condition, "config.condition").references.flatMap(({ at, path: [root, scope, key] }) =>
    root === "state" && ((scope !== "ORG" && scope !== "WORKFLOW") || key === undefined)
      ? [{ path: at, code: "INVALID_PATH", message: "of state, state.ORG.<key> and state.WORKFLOW.<key> are read" }]
      : []
  )

const pollOf = (called: StepAction, input: JsonObject | undefined) => ({
  ...called,
  input: { path: "config.poll.input", value: input },
  mapping: { path: "config.poll.input", value: undefined },
  versionPath: "config.poll.actionVersion"
})

export const wait = defineStep({
  type: "wait",
  description: "Waits for a duration, until a time, or until a condition over stored state or a polled action holds.",
  guide: {
    config: "`{durationMs}`, `{until}`, or `{condition, pollSeconds, timeoutMs}`",
    output: "`{until}`, or `{looks, poll}`",
    limits: [
      { of: "wait with `poll`", retry: "each call of the action", timeoutMs: "the whole wait" },
      { of: "other wait", timeoutMs: "the whole wait" }
    ]
  },
  traced: { prefix: "timer.", isWaiting: true },
  node: "wait",
  config: Config,
  meaning: (step, config) => {
    const { condition, durationMs, poll, until } = config
    const given = [durationMs, until, condition].filter((one) => one !== undefined).length
    const conditional: Mistakes =
      condition === undefined
        ? (["poll", "pollSeconds", "timeoutMs"] as const).flatMap((name) =>
            config[name] === undefined
              ? []
              : [{ path: `config.${name}`, code: "NOT_ALLOWED", message: "belongs to a wait with a condition" }]
          )
        : changeMistakes(condition, poll !== undefined)
    const isLiteral = until !== undefined && !until.includes("{{")
    const called =
      poll === undefined
        ? undefined
        : {
            connector: poll.connector,
            action: poll.action,
            version: poll.actionVersion,
            paths: { connector: "config.poll.connector", action: "config.poll.action" },
            readOnly: true
          }
    return {
      label:
        durationMs !== undefined
          ? `wait ${durationMs} ms`
          : until !== undefined
            ? `wait until ${until}`
            : "wait for a condition",
      isLong: true,
      ...(called === undefined ? { ignoresRetry: true } : {}),
      ...(isLiteral ? { until } : {}),
      calls: 1,
      actions: called === undefined || isRecordAction(called) ? [] : [called],
      expressions: [
        ...(until === undefined ? [] : [{ path: "config.until", value: until }]),
        ...(poll?.input === undefined ? [] : [{ path: "config.poll.input", value: poll.input }]),
        ...(condition === undefined ? [] : [{ path: "config.condition", condition, roots: ["state", "poll"] }])
      ],
      mistakes: [
        ...(given === 1 ? [] : oneOf),
        ...(isLiteral && Number.isNaN(timeOf(until)) ? [noTime] : []),
        ...conditional,
        ...(called === undefined ? [] : recordMistakes(pollOf(called, poll?.input))),
        ...(condition === undefined ? [] : stateMistakes(condition))
      ],
      script: (writer) => {
        const { poll: _, ...given } = config
        const rest = condition === undefined ? given : { ...given, states: statesOf(condition) }
        if (called === undefined) return { method: "wait", args: [writer.literal(rest)] }
        const { retry } = step
        const settings = {
          ...(poll?.connection === undefined ? {} : { connection: poll.connection }),
          ...(retry === undefined ? {} : { retry })
        }
        const options = Object.keys(settings).length === 0 ? "" : `, ${writer.literal(settings)}`
        const look = `(svc, v) => ${writer.action(called)}(v.all(${writer.literal(poll?.input ?? {})})${options})`
        return { method: "wait", args: [writer.literal(rest), look] }
      }
    }
  }
})
