/** What clients watch, and what a watch tells of a change: which record has it, and never the record itself. */
import { Schema } from "effect"
import type { Permission } from "../access/Permission.js"
import type { ExecutionId } from "../Ids.js"

export const RecordTopic = Schema.Literal("executions", "events", "connections", "triggers", "notifications")
export type RecordTopic = typeof RecordTopic.Type

/** The permission that the topic's list needs; `null`: none. */
export const topicPermissions: { readonly [Topic in RecordTopic]: Permission | null } = {
  executions: "executions:read",
  events: "events:read",
  connections: "connections:read",
  triggers: "workflows:read",
  notifications: null
}

/** A topic that one run has: each commit of it, of its steps too, is a message. */
export type RunTopic = `execution:${ExecutionId}`

const isTopic = Schema.is(RecordTopic)
const runPrefix = "execution:"

/** Reads a list of topics; what is none of them is `unknown`. */
export const readTopics = (text: string) => {
  const names = [...new Set(text.split(","))]
  return {
    topics: names.filter(isTopic),
    runs: names.flatMap((name) => (name.startsWith(runPrefix) ? [name.slice(runPrefix.length)] : [])),
    unknown: names.filter((name) => !isTopic(name) && !name.startsWith(runPrefix))
  }
}

/** A committed change of a record. Times are Unix milliseconds. */
export interface RecordChange {
  readonly topic: RecordTopic
  readonly id: string
  readonly status: string
  readonly at: number
  readonly organisationId: string
  /** `null`: it belongs to the organisation. */
  readonly spaceId: string | null
  readonly customerId: string | null
  /** Of an execution. */
  readonly workflowId: string | null
  readonly environment: string | null
  /** Of a connection: the slug. */
  readonly connector: string | null
  /** Of a notification: the person who alone sees the change; empty: keys alone. */
  readonly reader: string | null
}

/** Limits of watches. */
export const watchLimits = {
  /** Streams of one session or key, and of a node. */
  ofCaller: 4,
  ofNode: 1_000,
  /** Runs that one stream watches. */
  runs: 10,
  /** Messages of one topic in a second; what exceeds them is a number. */
  messagesPerSecond: 10,
  /** Bytes that a client has not read, at which its stream is closed. */
  unsentBytes: 1_048_576,
  /** How long a stream can be continued after its last position, in milliseconds. */
  resumeMillis: 300_000
} as const
