/**
 * The use case of watches: one read of committed changes for all watchers of the node, while there are any, twice a second.
 * What was committed before a watcher's position and after it is told at least once, also over streams and nodes.
 */
import { Array as Arr, Clock, Duration, Effect, Option } from "effect"
import type { CallContext } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { missingPermission } from "../Caller.js"
import { backgroundTask } from "../../BackgroundTask.js"
import { pollWhileBusy } from "../../PollWhileBusy.js"
import { Digests } from "../../ports/Digests.js"
import { CommittedChanges } from "../../ports/watch/CommittedChanges.js"
import { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import { type Failure, invalid, refuseWith, TooManyWatches, Unavailable } from "../../../domain/Failure.js"
import { isAfter } from "../../../domain/watch/CommitPosition.js"
import { readWatchPosition, type WatchPosition, watchPositionText } from "../../../domain/watch/WatchPosition.js"
import { readTopics, type RecordChange, RecordTopic, watchLimits } from "../../../domain/watch/WatchTopic.js"
import { findViewWith } from "../run/ExecutionRecords.js"
import { reachesChange, reachText, topicRefusal } from "./WatchReach.js"
import { type OpenWatch, Watcher } from "./Watcher.js"

const pollInterval = Duration.millis(400)
/** Longer than what is known of a caller may be kept in memory. */
const recogniseAfterMillis = 1_000

/** A call that watches. */
export interface WatchCall extends CallContext {
  /** The caller as it is recognised now by the same credential. */
  readonly recognise: Effect.Effect<Principal, Failure>
}

const topicNames = RecordTopic.literals.join(", ")

const topicsOf = (text: string) => {
  const { runs, topics, unknown } = readTopics(text)
  if (unknown.length > 0)
    return invalid(
      "topics",
      "INVALID",
      `are names of ${topicNames}, and execution: with the id of one, separated by commas`
    )
  return runs.length > watchLimits.runs
    ? invalid("topics", "TOO_MANY", `name ${watchLimits.runs} executions at most`)
    : Effect.succeed({ topics, runs })
}

const make = Effect.gen(function* () {
  const source = yield* CommittedChanges
  const digests = yield* Digests
  const find = findViewWith(yield* ExecutionReads)
  const watchers = new Set<Watcher>()
  /** Up to where the changes of all watchers that are not joining were read. */
  let position: WatchPosition | undefined

  const remove = (watcher: Watcher) => {
    if (watchers.delete(watcher)) watcher.end()
  }

  // --- The rights of callers ---

  const isStill = (watcher: Watcher) =>
    Effect.match(watcher.order.recognise, {
      onSuccess: (caller) => reachText(caller) === reachText(watcher.order.recognised),
      onFailure: () => false
    })

  /** Ends the streams of those whose caller may no longer do what it could when it opened them. */
  const checkRights = Effect.fnUntraced(function* (all: ReadonlyArray<Watcher>, now: number) {
    const withCredential = all.filter(({ credential }) => credential !== undefined)
    const texts = yield* source.rights(withCredential.flatMap(({ credential }) => credential ?? []))
    const current = new Map(withCredential.map((watcher, n) => [watcher, texts[n] ?? null]))
    for (const watcher of all) {
      const rights = current.get(watcher)
      if (rights === null || (watcher.rights ?? rights) !== rights) {
        remove(watcher)
        continue
      }
      if (rights !== undefined && watcher.rights === undefined) {
        watcher.rights = rights
        watcher.recogniseAt = now + recogniseAfterMillis
      }
      if (rights !== undefined && (watcher.recogniseAt === undefined || now < watcher.recogniseAt)) continue
      watcher.recogniseAt = undefined
      if (!(yield* isStill(watcher))) remove(watcher)
    }
  })

  // --- Reading ---

  const tell = (watcher: Watcher, changes: ReadonlyArray<RecordChange>) => {
    for (const change of changes) if (watcher.order.topics.includes(change.topic)) watcher.add(change.topic, change)
  }

  /** Reads what was committed between the position of an earlier stream and the first read for this one. */
  const catchUp = Effect.fnUntraced(function* (all: Arr.NonEmptyArray<Watcher>) {
    const places = all.flatMap(({ order: { since } }) => since ?? [])
    const [oldest] = places.toSorted((a, b) => a.at - b.at)
    if (oldest === undefined) return
    const topics = [...new Set(all.flatMap(({ order }) => order.topics))]
    const part = yield* source.since({ since: oldest, topics, organisations: [all[0].order.caller.organisationId] })
    const now = yield* Clock.currentTimeMillis
    for (const watcher of all) {
      const { caller, since } = watcher.order
      if (since === undefined || since === null || part.isCut) {
        watcher.reset(now, part.position)
        continue
      }
      tell(
        watcher,
        part.changes.filter((one) => isAfter(since.commits, one.transaction) && reachesChange(caller, one))
      )
      watcher.state = "live"
    }
  })

  const catchUpAll = Effect.gen(function* () {
    const waiting = [...watchers].filter(({ state }) => state === "catchingUp")
    const groups = Arr.groupBy(waiting, ({ order }) => order.caller.organisationId)
    yield* Effect.forEach(Object.values(groups), catchUp, { discard: true })
    return false
  })
  const resuming = yield* backgroundTask("watch.continue", catchUpAll)
  const startCatchingUp = yield* pollWhileBusy(
    Duration.millis(50),
    Effect.map(resuming.run, (succeeded) => !succeeded)
  )

  /** Takes those that have joined since the last read, from `start` on. */
  const join = (all: ReadonlyArray<Watcher>, start: WatchPosition, now: number) => {
    for (const watcher of all) {
      if (watcher.state !== "joining") continue
      const { since } = watcher.order
      if (since === null || start.at - (since?.at ?? start.at) > watchLimits.resumeMillis) watcher.reset(now, start)
      else watcher.state = since === undefined ? "live" : "catchingUp"
    }
    if (all.some(({ state }) => state === "catchingUp")) startCatchingUp()
  }

  const readRuns = Effect.fnUntraced(function* (all: ReadonlyArray<Watcher>, now: number) {
    const ids = [...new Set(all.flatMap(({ openRuns }) => openRuns))]
    if (ids.length === 0) return
    const signs = yield* source.runs(ids)
    for (const { id, sign, status } of signs) for (const watcher of all) watcher.addRun(id, sign, status, now)
  })

  const distribute = (all: ReadonlyArray<Watcher>, changes: ReadonlyArray<RecordChange>) => {
    if (changes.length === 0) return
    const byReach = new Map<string, ReadonlyArray<RecordChange>>()
    for (const watcher of all) {
      const reached = byReach.get(watcher.reach) ?? changes.filter((one) => reachesChange(watcher.order.caller, one))
      byReach.set(watcher.reach, reached)
      tell(watcher, reached)
    }
  }

  const readOnce = Effect.gen(function* () {
    if (watchers.size === 0) return
    const start = position ?? (yield* source.position)
    position = start
    yield* checkRights([...watchers], yield* Clock.currentTimeMillis)
    const all = [...watchers]
    if (all.length === 0) return
    const topics = [...new Set(all.flatMap(({ order }) => order.topics))]
    const organisations = [...new Set(all.map(({ order }) => order.caller.organisationId))]
    join(all, start, yield* Clock.currentTimeMillis)
    const part = yield* source.since({ since: start, topics, organisations })
    const now = yield* Clock.currentTimeMillis
    yield* readRuns(all, now)
    position = part.position
    if (part.isCut || part.position.at - start.at > watchLimits.resumeMillis) {
      for (const watcher of all) watcher.reset(now, part.position)
      return
    }
    distribute(all, part.changes)
    for (const watcher of all) watcher.flush(now, part.position)
  })

  const reading = yield* backgroundTask("watch.read", readOnce)
  const startReading = yield* pollWhileBusy(
    pollInterval,
    Effect.zipRight(
      reading.run,
      Effect.sync(() => {
        if (watchers.size > 0) return true
        position = undefined
        return false
      })
    )
  )

  // --- Opening ---

  const refuseMore = (caller: Principal) => {
    const holder = caller.person?.sessionId ?? caller.id
    const own = [...watchers].filter((one) => one.holder === holder).length
    if (own >= watchLimits.ofCaller) return new TooManyWatches({ limit: watchLimits.ofCaller })
    return watchers.size >= watchLimits.ofNode
      ? new Unavailable({
          reason: `this node has ${watchLimits.ofNode} watches, as many as it serves`,
          retryAfterSeconds: 5
        })
      : undefined
  }

  /** `last`: the position that the client knows; `undefined`: it begins. */
  const open = Effect.fnUntraced(function* (
    context: WatchCall,
    text: string,
    last: string | undefined
  ): Effect.fn.Return<OpenWatch, Failure> {
    const { caller, recognise } = context
    const { runs, topics } = yield* topicsOf(text)
    for (const topic of topics) yield* refuseWith(topicRefusal(caller, topic))
    if (runs.length > 0) yield* refuseWith(missingPermission(caller, "executions:read"))
    const views = yield* Effect.forEach(runs, (id) => find(context, id))
    const recognised = yield* recognise
    const since = last === undefined ? undefined : Option.getOrNull(readWatchPosition(digests, last))
    yield* refuseWith(refuseMore(caller))
    const order = { caller, topics, runs: views.map(({ id }) => id), since, recognise, recognised }
    return {
      attach: (outlet) => {
        const watcher = new Watcher(order, outlet)
        watchers.add(watcher)
        startReading()
        return () => remove(watcher)
      }
    }
  })

  return {
    open,
    /** The position as clients know it. */
    positionText: (at: WatchPosition) => watchPositionText(digests, at)
  }
})

export class Watches extends Effect.Service<Watches>()("svc/Watches", { scoped: make }) {}
