/**
 * Counts refused credentials per minute, so that guessing them is answered 429 without a look-up. One that exists is
 * counted by its caller together with the sender's address, an unknown one by address. Each of the nodes that serve
 * requests has its part of a limit.
 */
import { type Clock, Duration, Effect } from "effect"
import { Ownership } from "../../actors/ports/Ownership.js"
import { RateLimited } from "../../domain/Failure.js"
import { sessionLimits } from "../../domain/access/Session.js"
import { customAuthGuesses } from "../../domain/flow/CustomAuth.js"
import { refusalLimits } from "../../domain/Limits.js"
import { RecentMap } from "../../domain/RecentMap.js"

const minuteMillis = 60_000

interface Window {
  readonly minute: number
  count: number
}

interface Counter {
  /** Counts one refusal. `of`: caller and address, or address. `now`: Unix milliseconds. */
  readonly count: (of: string, now: number) => void
  /** The failure for further attempts in this minute, if the limit is reached. */
  readonly exceeded: (of: string, now: number) => RateLimited | undefined
}

const makeCounter = (limit: number, servers: () => number): Counter => {
  const windows = new RecentMap<string, Window>(refusalLimits.entries)
  /** Created once a minute, since the stack trace of an error costs more than the rest of a refusal. */
  let failure: RateLimited | undefined
  const failureUntil = (resetAt: number): RateLimited => {
    if (failure?.resetAt !== resetAt) failure = new RateLimited({ limit, what: "refused calls", resetAt })
    return failure
  }
  const current = (of: string, now: number) => {
    const found = windows.get(of)
    return found?.minute === Math.floor(now / minuteMillis) ? found : undefined
  }
  return {
    count: (of, now) => {
      const found = current(of, now) ?? { minute: Math.floor(now / minuteMillis), count: 0 }
      found.count++
      windows.set(of, found)
    },
    exceeded: (of, now) =>
      (current(of, now)?.count ?? 0) < Math.max(1, Math.floor(limit / servers()))
        ? undefined
        : failureUntil((Math.floor(now / minuteMillis) + 1) * (minuteMillis / 1000))
  }
}

const groups = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(":"))

/** The address; of an IPv6 address its /64 network, which belongs to one subscriber. */
export const subscriberOf = (address: string): string => {
  if (!address.includes(":")) return address
  const [left = "", right] = address.split("::")
  const before = groups(left)
  const after = groups(right ?? "")
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0")
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`
}

const [pauseMillis, longestMillis] = [
  Duration.toMillis(refusalLimits.pause),
  Duration.toMillis(refusalLimits.longestWait)
]

/**
 * Fails with the refusal, one call after each pause, so that calls over a limit take a small share of the node. A call
 * never waits longer than the longest wait.
 */
const makeFailInTurn = (clock: Clock.Clock) => {
  let freeAt = 0
  return (exceeded: RateLimited): Effect.Effect<never, RateLimited> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const wait = Math.min(Math.max(0, freeAt - now), longestMillis)
      freeAt = now + wait + pauseMillis
      return Effect.zipRight(Effect.sleep(Duration.millis(wait)), Effect.fail(exceeded))
    })
}

/**
 * Limits the wrong tries of a secret that a tenant has chosen, which may be short enough to guess. `of`: the secret and the
 * address. `check`: whether the try is right. Fails with `RateLimited` after too many, whatever the try is; so do tries that
 * were being checked meanwhile, so that many at once find out no more than one after the other.
 */
const makeLimitGuesses =
  (clock: Clock.Clock, guesses: Counter, failInTurn: ReturnType<typeof makeFailInTurn>) =>
  <E>(of: string, check: Effect.Effect<boolean, E>): Effect.Effect<boolean, E | RateLimited> =>
    Effect.suspend(() => {
      const refusal = () => guesses.exceeded(of, clock.unsafeCurrentTimeMillis())
      const before = refusal()
      if (before !== undefined) return failInTurn(before)
      return Effect.flatMap(check, (isRight): Effect.Effect<boolean, RateLimited> => {
        const meanwhile = refusal()
        if (meanwhile !== undefined) return failInTurn(meanwhile)
        if (!isRight) guesses.count(of, clock.unsafeCurrentTimeMillis())
        return Effect.succeed(isRight)
      })
    })

/**
 * Counters of refused attempts, shared by all surfaces of the node. What is not counted here by its secret is a secret of
 * `Identifiers.secret`, which nobody guesses.
 */
export class RefusalCounters extends Effect.Service<RefusalCounters>()("svc/RefusalCounters", {
  effect: Effect.map(Effect.all([Effect.clock, Ownership]), ([clock, { servers }]) => {
    const failInTurn = makeFailInTurn(clock)
    return {
      unknownCredentials: makeCounter(refusalLimits.unknownCredentials, servers),
      knownCallers: makeCounter(refusalLimits.ofOneCaller, servers),
      /** Every try to sign in, also one that succeeds. */
      signIns: makeCounter(sessionLimits.triesPerMinute, servers),
      signatures: makeCounter(refusalLimits.ofOneCaller, servers),
      limitGuesses: makeLimitGuesses(clock, makeCounter(customAuthGuesses, servers), failInTurn),
      failInTurn
    }
  })
}) {}
