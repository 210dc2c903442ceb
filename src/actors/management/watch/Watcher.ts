/** One watcher: what it waits for, how far it was told, and the messages that its pace holds back. */
import type { Principal } from "../Caller.js"
import type { Failure } from "../../../domain/Failure.js"
import type { Effect } from "effect"
import type { ExecutionId } from "../../../domain/Ids.js"
import { MessagePace } from "../../../domain/watch/MessagePace.js"
import type { OpenLimits } from "../../../domain/share/OpenQuota.js"
import type { WatchPosition } from "../../../domain/watch/WatchPosition.js"
import { type RecordChange, type RecordTopic, type RunTopic, watchLimits } from "../../../domain/watch/WatchTopic.js"
import type { WatchedCredential } from "../../ports/watch/CommittedChanges.js"

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
  readonly bounds: WatchBounds
}

/** How many watches there may be of a kind, and how they are told. */
export interface WatchBounds extends OpenLimits {
  /** Whether a commit of this node is told at once, not at the next look. */
  readonly isPrompt: boolean
  /** Without another message, the position is sent anew so often, so that it stays one that the watch can be continued at. */
  readonly silenceMillis: number
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

/** Of watchers that were told of nothing yet, so that an idle one is small. Never written. */
const noneWaiting = new Map<RecordTopic | RunTopic, Waiting>()
const noSigns = new Map<ExecutionId, string>()

/** By which the watches of a caller are counted. */
export const watchHolder = ({ id, person }: Principal): string => person?.sessionId ?? id

export class Watcher {
  /** `joining`: not yet read for. `catchingUp`: what was committed since an earlier stream is being read. */
  state: "joining" | "catchingUp" | "live" = "joining"
  /** The text of its caller's rights when they were read first. */
  rights: string | undefined
  /** When the caller is recognised again, once: what was recognised first may have been a moment old. */
  recogniseAt: number | undefined
  readonly credential: WatchedCredential | undefined
  /** Names its credential among others; empty without one. */
  readonly credentialName: string
  private waiting: Map<RecordTopic | RunTopic, Waiting> = noneWaiting
  private signs: Map<ExecutionId, string> = noSigns
  /** Changes of all topics that are not yet told. */
  private waitingCount = 0
  private sentAt = -Infinity

  constructor(
    readonly order: WatchOrder,
    private readonly outlet: WatchOutlet,
    /** The `reachText` of its caller. */
    readonly reach: string
  ) {
    const { caller } = order
    const { person, starter } = caller
    this.credential =
      starter.keyId === null && person === null
        ? undefined
        : { keyId: starter.keyId, sessionId: person?.sessionId ?? null, userId: person?.userId ?? null }
    this.credentialName = [starter.keyId, person?.sessionId, person?.userId].join(" ").trim()
  }

  /** When it is to be flushed, in Unix milliseconds. */
  get flushAt(): number {
    if (this.state !== "live") return Infinity
    return this.waitingCount > 0 ? 0 : this.sentAt + this.order.bounds.silenceMillis
  }

  /** Whether nothing waits for it, which was told of something before. */
  get isSilent(): boolean {
    return this.waitingCount === 0 && Number.isFinite(this.sentAt)
  }

  /** The runs that it watches and that have not ended. */
  get openRuns(): ReadonlyArray<ExecutionId> {
    return this.order.runs.filter((id) => this.signs.get(id) !== "ended")
  }

  /** `more`: as many further changes are not named. */
  add(topic: RecordTopic | RunTopic, { at, id, status }: Pick<RecordChange, "id" | "status" | "at">, more = 0): void {
    const waiting = this.waiting.get(topic) ?? { pace: new MessagePace(), changes: [], count: 0 }
    if (this.waiting === noneWaiting) this.waiting = new Map()
    this.waiting.set(topic, waiting)
    waiting.count += 1 + more
    this.waitingCount += 1 + more
    if (waiting.changes.length < watchLimits.messagesPerSecond) waiting.changes.push({ id, status, at })
  }

  /** Adds a message if a commit of the run was not told of. */
  addRun(id: ExecutionId, sign: string, status: string, at: number): void {
    if (!this.order.runs.includes(id) || this.signs.get(id) === sign) return
    if (this.signs === noSigns) this.signs = new Map()
    this.signs.set(id, sign)
    this.add(`execution:${id}`, { id, status, at })
  }

  /** Sends what its pace lets pass, and the position once nothing before it waits. */
  flush(now: number, position: WatchPosition | undefined): void {
    if (this.state !== "live") return
    const isSilent = now - this.sentAt < this.order.bounds.silenceMillis
    if (this.waitingCount === 0 && isSilent) return
    const messages: Array<WatchMessage> = []
    let isEmpty = true
    for (const [topic, waiting] of this.waiting) {
      const { isSummed, single } = waiting.pace.next(waiting.count, now)
      for (const change of waiting.changes.splice(0, single)) messages.push({ topic, ...change })
      waiting.count -= single
      this.waitingCount -= single
      if (isSummed) {
        messages.push({ topic, many: waiting.count })
        this.waitingCount -= waiting.count
        waiting.changes.length = 0
        waiting.count = 0
      }
      if (waiting.count > 0) isEmpty = false
    }
    if (messages.length === 0 && isSilent) return
    this.sentAt = now
    this.outlet.send({ messages, position: isEmpty ? position : undefined })
  }

  /** Tells the client to read anew; what waited is part of that. */
  reset(now: number, position: WatchPosition): void {
    for (const waiting of this.waiting.values()) {
      waiting.changes.length = 0
      waiting.count = 0
    }
    this.waitingCount = 0
    this.state = "live"
    this.sentAt = now
    this.outlet.send({ messages: [{ topic: "reset" }], position })
  }

  end(): void {
    this.outlet.end()
  }
}
