/** A read cache for values that may be a moment old. Concurrent reads of one key share one load. */
import { Deferred, Effect, FiberId, Option } from "effect"
import type { LazyArg } from "effect/Function"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { RecentMap } from "../../domain/RecentMap.js"
import { Commits } from "./database/CommitLog.js"
import { outsideTransaction } from "./database/OutsideTransaction.js"

export interface ReadCache<A, E = Unavailable> {
  /** The cached value, if it was read less than `maxAgeMillis` before `now`. */
  readonly peek: (key: string, now: number) => A | undefined
  /**
   * The cached value, else the one that the effect of `load` returns. `undefined`, not found, is not cached. `load` is called
   * only if nothing is cached, which is rare: making a statement costs more than finding the value.
   */
  readonly get: (key: string, load: LazyArg<Effect.Effect<A | undefined, E>>) => Effect.Effect<A | undefined, E>
  /** As `get`. */
  readonly find: (key: string, load: LazyArg<Effect.Effect<A | undefined, E>>) => Effect.Effect<Option.Option<A>, E>
}

export interface ReadCacheOptions<A> {
  /** Less than a second unless stated. */
  readonly maxAgeMillis?: number
  /** 10,000 unless stated. */
  readonly maxEntries?: number
  /**
   * The organisation whose records the value comes from: what was read before its last commit on this node is stale.
   * Unless stated, keys have the form `organisation|…`.
   */
  readonly organisationOf?: (key: string, value: A) => OrganisationId | undefined
}

interface Entry<A> {
  readonly at: number
  /** The number of the node's last commit when the read began. */
  readonly commit: number
  readonly value: A
}

/** An empty cache. A value is read again when it is too old, or after a commit of its organisation on this node. */
export const makeReadCache = <A, E = Unavailable>({
  maxAgeMillis = 800,
  maxEntries = 10_000,
  organisationOf = organisationOfKey
}: ReadCacheOptions<A> = {}): Effect.Effect<ReadCache<A, E>> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const commits = yield* Commits
    const cache = new RecentMap<string, Entry<A>>(maxEntries)
    const loading = new Map<string, { readonly commit: number; readonly answer: Deferred.Deferred<A | undefined, E> }>()

    const isFresh = (key: string, entry: Entry<A>, now: number): boolean => {
      if (now - entry.at >= maxAgeMillis) return false
      const organisation = organisationOf(key, entry.value)
      return organisation === undefined || commits.lastCommit(organisation) <= entry.commit
    }

    const peek = (key: string, now: number): A | undefined => {
      const entry = cache.get(key)
      return entry !== undefined && isFresh(key, entry, now) ? entry.value : undefined
    }

    const read = (key: string, load: Effect.Effect<A | undefined, E>, at: number) => {
      const answer = Deferred.unsafeMake<A | undefined, E>(FiberId.none)
      const commit = commits.current()
      const pendingRead = { commit, answer }
      loading.set(key, pendingRead)
      // Others wait for it too, and it is kept: it must not see what one caller's transaction sees.
      const publishing = Effect.onExit(outsideTransaction(load), (exit) => {
        if (loading.get(key) === pendingRead) loading.delete(key)
        if (exit._tag === "Success" && exit.value !== undefined) {
          const before = cache.get(key)
          if (before === undefined || before.commit <= commit) cache.set(key, { at, commit, value: exit.value })
        }
        return Deferred.done(answer, exit)
      })
      // The caller that began the load may be interrupted while others wait for its result.
      return Effect.uninterruptible(publishing)
    }

    const get = (key: string, load: LazyArg<Effect.Effect<A | undefined, E>>) =>
      Effect.suspend(() => {
        const now = clock.unsafeCurrentTimeMillis()
        const value = peek(key, now)
        if (value !== undefined) return Effect.succeed(value)
        const pendingRead = loading.get(key)
        // A load that began before this node's last commit may not see it.
        return pendingRead === undefined || pendingRead.commit !== commits.current()
          ? read(key, load(), now)
          : Deferred.await(pendingRead.answer)
      })

    return { peek, get, find: (key, load) => Effect.map(get(key, load), Option.fromNullable) }
  })

const organisationOfKey = (key: string): OrganisationId => key.slice(0, key.indexOf("|")) as OrganisationId // by its caller

/** For values that no commit makes stale before their age does. */
export const noOrganisation = (): undefined => undefined
