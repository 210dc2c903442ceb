/**
 * The only way to an answer without a key, other than refusals and webhooks: counts it for its sender's address, and
 * marks it, so that the server bounds what such answers hold until they are read.
 */
import { Effect, Fiber } from "effect"
import { RateLimited } from "../../domain/Failure.js"
import { publicLimits } from "../../domain/Limits.js"
import { subscriberOf } from "../../http/auth/RefusalCounters.js"
import type { RawReply, RequestHead } from "../../http/Wire.js"

/** What an answer costs the node, least first. */
type PublicKind = keyof typeof publicLimits.perMinute

export interface PublicAnswer {
  /** `undefined` if the answer costs next to nothing, and is never refused. */
  readonly kind: PublicKind | undefined
  readonly reply: Effect.Effect<RawReply>
  /** The reply where the address has sent too many requests of this kind. */
  readonly refused: (failure: RateLimited, now: number) => RawReply
}

const minuteMillis = 60_000
/** Marks a reply that needed no key. */
export const forAnyone = (reply: RawReply): RawReply => ({ ...reply, isPublic: true })

/** `addressOf`: the client's address of a request. */
export const makePublicAnswers = (addressOf: (request: RequestHead) => string) => {
  const counts = new Map<string, number>()
  let minute = 0
  let failures: { readonly [kind in PublicKind]?: RateLimited } = {}

  /** Created once a minute, since the stack trace of an error costs more than the rest of a refusal. */
  const failureOf = (kind: PublicKind): RateLimited => {
    const limit = publicLimits.perMinute[kind]
    const found = failures[kind] ?? new RateLimited({ limit, what: "calls without a key", resetAt: (minute + 1) * 60 })
    failures = { ...failures, [kind]: found }
    return found
  }

  const count = (kind: PublicKind, request: RequestHead, now: number): boolean => {
    const current = Math.floor(now / minuteMillis)
    if (current !== minute) {
      minute = current
      counts.clear()
      failures = {}
    }
    const of = `${kind} ${subscriberOf(addressOf(request))}`
    const before = counts.get(of)
    // Further addresses share one count.
    const key = before === undefined && counts.size >= publicLimits.entries ? kind : of
    const counted = (counts.get(key) ?? 0) + 1
    counts.set(key, counted)
    return counted <= publicLimits.perMinute[kind]
  }

  const serve = (request: RequestHead, { kind, refused, reply }: PublicAnswer): Effect.Effect<RawReply> =>
    Effect.clockWith((clock) => {
      if (kind === undefined) return Effect.map(reply, forAnyone)
      const now = clock.unsafeCurrentTimeMillis()
      return Effect.map(count(kind, request, now) ? reply : Effect.sync(() => refused(failureOf(kind), now)), forAnyone)
    })

  /** The failure of a request that is looked up by its head alone, if the address has sent too many. */
  const exceeded = (request: RequestHead, kind: PublicKind): Effect.Effect<RateLimited | undefined> =>
    Effect.clockWith((clock) =>
      Effect.sync(() => (count(kind, request, clock.unsafeCurrentTimeMillis()) ? undefined : failureOf(kind)))
    )

  return { serve, exceeded }
}

/** Runs `work` once for all who ask while it runs. */
export const shareInFlight = <A>(work: Effect.Effect<A>): Effect.Effect<A> => {
  let current: Fiber.Fiber<A> | undefined
  const begin = Effect.flatMap(
    Effect.forkDaemon(
      Effect.ensuring(
        work,
        Effect.sync(() => {
          current = undefined
        })
      )
    ),
    (fiber) => {
      current = fiber
      return Fiber.join(fiber)
    }
  )
  return Effect.suspend(() => (current === undefined ? begin : Fiber.join(current)))
}
