/** The operation that watches. Contract: watches. */
import { Effect, Schema } from "effect"
import { Watches } from "../../../actors/management/watch/Watches.js"
import { operation } from "../../operation/Operation.js"
import { stream } from "../../operation/Output.js"
import { eventStream } from "../../watch/EventStream.js"

/** The operations of the group `watch`. */
export const watchOperations = [
  operation({
    name: "watch.open",
    summary: "Watch for changes",
    description:
      "Streams what changes among the records that the caller reaches, as server-sent events: topic, id, status and time, never the record. Topics are `executions`, `events`, `connections`, `triggers` and `notifications`, each with the permission of its list, and `execution:` with the id of one for each commit of that run. Each change is told at least once, within a second; of more than ten in a second and topic the others are a number, `many`. The header `Last-Event-ID` continues an earlier stream, on any node, for five minutes; after that the first message is `reset`: read anew. The stream ends when the caller's session or key ends or may do less.",
    answers: { 200: "The stream." },
    parameters: { topics: "What is watched, separated by commas." },
    route: "GET /api/v1/watch",
    query: Schema.Struct({ topics: Schema.String }),
    output: stream("text/event-stream"),
    permit: "anyCaller",
    audit: { _tag: "NotAudited", reason: "a watch shows no record" },
    sharing: "customers",
    scoped: { workflow: "record", environment: "record" },
    noStore: true,
    with: Watches,
    use: (watches, { context, query }) =>
      Effect.map(
        watches.open(context, query.topics, context.request.headers["last-event-id"] || undefined),
        (watch) => {
          // A proxy in between must pass on each message at once.
          context.replyHeaders["x-accel-buffering"] = "no"
          return eventStream(watch, watches.positionText)
        }
      )
  })
] as const
