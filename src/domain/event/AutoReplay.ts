/**
 * Which dead letters the service replays by itself, once the cause of their failure is gone. A trigger has a policy of its
 * own, or else that of the configuration hierarchy applies. Contract: replay.
 */
import { Either, Schema } from "effect"
import type { Detail } from "../Failure.js"
import type { Json } from "../Json.js"
import { autoReplays } from "../Limits.js"
import { valueDetails } from "../Issues.js"
import { decodeStrict } from "../SchemaIssues.js"

/**
 * What makes the service replay: a connection is active again, the workflow is deployed again, or some time has passed.
 */
export const ReplayCause = Schema.Literal("connection.reactivated", "deploy", "schedule")
export type ReplayCause = typeof ReplayCause.Type

/** A policy. No causes: never. */
export const AutoReplay = Schema.Struct({
  on: Schema.Array(ReplayCause),
  /** Replays of one event, by whomever, after which the service does not replay it any more. */
  maxReplays: Schema.Number
})
export type AutoReplay = typeof AutoReplay.Type

/** The key of the policy in the configuration hierarchy. */
export const autoReplayKey = "autoReplay"

/** The policy as it is sent. */
export const AutoReplayInput = Schema.Struct({
  on: Schema.Array(ReplayCause).pipe(
    Schema.filter((causes) => new Set(causes).size === causes.length || "must name each cause once")
  ),
  maxReplays: Schema.optional(Schema.Int.pipe(Schema.between(1, autoReplays.most))).annotations({
    description: `1 to ${autoReplays.most}; default ${autoReplays.standard}`
  })
}).annotations({ identifier: "AutoReplayInput" })
export type AutoReplayInput = typeof AutoReplayInput.Type

/** The policy with its defaults; `null`: none of its own. */
export const autoReplayOf = (input: AutoReplayInput | null): AutoReplay | null =>
  input === null ? null : { on: input.on, maxReplays: input.maxReplays ?? autoReplays.standard }

const decode = decodeStrict(AutoReplayInput)

/** What is wrong with a value of the key. */
export const autoReplayProblems = (value: Json): ReadonlyArray<Detail> =>
  Either.match(decode(value), { onRight: () => [], onLeft: valueDetails })
