/**
 * The use case of watches: one read of committed changes for all watchers of the node, while there are any, twice a second.
 * What was committed before a watcher's position and after it is told at least once, also over streams and nodes.
 */
import { Array as Arr, Clock, Duration, Effect, Option } from "effect"
import type { CallContext } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { missingPermission } from "../Caller.js"
import { backgroundTask } from "../../BackgroundTask.js"
import { pollForCommits } from "../../CommitPolls.js"
import { pollWhileBusy } from "../../PollWhileBusy.js"
import { Digests } from "../../ports/Digests.js"
import { type CommittedChange, CommittedChanges, type CommittedPart } from "../../ports/watch/CommittedChanges.js"
import { Wakeups } from "../../ports/run/Wakeups.js"
import { type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import { isAfter, positionText } from "../../../domain/watch/CommitPosition.js"
import { readWatchPosition, type WatchPosition, watchPositionText } from "../../../domain/watch/WatchPosition.js"
import { readTopics, RecordTopic, watchLimits } from "../../../domain/watch/WatchTopic.js"
import { findViewWith } from "../run/ExecutionRecords.js"
import { makeLiveReads } from "../run/LiveReads.js"
import { reachesChange, reachText, topicRefusal } from "./WatchReach.js"
import { type OpenWatch, type WatchBounds, Watcher } from "./Watcher.js"
import { WatcherTable } from "./WatcherTable.js"

/** Longer than what is known of a caller may be kept in memory. */
const recogniseAfterMillis = 1_000

/** A call that watches. */
export interface WatchCall extends CallContext {
  /** The caller as it is recognised now by the same credential. */
  readonly recognise: Effect.Effect<Principal, Failure>
}

/** Of streams over HTTP. */
const streamBounds: WatchBounds = {
  ofCaller: watchLimits.ofCaller,
  ofNode: watchLimits.ofNode,
  isPrompt: false,
  silenceMillis: 15_000
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
  const wakeups = yield* Wakeups
  const find = findViewWith(yield* makeLiveReads)
  const watchers = new WatcherTable()
  const joining = new Set<Watcher>()
  let lastText: { readonly at: WatchPosition | undefined; readonly text: string } = { at: undefined, text: "" }
  /** Up to where the changes of all watchers that are not joining were read. */
  let position: WatchPosition | undefined

  /** Watchers whose caller is still to be recognised, and the rights of each credential when they were read last. */
  const unsettled = new Set<Watcher>()
  const lastRights = new Map<string, string>()
  const reaches = new Map<string, string>()

  /** One text for all who reach the same, which may be long. */
  const reachOf = (caller: Principal): string => {
    if (watchers.size === 0) reaches.clear()
    const text = reachText(caller)
    const known = reaches.get(text) ?? text
    reaches.set(known, known)
    return known
  }

  const add = (watcher: Watcher) => {
    watchers.add(watcher)
    joining.add(watcher)
    unsettled.add(watcher)
  }

  const remove = (watcher: Watcher) => {
    if (!watchers.delete(watcher)) return
    joining.delete(watcher)
    unsettled.delete(watcher)
    watcher.end()
  }

  // --- The rights of callers ---

  const isStill = (watcher: Watcher) =>
    Effect.match(watcher.order.recognise, {
      onSuccess: (caller) => reachText(caller) === reachText(watcher.order.recognised),
      onFailure: () => false
    })

  /** Ends the streams of those whose caller may no longer do what it could when it opened them. Returns the position. */
  const checkRights = Effect.gen(function* () {
    const names = [...watchers.wanted.credentials.keys()]
    const { position: read, texts } = yield* source.rights([...watchers.wanted.credentials.values()])
    const now = yield* Clock.currentTimeMillis
    const current = new Map(names.map((name, n) => [name, texts[n] ?? null]))
    const isChanged = [...current].some(([name, text]) => (lastRights.get(name) ?? text) !== text)
    lastRights.clear()
    for (const [name, text] of current) if (text !== null) lastRights.set(name, text)
    for (const watcher of isChanged ? watchers.all : unsettled) {
      const rights = current.get(watcher.credentialName)
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
      else if (rights !== undefined) unsettled.delete(watcher)
    }
    return read
  })

  // --- Reading ---

  const tell = (watcher: Watcher, changes: ReadonlyArray<CommittedChange>) => {
    for (const change of changes)
      if (watcher.order.topics.includes(change.topic)) watcher.add(change.topic, change, change.more)
  }

  /** Reads what was committed between the position of an earlier stream and the first read for this one. */
  const catchUp = Effect.fnUntraced(function* (all: Arr.NonEmptyArray<Watcher>) {
    const places = all.flatMap(({ order: { since } }) => since ?? [])
    const [oldest] = places.toSorted((a, b) => a.at - b.at)
    if (oldest === undefined) return
    const topics = [...new Set(all.flatMap(({ order }) => order.topics))]
    const part = yield* source.since({
      since: oldest,
      topics,
      organisations: [all[0].order.caller.organisationId],
      isEach: true
    })
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
    watchers.noteNews()
  })

  const catchUpAll = Effect.gen(function* () {
    const waiting = watchers.all.filter(({ state }) => state === "catchingUp")
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
  const join = (start: WatchPosition, now: number) => {
    if (joining.size === 0) return
    for (const watcher of joining) {
      const { since } = watcher.order
      if (since === null || start.at - (since?.at ?? start.at) > watchLimits.resumeMillis) watcher.reset(now, start)
      else watcher.state = since === undefined ? "live" : "catchingUp"
    }
    if ([...joining].some(({ state }) => state === "catchingUp")) startCatchingUp()
    joining.clear()
    watchers.noteNews()
  }

  const readRuns = Effect.fnUntraced(function* (now: number) {
    const all = watchers.wanted.ofRuns
    const ids = [...new Set(all.flatMap(({ openRuns }) => openRuns))]
    if (ids.length === 0) return
    const signs = yield* source.runs(ids)
    for (const { id, sign, status } of signs) for (const watcher of all) watcher.addRun(id, sign, status, now)
    watchers.noteNews()
  })

  const distribute = (all: ReadonlyArray<Watcher>, changes: ReadonlyArray<CommittedChange>) => {
    if (changes.length === 0) return
    const byReach = new Map<string, ReadonlyArray<CommittedChange>>()
    for (const watcher of all) {
      const reached = byReach.get(watcher.reach) ?? changes.filter((one) => reachesChange(watcher.order.caller, one))
      byReach.set(watcher.reach, reached)
      tell(watcher, reached)
    }
    watchers.noteNews()
  }

  /** What was committed since `start`; nothing, if nothing was committed until `current`. */
  const readSince = (start: WatchPosition, current: WatchPosition) => {
    if (positionText(start.commits) === positionText(current.commits))
      return Effect.succeed<CommittedPart>({ position: current, changes: [], isCut: false })
    const { organisations, topics } = watchers.wanted
    return source.since({ since: start, topics, organisations, isEach: false })
  }

  const readOnce = Effect.gen(function* () {
    if (watchers.size === 0) return
    const current = yield* checkRights
    const { all } = watchers
    if (all.length === 0) return
    const start = position ?? current
    position = start
    join(start, yield* Clock.currentTimeMillis)
    const part = yield* readSince(start, current)
    const now = yield* Clock.currentTimeMillis
    yield* readRuns(now)
    position = part.position
    if (part.isCut || part.position.at - start.at > watchLimits.resumeMillis) {
      for (const watcher of all) watcher.reset(now, part.position)
      return
    }
    distribute(all, part.changes)
    watchers.flush(now, part.position)
  })

  const reading = yield* backgroundTask("watch.read", readOnce)
  const { start: startReading } = yield* pollForCommits(
    wakeups,
    (id) => watchers.isTold(id),
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

  /** `last`: the position that the client knows; `undefined`: it begins. */
  const open = Effect.fnUntraced(function* (
    context: WatchCall,
    text: string,
    last: string | undefined,
    bounds: WatchBounds = streamBounds
  ): Effect.fn.Return<OpenWatch, Failure> {
    const { caller, recognise } = context
    const { runs, topics } = yield* topicsOf(text)
    for (const topic of topics) yield* refuseWith(topicRefusal(caller, topic))
    if (runs.length > 0) yield* refuseWith(missingPermission(caller, "executions:read"))
    const views = yield* Effect.forEach(runs, (id) => find(context, id))
    const recognised = yield* recognise
    const since = last === undefined ? undefined : Option.getOrNull(readWatchPosition(digests, last))
    yield* refuseWith(watchers.refusal(caller, bounds))
    const order = { caller, topics, runs: views.map(({ id }) => id), since, recognise, recognised, bounds }
    return {
      attach: (outlet) => {
        const watcher = new Watcher(order, outlet, reachOf(caller))
        add(watcher)
        startReading()
        return () => remove(watcher)
      }
    }
  })

  return {
    open,
    /** The position as clients know it. Watches that are told at once have the same one. */
    positionText: (at: WatchPosition): string => {
      if (at !== lastText.at) lastText = { at, text: watchPositionText(digests, at) }
      return lastText.text
    }
  }
})

export class Watches extends Effect.Service<Watches>()("svc/Watches", { scoped: make }) {}
