/**
 * Counts accepted starts of runs against `events_per_day` of the organisation and of the customer. All surfaces start runs
 * through it. Contract: quota.
 */
import { Context, Effect, Layer, Option } from "effect"
import type { Customer } from "../../domain/Customer.js"
import type { QuotaExceeded, Unavailable } from "../../domain/Failure.js"
import { customerCeiling } from "../../domain/Quota.js"
import { CustomerReads } from "../ports/CustomerReads.js"
import type { StartResult } from "../ports/Executions.js"
import { RateLimits, type StartCeilings } from "../ports/RateLimits.js"
import type { Principal } from "./Caller.js"

export class StartQuota extends Context.Tag("svc/StartQuota")<
  StartQuota,
  {
    /** Starts a run if the day's quota allows it. A start that fails or repeats an earlier one does not count. */
    readonly countStart: <E>(
      caller: Principal,
      customer: Pick<Customer, "id"> | null,
      start: Effect.Effect<StartResult, E>
    ) => Effect.Effect<StartResult, E | QuotaExceeded | Unavailable>
  }
>() {}

export const layer = Layer.effect(
  StartQuota,
  Effect.gen(function* () {
    const limits = yield* RateLimits
    const customers = yield* CustomerReads

    const customerDay = Effect.fnUntraced(function* (caller: Principal, { id }: Pick<Customer, "id">) {
      const found = yield* customers.find(caller.organisationId, { id })
      return Option.match(found, { onNone: () => null, onSome: (one) => customerCeiling(one, "events_per_day") })
    })

    const countedWithin = <E>(
      ceilings: StartCeilings,
      start: Effect.Effect<StartResult, E>
    ): Effect.Effect<StartResult, E | QuotaExceeded | Unavailable> =>
      ceilings.organisation === null && ceilings.customer === null
        ? start
        : Effect.flatMap(limits.takeStart(ceilings), ({ giveBack }) =>
            start.pipe(
              // Not on interruption: the run goes on without its caller, and counts.
              Effect.tapError(() => giveBack),
              Effect.tap((started) => (started._tag === "Repeated" ? giveBack : Effect.void))
            )
          )

    const countStart: StartQuota["Type"]["countStart"] = (caller, customer, start) => {
      const ceilings = { organisationId: caller.organisationId, organisation: caller.plan.eventsPerDay }
      return customer === null
        ? countedWithin({ ...ceilings, customerId: null, customer: null }, start)
        : Effect.flatMap(customerDay(caller, customer), (ceiling) =>
            countedWithin({ ...ceilings, customerId: customer.id, customer: ceiling }, start)
          )
    }

    return StartQuota.of({ countStart })
  })
)
