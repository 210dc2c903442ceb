/**
 * Admission on this node: calls are taken from leases of the tenant actor, so that most need no message. A lease that
 * is not used up soon goes back, and whatever demand there is elsewhere gets it.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { RateLimited, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { backgroundTask } from "../BackgroundTask.js"
import { type Admission, type Ceilings, RateLimits } from "../ports/RateLimits.js"
import { rounds } from "../Rounds.js"
import { Tenant } from "./Protocol.js"

const minuteMillis = 60_000
/** How long a lease is held without being used up. */
const leaseMillis = 200

interface Held {
  readonly organisationId: OrganisationId
  readonly bucket: string
  readonly limit: number
  readonly minute: number
  tokens: number
  left: number
  until: number
  /** One question to the tenant at a time; the others wait for its answer. */
  readonly gate: Effect.Semaphore
}

export const layer = Layer.scoped(
  RateLimits,
  Effect.gen(function* () {
    const tenant = yield* Tenant.client
    const leases = new Map<string, Held>()

    /** Unused tokens go back while their minute lasts; minutes that are over are forgotten. */
    const giveBack = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const [name, held] of leases) {
        if (held.minute + minuteMillis <= now) leases.delete(name)
        else if (held.tokens > 0 && held.until <= now) {
          const calls = held.tokens
          held.tokens = 0
          yield* tenant(held.organisationId)
            .GiveBack({ bucket: held.bucket, minute: held.minute, limit: held.limit, calls })
            .pipe(Effect.timeout("2 seconds"), Effect.sandbox, Effect.ignore)
        }
      }
    })
    const task = yield* backgroundTask("rate_limits.give_back", giveBack)
    const lookAfter = yield* rounds(
      Duration.millis(leaseMillis),
      task.run.pipe(
        Effect.zipRight(Effect.suspend(() => task.waiting(leases.size > 0))),
        Effect.map(() => leases.size > 0)
      )
    )

    const heldOf = (organisationId: OrganisationId, bucket: string, limit: number, minute: number): Held => {
      const key = `${organisationId}|${bucket}`
      const known = leases.get(key)
      if (known !== undefined && known.minute === minute && known.limit === limit) return known
      const held: Held = {
        organisationId,
        bucket,
        limit,
        minute,
        tokens: 0,
        left: limit,
        until: 0,
        gate: Effect.unsafeMakeSemaphore(1)
      }
      leases.set(key, held)
      lookAfter()
      return held
    }

    const renew = (held: Held, now: number) =>
      tenant(held.organisationId)
        .LeaseCalls({ bucket: held.bucket, minute: held.minute, limit: held.limit })
        .pipe(
          Effect.timeout("2 seconds"),
          // A runner that dies answers with a defect.
          Effect.sandbox,
          Effect.mapError(() => new Unavailable({ reason: "the call cannot be counted now", retryAfterSeconds: 1 })),
          Effect.map((lease) => {
            held.tokens += lease.got
            held.left = lease.left
            held.until = now + leaseMillis
          })
        )

    const take = (held: Held, now: number): Effect.Effect<boolean, Unavailable> =>
      Effect.suspend(() => {
        if (held.tokens > 0) {
          held.tokens--
          return Effect.succeed(true)
        }
        return held.gate.withPermits(1)(
          Effect.suspend(() => {
            const spent = () => held.tokens-- > 0
            if (held.tokens > 0) return Effect.sync(spent)
            return Effect.map(renew(held, now), () => {
              if (held.tokens > 0) return spent()
              held.tokens = 0
              return false
            })
          })
        )
      })

    const admit = ({
      key,
      keyId,
      organisationId,
      plan
    }: Ceilings): Effect.Effect<Admission | null, RateLimited | Unavailable> =>
      key === null && plan === null
        ? Effect.succeed(null)
        : Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const minute = now - (now % minuteMillis)
            const resetAt = (minute + minuteMillis) / 1000
            const buckets = [
              ...(key === null ? [] : [heldOf(organisationId, keyId, key, minute)]),
              ...(plan === null ? [] : [heldOf(organisationId, "plan", plan, minute)])
            ]
            let tightest: Admission | null = null
            const taken: Array<Held> = []
            for (const held of buckets) {
              if (!(yield* take(held, now))) {
                // What the other bucket gave is not used.
                for (const other of taken) other.tokens++
                return yield* new RateLimited({ limit: held.limit, resetAt })
              }
              taken.push(held)
              const remaining = held.left + held.tokens
              if (tightest === null || remaining < tightest.remaining)
                tightest = { limit: held.limit, remaining, resetAt }
            }
            return tightest
          })

    return RateLimits.of({ admit })
  })
)
