/** One watcher: what it waits for, how far it was told, and the messages that its pace holds back. */
import type { Principal } from "../Caller.js"
import type { Failure } from "../../../domain/Failure.js"
import type { Effect } from "effect"
import type { ExecutionId } from "../../../domain/Ids.js"
import { MessagePace } from "../../../domain/watch/MessagePace.js"
import type { WatchPosition } from "../../../domain/watch/WatchPosition.js"
import { type RecordChange, type RecordTopic, type RunTopic, watchLimits } from "../../../domain/watch/WatchTopic.js"
import type { WatchedCredential } from "../../ports/watch/CommittedChanges.js"
import { reachText } from "./WatchReach.js"

/** A message of a watch. `at`: Unix milliseconds. */
export type WatchMessage =
  | { readonly topic: RecordTopic | RunTopic; readonly id: string; readonly status: string; readonly at: number }
  | { readonly topic: RecordTopic | RunTopic; readonly many: number }
  /** What was committed before may have been missed. */
  | { readonly topic: "reset" }

/** Messages, and the position by which a stream that ends is continued after them. */
export interface WatchBatch {
  readonly messages: ReadonlyArray<WatchMessage>
  readonly position: WatchPosition | undefined
}

/** What a client watches. */
export interface WatchOrder {
  readonly caller: Principal
  readonly topics: ReadonlyArray<RecordTopic>
  readonly runs: ReadonlyArray<ExecutionId>
  /** Where an earlier stream ended; `null`: at a place that is not known. */
  readonly since: WatchPosition | null | undefined
  /** Recognises the caller again, as it was without what the request narrows it to. */
  readonly recognise: Effect.Effect<Principal, Failure>
  /** The caller as it was recognised first. */
  readonly recognised: Principal
}

/** Where batches go to. */
export interface WatchOutlet {
  readonly send: (batch: WatchBatch) => void
  readonly end: () => void
}

/** A watch that is allowed, and begins when it is attached; returns what ends it. */
export interface OpenWatch {
  readonly attach: (outlet: WatchOutlet) => () => void
}

interface Waiting {
  readonly pace: MessagePace
  readonly changes: Array<Pick<RecordChange, "id" | "status" | "at">>
  count: number
}

/** Without another message, the position is sent anew so often, so that it stays one that the stream can be continued at. */
const silenceMillis = 15_000

export class Watcher {
  /** `joining`: not yet read for. `catchingUp`: what was committed since an earlier stream is being read. */
  state: "joining" | "catchingUp" | "live" = "joining"
  /** The text of its caller's rights when they were read first. */
  rights: string | undefined
  /** When the caller is recognised again, once: what was recognised first may have been a moment old. */
  recogniseAt: number | undefined
  readonly reach: string
  readonly credential: WatchedCredential | undefined
  private readonly waiting = new Map<RecordTopic | RunTopic, Waiting>()
  private readonly signs = new Map<ExecutionId, string>()
  private sentAt = 0

  constructor(
    readonly order: WatchOrder,
    private readonly outlet: WatchOutlet
  ) {
    const { caller } = order
    this.reach = reachText(caller)
    const { person, starter } = caller
    this.credential =
      starter.keyId === null && person === null
        ? undefined
        : { keyId: starter.keyId, sessionId: person?.sessionId ?? null, userId: person?.userId ?? null }
  }

  /** By which its streams are counted. */
  get holder(): string {
    const { caller } = this.order
    return caller.person?.sessionId ?? caller.id
  }

  /** The runs that it watches and that have not ended. */
  get openRuns(): ReadonlyArray<ExecutionId> {
    return this.order.runs.filter((id) => this.signs.get(id) !== "ended")
  }

  add(topic: RecordTopic | RunTopic, { at, id, status }: Pick<RecordChange, "id" | "status" | "at">): void {
    const waiting = this.waiting.get(topic) ?? { pace: new MessagePace(), changes: [], count: 0 }
    this.waiting.set(topic, waiting)
    waiting.count++
    if (waiting.changes.length < watchLimits.messagesPerSecond) waiting.changes.push({ id, status, at })
  }

  /** Adds a message if a commit of the run was not told of. */
  addRun(id: ExecutionId, sign: string, status: string, at: number): void {
    if (!this.order.runs.includes(id) || this.signs.get(id) === sign) return
    this.signs.set(id, sign)
    this.add(`execution:${id}`, { id, status, at })
  }

  /** Sends what its pace lets pass, and the position once nothing before it waits. */
  flush(now: number, position: WatchPosition | undefined): void {
    if (this.state !== "live") return
    const messages: Array<WatchMessage> = []
    let isEmpty = true
    for (const [topic, waiting] of this.waiting) {
      const { isSummed, single } = waiting.pace.next(waiting.count, now)
      for (const change of waiting.changes.splice(0, single)) messages.push({ topic, ...change })
      waiting.count -= single
      if (isSummed) {
        messages.push({ topic, many: waiting.count })
        waiting.changes.length = 0
        waiting.count = 0
      }
      if (waiting.count > 0) isEmpty = false
    }
    if (messages.length === 0 && now - this.sentAt < silenceMillis) return
    this.sentAt = now
    this.outlet.send({ messages, position: isEmpty ? position : undefined })
  }

  /** Tells the client to read anew; what waited is part of that. */
  reset(now: number, position: WatchPosition): void {
    for (const waiting of this.waiting.values()) {
      waiting.changes.length = 0
      waiting.count = 0
    }
    this.state = "live"
    this.sentAt = now
    this.outlet.send({ messages: [{ topic: "reset" }], position })
  }

  end(): void {
    this.outlet.end()
  }
}
