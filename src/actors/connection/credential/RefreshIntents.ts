/**
 * The intents of refreshes: each is committed before its request is sent, names the process that has it in hand, and is
 * removed with the refresh's end, or given back. While that process may run, no other one sends a request.
 */
import { Clock, Duration, Effect } from "effect"
import { isSameRequest, latestSendMillis, type RefreshIntent } from "../../../domain/connection/Refresh.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import { ConnectionStore } from "../../ports/connection/ConnectionStore.js"
import { Faults } from "../../ports/Faults.js"
import { Ownership } from "../../ports/Ownership.js"
import { busy, type ConnectionOwner, type OpenConnection, withWriteLock } from "../ConnectionOwner.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import { insist } from "../Insistence.js"

/**
 * How long a process must be missing among the nodes until it counts as ended. Where all of them lost the database, one may be
 * back some seconds before another; and one that is started again commits what its predecessor kept.
 */
const absenceMillis = Duration.toMillis("20 seconds")

/** A refresh that was begun: the connection as it is held, with its intent. */
export interface BegunRefresh {
  readonly held: OpenConnection
  readonly intent: RefreshIntent
}

export const makeRefreshIntents = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const ownership = yield* Ownership
  const faults = yield* Faults

  /** Connections whose refresh this process has in hand, and how often: a former owner here may not have ended. */
  const inHand = new Map<ConnectionId, number>()
  const count = (id: ConnectionId, change: 1 | -1) =>
    Effect.sync(() => {
      const next = (inHand.get(id) ?? 0) + change
      if (next === 0) inHand.delete(id)
      else inHand.set(id, next)
    })

  /**
   * Looks again and again whether a process that may still run has the refresh of this connection in hand. `now`: monotonic,
   * in milliseconds.
   */
  const makeLook = (id: ConnectionId) => {
    let missingSince: number | undefined
    return ({ process }: RefreshIntent, now: number): boolean => {
      if (inHand.has(id)) return true
      if (process === null || process === ownership.process) return false
      if (ownership.mayRun(process)) {
        missingSince = undefined
        return true
      }
      missingSince ??= now
      return !ownership.isAlone && now - missingSince < absenceMillis
    }
  }

  /**
   * Gives an intent back whose refresh has ended without a commit, so that others need not wait for this process. `wasSent`:
   * whether the request may have reached the provider.
   */
  const giveBack = (self: ConnectionOwner, intent: RefreshIntent, { wasSent }: { readonly wasSent: boolean }) =>
    insist(
      Effect.gen(function* () {
        const open = yield* owners.load(self)
        if (open.intent === null || !isSameRequest(open.intent, intent)) return
        const given = { ...intent, process: null, attempt: wasSent ? intent.attempt : intent.attempt - 1 }
        yield* withWriteLock(
          self,
          Effect.catchTag(store.intend(open, given), "Stale", () => busy("the connection is being changed elsewhere"))
        )
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            self.open = undefined
          })
        )
      )
    ).pipe(Effect.ignore)

  /** Commits an intent. `undefined`: the connection was changed meanwhile. The request must be sent within two seconds. */
  const begin = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    open: OpenConnection,
    request: Pick<RefreshIntent, "attempt" | "refreshSeq" | "tokenHash">
  ) {
    const began = yield* Clock.currentTimeNanos
    const intent = { ...request, process: ownership.process, at: yield* Clock.currentTimeMillis }
    const revision = yield* withWriteLock(
      self,
      self.open === open ? store.intend(open, intent) : Effect.succeed(undefined)
    ).pipe(
      Effect.catchTags({
        Stale: () => {
          self.open = undefined
          return busy("the connection is being changed elsewhere")
        },
        // Nobody knows whether it was committed.
        Unavailable: ({ reason }) => Effect.zipRight(giveBack(self, intent, { wasSent: false }), busy(reason))
      })
    )
    if (revision === undefined) return undefined
    const held: OpenConnection = { ...open, revision, intent }
    self.open = held
    yield* faults.at("intentWritten")
    const elapsed = Number((yield* Clock.currentTimeNanos) - began) / 1e6
    if (elapsed <= latestSendMillis) return { held, intent } satisfies BegunRefresh
    // So late that another owner may already treat the intent as that of a dead owner.
    yield* giveBack(self, intent, { wasSent: false })
    return yield* busy("the refresh came too late to be sent; it is begun again")
  })

  /** Has the refresh of a connection in hand until the scope ends. */
  const takeInHand = (id: ConnectionId) => Effect.acquireRelease(count(id, 1), () => count(id, -1))

  /** Has these in hand while each is worked on, beside other work. */
  const holding = Effect.fnUntraced(function* (
    ids: ReadonlyArray<ConnectionId>,
    work: (id: ConnectionId) => Effect.Effect<void>
  ) {
    yield* Effect.forEach(ids, (id) => count(id, 1), { discard: true })
    yield* Effect.forkScoped(
      Effect.forEach(ids, (id) => Effect.ensuring(work(id), count(id, -1)), { concurrency: 4, discard: true })
    )
  })

  return { makeLook, begin, giveBack, takeInHand, holding }
})
