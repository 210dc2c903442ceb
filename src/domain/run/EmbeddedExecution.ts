/** What an embed session sees of executions, and of a run that it starts. Contract: embed. */
import { Schema } from "effect"
import { isObject, type Json, JsonObject } from "../Json.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime, NullableTime } from "../Time.js"
import { ExecutionStatus } from "./Execution.js"
import type { ExecutionView } from "./ExecutionView.js"

const textIn = (value: Json, member: string): string | null => {
  const text = isObject(value) ? value[member] : undefined
  return typeof text === "string" ? text : null
}

/** An execution in the panel: without what it was given, did and returned. */
export const EmbeddedExecution = Schema.Struct({
  id: Schema.String,
  name: Schema.String.annotations({ description: "of the workflow" }),
  status: ExecutionStatus,
  error: Schema.NullOr(Schema.Struct({ message: NullableText })),
  createdAt: AnsweredTime,
  startedAt: NullableTime,
  finishedAt: NullableTime
}).annotations({ identifier: "EmbeddedExecution" })

/** What of an execution a session sees. */
export const embeddedExecution = ({
  createdAt,
  error,
  finishedAt,
  id,
  startedAt,
  status,
  workflowName
}: ExecutionView): typeof EmbeddedExecution.Type => ({
  id,
  name: workflowName,
  status,
  error: error === null ? null : { message: textIn(error, "message") },
  createdAt,
  startedAt,
  finishedAt
})

/** The body with which a session starts a workflow. */
export const StartOffered = Schema.Struct({
  input: Schema.optional(JsonObject).annotations({
    description: "by the `inputSchema` of the action; nothing that it does not name, unless it allows that"
  })
}).annotations({ identifier: "StartOffered" })

/** A run that a session has started. */
export const EmbeddedRun = Schema.Struct({
  executionId: Schema.String,
  status: ExecutionStatus.annotations({ description: "pending: it goes on, and its end is read as an execution" }),
  message: NullableText.annotations({
    description: "the member `message` of what the workflow returned, if it is text"
  })
}).annotations({ identifier: "EmbeddedRun" })

/** What of a run a session is told. `output`: what it returned; `null` unless it has completed. */
export const embeddedRun = (
  executionId: string,
  status: typeof ExecutionStatus.Type,
  output: Json
): typeof EmbeddedRun.Type => ({ executionId, status, message: textIn(output, "message") })
