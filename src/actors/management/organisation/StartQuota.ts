/**
 * Counts accepted starts of runs against `events_per_day` of the organisation and of the customer. All surfaces start runs
 * through it. Contract: quota.
 */
import { Effect, Option } from "effect"
import { type Customer, customerCeiling } from "../../../domain/organisation/Customer.js"
import { PlanLimitReached, type Unavailable } from "../../../domain/Failure.js"
import { CustomerReads } from "../../ports/organisation/CustomerReads.js"
import type { StartResult } from "../../ports/run/Executions.js"
import { RateLimits, type StartCeilings } from "../../ports/organisation/RateLimits.js"
import { StorageUsage } from "../../ports/organisation/StorageUsage.js"
import type { Principal } from "../Caller.js"

const make = Effect.gen(function* () {
  const limits = yield* RateLimits
  const customers = yield* CustomerReads
  const storage = yield* StorageUsage

  const checkStorage = ({ accountId, plan }: Principal): Effect.Effect<void, PlanLimitReached | Unavailable> => {
    const limit = plan.storageMb
    return limit === null
      ? Effect.void
      : Effect.flatMap(storage.megabytes(accountId), (used) =>
          used < limit ? Effect.void : new PlanLimitReached({ dimension: "storage_mb", limit, used: Math.floor(used) })
        )
  }

  const customerDay = Effect.fnUntraced(function* (caller: Principal, { id }: Pick<Customer, "id">) {
    const found = yield* customers.find(caller.organisationId, { id })
    return Option.match(found, { onNone: () => null, onSome: (one) => customerCeiling(one, "events_per_day") })
  })

  const countedWithin = <E>(ceilings: StartCeilings, start: Effect.Effect<StartResult, E>) =>
    ceilings.account === null && ceilings.customer === null
      ? start
      : Effect.flatMap(limits.takeStart(ceilings), ({ giveBack }) =>
          start.pipe(
            // Not on interruption: the run goes on without its caller, and counts.
            Effect.tapError(() => giveBack),
            Effect.tap((started) => (started._tag === "Repeated" ? giveBack : Effect.void))
          )
        )

  /**
   * Starts a run if the day's quota allows it, and if the account does not store more than its plan allows. A start
   * that fails or repeats an earlier one does not count.
   */
  const countStart = <E>(
    caller: Principal,
    customer: Pick<Customer, "id"> | null,
    start: Effect.Effect<StartResult, E>
  ) => {
    const ceilings = { accountId: caller.accountId, account: caller.plan.eventsPerDay }
    const counted =
      customer === null
        ? countedWithin({ ...ceilings, customerId: null, customer: null }, start)
        : Effect.flatMap(customerDay(caller, customer), (ceiling) =>
            countedWithin({ ...ceilings, customerId: customer.id, customer: ceiling }, start)
          )
    return caller.plan.storageMb === null ? counted : Effect.zipRight(checkStorage(caller), counted)
  }

  return { countStart }
})

export class StartQuota extends Effect.Service<StartQuota>()("svc/StartQuota", { effect: make }) {}
