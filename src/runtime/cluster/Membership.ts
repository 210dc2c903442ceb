/**
 * Keeps this node's seat in the cluster, and knows the other nodes. A node that loses its seat takes a new one under another
 * id. Whoever first sees that a node is gone deletes its row and ends the sessions of its process, since one that is only
 * frozen would keep its locks.
 */
import { Context, Deferred, Duration, Effect, FiberId, Option, Redacted, Schedule } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"
import { Commits } from "../postgres/database/CommitLog.js"
import { OpenSockets } from "../postgres/database/pool/OpenSockets.js"
import { StartWait } from "../postgres/database/pool/ConnectTimeout.js"
import { AppSql, WriterSql } from "../postgres/database/Pools.js"
import { OperatorError } from "../process/OperatorError.js"
import { heldMillis, holdsShards, isGone, type NodeRow } from "../postgres/database/NodeRow.js"
import { endSessionsSql, type NodeFacts, onSeat, type Seat, SeatLost, statementMillis, takeSeat } from "./Seat.js"

/** Counts what happens, and wakes those who wait for the next of it. */
class Signal {
  private next = Deferred.unsafeMake<void>(FiberId.none)
  private sent = 0

  /** Waits until the count is not `seen`, and returns it. */
  readonly since = (seen: number): Effect.Effect<number> =>
    Effect.suspend(() =>
      this.sent === seen ? Effect.zipRight(Deferred.await(this.next), this.since(seen)) : Effect.succeed(this.sent)
    )

  readonly send = (): void => {
    this.sent++
    const { next } = this
    this.next = Deferred.unsafeMake(FiberId.none)
    Deferred.unsafeDone(next, Effect.void)
  }
}

/** For a second after it has taken shards, the library of a node takes no others. */
const settlingMillis = 1_300

const takesShards = (node: NodeRow): boolean => holdsShards(node) && !node.isLeaving

/** How often a node gives a sign of life, and looks at the others. */
const beatInterval = Duration.millis(400)
/** Between a lost seat and the next: longer with each, so that a node which flaps moves no shards with each try. */
const returnPauses = Schedule.exponential("200 millis").pipe(Schedule.union(Schedule.spaced("5 seconds")))
/** A seat that was held this long makes the next pause short again. */
const steadyMillis = 60_000

export class Membership extends Context.Tag("svc/cluster/Membership")<
  Membership,
  {
    /**
     * Whether this node surely has its seat: a sign of life was answered within 3 s. After a freeze it is false until
     * the next is answered, by both clocks, since a machine that sleeps stops one of them.
     */
    readonly isHolding: () => boolean
    /** The nodes at the last sign of life, this one included; none while it has no seat. */
    readonly members: () => ReadonlyArray<NodeRow>
    /** Has `listener` called each time that these, or which of them leave, have changed. */
    readonly onChange: (listener: () => void) => void
    /**
     * Waits until the nodes, or which of them leave, are not those of this number, and returns the number of the present
     * ones. Before the first sign of life it is 0.
     */
    readonly changedSince: (number: number) => Effect.Effect<number>
    /** From now on this node gets its part of the shards. */
    readonly join: Effect.Effect<void>
    /** Has the others take the shards of this node. Waits for one that has just joined, which would not see them yet. */
    readonly leave: Effect.Effect<void>
    /** Has `listener` called with the organisations whose records other nodes have committed, while somebody waits here. */
    readonly onCommits: (listener: (organisations: ReadonlySet<string>) => void) => void
    /** The seat, while there is one. */
    readonly seat: () => Seat | undefined
    /** The number of the current seat. Waits for one. */
    readonly awaitSeat: Effect.Effect<Seat>
  }
>() {}

export interface MembershipOptions {
  readonly owner: Redacted.Redacted
  readonly facts: Omit<NodeFacts, "isStarting">
  /** A new id for each seat. */
  readonly nextId: () => string
  /** Ends this process: another service has taken the database. */
  readonly onRefused: (reason: OperatorError) => Effect.Effect<void>
}

