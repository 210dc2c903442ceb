/**
 * Starts of Instant runs that one node hands to another, many in one message: a node that holds no shard, or not the run's,
 * has its owner drive it. The run's row, its first journal entry and its claim are those that the owner would make of the
 * request itself.
 */
import { Rpc, RpcGroup } from "@effect/rpc"
import { Context, Data, type Effect, Schema, type Scope } from "effect"
import { TooManyRuns, Unavailable } from "../../../domain/Failure.js"
import { WorkflowId } from "../../../domain/Ids.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { StartEntry } from "../../../domain/run/RunJournal.js"
import type { Claim, FinishedRun, OpenRun } from "./Journal.js"

/**
 * What the sender made of its own types, without a check of each member: nodes of neighbouring releases have the same, up to
 * optional members, which the lock of the messages between nodes holds by this name.
 */
const plain = <A>(identifier: string): Schema.Schema<A> =>
  Schema.declare((value): value is A => value !== undefined, {
    identifier,
    arbitrary: () => (check) => check.jsonValue() as never
  })

/** What an Instant run begins with, besides its code. */
const begun = {
  /** Concurrent runs that the organisation's plan allows; `null`: any number. */
  concurrentRuns: Schema.NullOr(Schema.JsonNumber),
  run: plain<OpenRun>("OpenRun"),
  start: plain<StartEntry>("StartEntry"),
  claim: Schema.NullOr(plain<Claim>("Claim")),
  audit: Schema.NullOr(plain<AuditEntry>("AuditEntry"))
}

/** What an Instant run begins with, besides its code. */
export type RunBeginning = Schema.Struct.Type<typeof begun>

const Order = Schema.Struct({
  ...begun,
  // The code is named and not sent: the owner has it in memory, or reads it once.
  workflowId: WorkflowId,
  /** `null`: the stored draft with this hash. */
  version: Schema.NullOr(Schema.JsonNumber),
  contentHash: Schema.String,
  /** How often the order was sent before: the run may have been begun, on this node or on another one. */
  repetition: Schema.JsonNumber
})
/** An Instant run that another node shall drive. */
export type StartOrder = typeof Order.Type
/** As text, whose length a sender knows before it sends. */
export const StartOrder = Schema.parseJson(Order)

const Outcome = Schema.Union(
  Schema.TaggedStruct("Ended", { end: plain<Omit<FinishedRun, "run">>("RunEnd") }),
  /** It is suspended, or its owner changes: it is committed, and goes on. */
  Schema.TaggedStruct("Accepted", {}),
  /** It has ended elsewhere, or at an earlier order: its record says how. */
  Schema.TaggedStruct("Recorded", {}),
  Schema.TaggedStruct("Repeated", { target: Schema.String, hash: Schema.NullOr(Schema.String) }),
  /** Its owner changes, and the next one knows more. */
  Schema.TaggedStruct("Moved", {}),
  /** The node runs as much as it can: another one may have room. */
  Schema.TaggedStruct("Full", {}),
  /** The run must wait in the queue. */
  Schema.TaggedStruct("MustWait", {}),
  Schema.TaggedStruct("Refused", { failure: Schema.Union(Unavailable, TooManyRuns) })
)
/** What became of an order. */
export type StartOutcome = typeof Outcome.Type
/** An outcome as text. */
export const StartOutcome = Schema.parseJson(Outcome)

/** `at`: the order's place in the message. `outcome`: a `StartOutcome`. */
const StartAnswer = Schema.Struct({ at: Schema.Number, outcome: Schema.String })
export type StartAnswer = typeof StartAnswer.Type

/**
 * Drives Instant runs, by orders (`StartOrder`), and answers each once it has ended or is suspended. A repetition is
 * answered like the first, or that the run is recorded.
 */
const Begin = Rpc.make("Begin", {
  payload: { orders: Schema.Array(Schema.String) },
  success: StartAnswer,
  stream: true
})

export const NodeStartRpcs = RpcGroup.make(Begin)

/** A message holds no more texts than this, and none but the first beyond so many characters. */
const maxTexts = 64
const maxChars = 2 * 1_048_576

/** Takes from a queue what goes in one message. */
export const takeMessage = <A>(queue: Array<A>, textOf: (one: A) => string): Array<A> => {
  let chars = 0
  const end = queue.findIndex((one, at) => at === maxTexts || ((chars += textOf(one).length) > maxChars && at > 0))
  return queue.splice(0, end === -1 ? queue.length : end)
}

/** The connection to a node broke, or there is none: what it had not answered may have been begun. */
export class NodeUnreachable extends Data.TaggedError("NodeUnreachable")<object> {}

export class NodeStarts extends Context.Tag("svc/NodeStarts")<
  NodeStarts,
  {
    /**
     * Sends orders to a node, as `Ownership.ownerOf` names it, in one message, and calls `onAnswer` with each answer as it
     * comes. Returns when all are answered. When it is interrupted, the runs that were begun go on.
     */
    readonly begin: (
      owner: string,
      orders: ReadonlyArray<string>,
      onAnswer: (answer: StartAnswer) => void
    ) => Effect.Effect<void, NodeUnreachable>
    /** Has `answer` answer the orders of other nodes, until the scope ends; before that they find no node. */
    readonly serve: (answer: (order: string) => Effect.Effect<string>) => Effect.Effect<void, never, Scope.Scope>
  }
>() {}
