/**
 * Releases held events once the reason is gone: on the next day or a larger plan, the oldest first, as many as the quota
 * allows; when the customer or the connection is active again. After thirty days a held event becomes a dead letter.
 */
import { Duration, Effect, Layer, Option } from "effect"
import type { CustomerId, OrganisationId } from "../../domain/Ids.js"
import { backgroundTask } from "../BackgroundTask.js"
import { HeldEvents, type QuotaReason } from "../ports/HeldEvents.js"
import { OrganisationReads } from "../ports/OrganisationReads.js"
import { Wakeups } from "../ports/Wakeups.js"
import { make as makeEventQuota } from "./EventQuota.js"

const pollInterval = Duration.seconds(5)
const batchSize = 500
/** The first batch of a pass. It shows at little cost whether the organisation still has used up its quota. */
const probeSize = 1
const reasons: ReadonlyArray<QuotaReason> = ["quota", "storage"]

const make = Effect.gen(function* () {
  const held = yield* HeldEvents
  const organisations = yield* OrganisationReads
  const wakeups = yield* Wakeups
  const quota = yield* makeEventQuota

  /** Releases a batch of at most `size`. Returns whether there may be more to release. */
  const releaseBatch = Effect.fnUntraced(function* (
    id: OrganisationId,
    reason: QuotaReason,
    blocked: Set<CustomerId>,
    size: number
  ) {
    const organisation = Option.getOrUndefined(yield* organisations.find(id))
    if (organisation === undefined) return false
    const events = yield* held.oldest(id, reason, [...blocked], size)
    if (yield* quota.isFull(organisation)) return false
    const wanted = yield* Effect.forEach(events, ({ customerId, id: event }) =>
      Effect.map(quota.allowanceOf(organisation, customerId), (allowance) => ({
        id: event,
        ...(allowance === undefined ? {} : { allowance })
      }))
    )
    const { beyond, count } = yield* held.release(id, wanted)
    // The customer's own limit stops only its events.
    let isUsedUp = false
    for (const { allowance, id: event } of wanted) {
      if (!beyond.has(event) || allowance === undefined) continue
      if (allowance.customerLimit === null || allowance.customerId === null) isUsedUp = true
      else blocked.add(allowance.customerId)
    }
    if (count > 0) wakeups.signalQueued()
    return !isUsedUp && events.length === size
  })

  const releaseWithinQuota = Effect.gen(function* () {
    for (const reason of reasons)
      for (const id of yield* held.organisations(reason)) {
        const blocked = new Set<CustomerId>()
        let size = probeSize
        while (yield* releaseBatch(id, reason, blocked, size)) size = batchSize
      }
  })

  const pass = Effect.gen(function* () {
    yield* releaseWithinQuota
    while ((yield* held.releaseResolved(batchSize)) > 0) wakeups.signalQueued()
    while ((yield* held.expire(batchSize)) === batchSize);
  })

  const task = yield* backgroundTask("events.release_held", pass)
  return Effect.forever(Effect.zipRight(task.run, Effect.sleep(pollInterval)))
})

export const layer = Layer.scopedDiscard(
  Effect.flatMap(make, (sweep) => Effect.forkScoped(Effect.interruptible(sweep)))
)