/** Takes a seat, and keeps it until the scope ends. Fails if the cluster refuses this node. */
export const make = Effect.fn("Membership.make")(function* ({ facts, nextId, onRefused, owner }: MembershipOptions) {
  const pools = [yield* WriterSql, yield* AppSql]
  const sockets = yield* OpenSockets
  const commits = yield* Commits
  let seat: Seat | undefined
  let confirmed = { at: -Infinity, wall: -Infinity }
  let members: ReadonlyArray<NodeRow> = []
  let waiting = Deferred.unsafeMake<Seat>(FiberId.none)
  const changes = new Signal()
  let isStarting = true
  /** Of nodes that come and go: the next sign of life is given at once, and shows them. */
  const news = new Signal()

  let onCommits: (organisations: ReadonlySet<string>) => void = () => undefined

  const listeners: Array<() => void> = []
  /** When another node last became one of those that get shards. */
  let joinedAt = -Infinity

  const setMembers = (next: ReadonlyArray<NodeRow>) => {
    const [before, after] = [members, next].map((all) => all.map(({ id, isLeaving }) => `${id} ${isLeaving}`).join())
    const known = new Set(members.filter(takesShards).map(({ id }) => id))
    const isJoined = next.some((one) => takesShards(one) && one.id !== seat?.id && !known.has(one.id))
    if (isJoined) joinedAt = performance.now()
    members = next
    if (before === after) return
    for (const listener of listeners) listener()
    changes.send()
  }

  /** At once: shards that the seat held may have new owners, and who asks for a seat must wait for the next. */
  const vacate = () => {
    setMembers([])
    if (seat === undefined) return
    seat = undefined
    waiting = Deferred.unsafeMake(FiberId.none)
  }
  const occupy = (taken: Seat) => {
    seat = taken
    Deferred.unsafeDone(waiting, Effect.succeed(taken))
  }

  const take = Effect.gen(function* () {
    const lost = yield* Deferred.make<never, SeatLost>()
    const onEnd = (reason: string) => {
      vacate()
      Deferred.unsafeDone(lost, Effect.fail(new SeatLost(reason)))
    }
    const taken = yield* Effect.acquireRelease(
      onSeat(() =>
        takeSeat(
          Redacted.value(owner),
          nextId(),
          { ...facts, isStarting },
          {
            onEnd,
            seats: () => members.map(({ id }) => id),
            onNodes: news.send,
            onCommits: (organisations) => onCommits(organisations),
            // Other nodes send ids of organisations only.
            onChange: (organisation) => commits.recordCommit(organisation as OrganisationId)
          }
        )
      ),
      (held) =>
        Effect.promise(async () => {
          vacate()
          await held.leave()
        })
    )
    return { taken, lost }
  })

  const beat = Effect.fnUntraced(function* (held: Seat) {
    const sent = { at: performance.now(), wall: Date.now() }
    const found = yield* onSeat(held.beat)
    if (found === undefined) return yield* Effect.fail(new SeatLost("it was silent for too long"))
    confirmed = sent
    // The library waits for itself among them without a pause. Its own row tells of the beat before.
    setMembers(found.filter((member) => member.id === held.id || !isGone(member)))
    for (const gone of found) if (gone.id !== held.id && isGone(gone)) yield* remove(held, gone)
  })

  /**
   * Takes the seat of a node away. Sessions are ended by the login that opened them; the one with the locks of its shards
   * only once the row is gone, by which it may begin runs.
   */
  const remove = Effect.fnUntraced(function* (held: Seat, gone: NodeRow) {
    const found = yield* onSeat(() => held.remove(gone))
    if (found === undefined) return
    const { isRemoved, process: ended } = found
    if (isRemoved) {
      yield* Effect.annotateLogs(Effect.logInfo("cluster.node_gone"), {
        node: gone.id,
        role: gone.role,
        reason: gone.isConnected ? "it is silent" : "its session ended"
      })
      yield* onSeat(() => held.endSessions(ended))
    }
    // Not awaited: a pool may have no connection for a while.
    for (const pool of pools) yield* Effect.fork(Effect.ignore(pool.unsafe(endSessionsSql, [ended])))
  })

  /**
   * Ends the connections that went silent while this node had no seat: no beat told of it. Those that wait for no answer are
   * opened again when they are needed.
   */
  const endSilent = Effect.flatMap(Effect.sync(sockets.watchReads), (endUnread) =>
    Effect.delay(Effect.sync(endUnread), Duration.millis(statementMillis))
  )
  let hasLostOne = false

  /** Holds one seat until it is lost. `begun`: run once it is taken. */
  const hold = (begun: Effect.Effect<unknown>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const wasStarting = isStarting
        const { lost, taken } = yield* take
        yield* beat(taken)
        // A node may have become ready while it took another seat.
        if (wasStarting && !isStarting) yield* onSeat(taken.announceReady)
        occupy(taken)
        if (hasLostOne) yield* Effect.forkScoped(endSilent)
        hasLostOne = true
        yield* begun
        let told = 0
        const nextBeat = Effect.map(
          Effect.timeoutOption(
            Effect.suspend(() => news.since(told)),
            beatInterval
          ),
          (number) => {
            told = Option.getOrElse(number, () => told)
          }
        )
        return yield* Effect.raceFirst(
          Effect.forever(Effect.zipRight(nextBeat, beat(taken))),
          Deferred.await(lost)
        ).pipe(
          // Others end the sessions of this process, which a silent path does not tell.
          Effect.tapError(() =>
            Effect.sync(() => {
              vacate()
              sockets.endAll()
            })
          )
        )
      })
    )

  const first = yield* Deferred.make<void, OperatorError | SeatLost>()
  /** When the last seat was taken; `undefined` once its loss was logged. */
  let since: number | undefined
  const begun = Effect.zipRight(
    Effect.sync(() => (since = performance.now())),
    Deferred.succeed(first, undefined)
  )
  const waitsUntil = performance.now() + Duration.toMillis(yield* StartWait)
  let isAwaited = false
  /** Whether the first seat, which is not taken yet, is tried again. Logs once what is waited for. */
  const mayComeYet = Effect.fnUntraced(function* ({ reason }: SeatLost) {
    if (performance.now() >= waitsUntil || (yield* Deferred.isDone(first))) return false
    if (!isAwaited) yield* Effect.annotateLogs(Effect.logWarning("cluster.seat_awaited"), { reason })
    isAwaited = true
    return true
  })
  yield* hold(begun).pipe(
    Effect.catchTags({
      Refusal: (refusal) =>
        Effect.flatMap(Deferred.fail(first, refusal), (wasFirst) => (wasFirst ? Effect.never : onRefused(refusal))),
      SeatLost: (failure) =>
        Effect.gen(function* () {
          if (yield* mayComeYet(failure)) return yield* Effect.fail(failure)
          if (yield* Deferred.fail(first, failure)) return yield* Effect.never
          const heldFor = since === undefined ? 0 : performance.now() - since
          if (since !== undefined)
            yield* Effect.annotateLogs(Effect.logWarning("cluster.seat_lost"), { reason: failure.reason })
          since = undefined
          // A failure makes the schedule go on; a success begins it anew.
          if (heldFor < steadyMillis) return yield* Effect.fail(failure)
        })
    }),
    Effect.retry(returnPauses),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Effect.mapError(Deferred.await(first), (failure) =>
    failure._tag === "SeatLost"
      ? new OperatorError({ message: `svc cannot take a seat in its cluster: ${failure.reason}.` })
      : failure
  )

  commits.announceBy((organisation) =>
    Effect.suspend(() => (seat === undefined ? Effect.void : Effect.promise(seat.tellChange.bind(seat, organisation))))
  )
  return Membership.of({
    isHolding: () =>
      seat !== undefined &&
      performance.now() - confirmed.at < heldMillis &&
      Math.abs(Date.now() - confirmed.wall) < heldMillis,
    members: () => members,
    onChange: (listener) => void listeners.push(listener),
    changedSince: changes.since,
    onCommits: (listener) => {
      onCommits = listener
    },
    join: Effect.suspend(() => {
      isStarting = false
      return seat === undefined ? Effect.void : Effect.ignore(onSeat(seat.announceReady))
    }),
    leave: Effect.suspend(() => {
      const pause = Math.max(0, joinedAt + settlingMillis - performance.now())
      const announced = Effect.suspend(() =>
        seat === undefined ? Effect.void : Effect.ignore(onSeat(seat.announceLeaving))
      )
      return Effect.delay(announced, pause)
    }),
    seat: () => seat,
    awaitSeat: Effect.suspend(() => (seat === undefined ? Deferred.await(waiting) : Effect.succeed(seat)))
  })
})
