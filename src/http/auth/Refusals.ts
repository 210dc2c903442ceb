/**
 * Counts refused keys by the minute, so that guessing costs the guesser and not the service. A key that exists is
 * counted with the address that it came from; keys that do not exist are counted for their address.
 */
import { type Clock, Context, Duration, Effect, Layer } from "effect"
import { RateLimited } from "../../domain/Failure.js"
import { refusals } from "../../domain/Limits.js"

const minuteMillis = 60_000

interface Window {
  readonly minute: number
  count: number
}

interface Counter {
  /** Counts one more. */
  readonly count: (of: string, now: number) => void
  /** Why the next one is not looked at, if it is not. */
  readonly exceeded: (of: string, now: number) => RateLimited | undefined
}

export class Refusals extends Context.Tag("svc/Refusals")<
  Refusals,
  {
    readonly unknown: Counter
    readonly known: Counter
    readonly signatures: Counter
    /** Fails with the refusal in its turn: however many calls are over a limit, they take a small share of the service. */
    readonly inTurn: (exceeded: RateLimited) => Effect.Effect<never, RateLimited>
  }
>() {}

/** Beyond the most entries, those that were counted longest ago are forgotten. */
const counter = (limit: number): Counter => {
  const windows = new Map<string, Window>()
  /** Made once a minute: an error takes a picture of the stack, which costs more than the rest of a refusal. */
  let refused: RateLimited | undefined
  const refusedUntil = (resetAt: number): RateLimited => {
    if (refused?.resetAt !== resetAt) refused = new RateLimited({ limit, what: "refused calls", resetAt })
    return refused
  }
  const current = (of: string, now: number) => {
    const found = windows.get(of)
    return found?.minute === Math.floor(now / minuteMillis) ? found : undefined
  }
  return {
    count: (of, now) => {
      const found = current(of, now) ?? { minute: Math.floor(now / minuteMillis), count: 0 }
      found.count++
      windows.delete(of)
      windows.set(of, found)
      const [oldest] = windows.size > refusals.entries ? windows.keys() : []
      if (oldest !== undefined) windows.delete(oldest)
    },
    exceeded: (of, now) =>
      (current(of, now)?.count ?? 0) < limit
        ? undefined
        : refusedUntil((Math.floor(now / minuteMillis) + 1) * (minuteMillis / 1000))
  }
}

const groups = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(":"))

/** The address, or of an IPv6 address its /64, which one subscriber has whole. */
export const subscriberOf = (address: string): string => {
  if (!address.includes(":")) return address
  const [left = "", right] = address.split("::")
  const before = groups(left)
  const after = groups(right ?? "")
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0")
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`
}

const [pauseMillis, longestMillis] = [Duration.toMillis(refusals.pause), Duration.toMillis(refusals.longestWait)]

/** Answers one refusal a pause. Those for which too many are before them come together at the longest wait. */
const pacing = (clock: Clock.Clock) => {
  let free = 0
  return (exceeded: RateLimited): Effect.Effect<never, RateLimited> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const wait = Math.min(Math.max(0, free - now), longestMillis)
      free = now + wait + pauseMillis
      return Effect.zipRight(Effect.sleep(Duration.millis(wait)), Effect.fail(exceeded))
    })
}

export const layer = Layer.effect(
  Refusals,
  Effect.map(Effect.clock, (clock) => ({
    unknown: counter(refusals.unknownKeys),
    known: counter(refusals.ofOneKey),
    signatures: counter(refusals.ofOneKey),
    inTurn: pacing(clock)
  }))
)
