/** The cluster as the API shows it: its nodes, who holds how many shards, and the unfinished runs of one organisation. */
import { Schema } from "effect"
import { AnsweredTime, NullableTime } from "../Time.js"

const described = (description: string) => Schema.NonNegativeInt.annotations({ description })

/** At most this many unfinished runs of an organisation are counted, the oldest ones. */
export const countedRuns = 10_000

/**
 * `silent`: it gives no sign of life, or its session ended; the others are about to take its shards. `starting`: it is not
 * ready. `leaving`: it stops.
 */
export const NodeCondition = Schema.Literal("starting", "alive", "silent", "leaving")
export type NodeCondition = typeof NodeCondition.Type

/** What a node does: it serves requests (`api`), holds shards and does their work (`runner`), or both. */
export const NodeRole = Schema.Literal("all", "api", "runner")
export type NodeRole = typeof NodeRole.Type

/** One node. Without its address, which is the operator's own. */
export const ClusterNode = Schema.Struct({
  id: Schema.String.annotations({ description: "another one for each start; `alone`: a service without a cluster" }),
  number: described("counts the nodes that have ever joined"),
  role: NodeRole,
  version: Schema.String.annotations({ description: "the build of the program, shortened" }),
  state: NodeCondition.annotations({
    description:
      "`starting`: it gets no shards yet; `silent`: it gives no sign of life, and others are about to take its shards; `leaving`: it gives them up itself"
  }),
  healthy: Schema.Boolean.annotations({ description: "whether the state is `alive`" }),
  since: AnsweredTime.annotations({ description: "when it joined" }),
  secondsSinceHeartbeat: Schema.NonNegative,
  shards: described("how many shards it holds"),
  runs: described("unfinished runs of your organisation on these shards"),
  engine: Schema.NullOr(Schema.String).annotations({
    description: "the sandbox engine of its build; null: it computes no runs"
  }),
  release: described("its service release; 0: one without a number")
}).annotations({ identifier: "ClusterNode" })
export type ClusterNode = typeof ClusterNode.Type

/** Runs whose engine no live node has that computes runs. */
export const WaitingEngine = Schema.Struct({
  engine: Schema.String,
  runs: described("how many of your organisation wait for it")
}).annotations({ identifier: "WaitingEngine" })
export type WaitingEngine = typeof WaitingEngine.Type

export const ClusterView = Schema.Struct({
  nodes: Schema.Array(ClusterNode),
  release: Schema.Struct({
    newest: described("the newest service release of the nodes"),
    confirmed: described("the newest confirmed one; the nodes can go back to it"),
    isConfirmed: Schema.Boolean.annotations({
      description: "whether the newest is confirmed; until then runs begin on the engine of the one before"
    })
  }),
  shards: Schema.Struct({
    total: described("how many there are"),
    unowned: described("how many no node holds; their runs wait")
  }),
  unfinished: described(
    `unfinished runs of your organisation; ${countedRuns.toLocaleString("en")} means as many or more`
  ),
  oldestUnfinishedAt: NullableTime,
  lagMs: described("for how long the oldest of these that has not started waits, in milliseconds"),
  engines: Schema.Array(Schema.String).annotations({
    description:
      "the sandbox engines of this build, the current one first: a run continues on the one that it began with"
  }),
  waiting: Schema.Array(WaitingEngine).annotations({
    description: "engines on which your unfinished runs began, and that no node has"
  })
}).annotations({ identifier: "Cluster" })
export type ClusterView = typeof ClusterView.Type
