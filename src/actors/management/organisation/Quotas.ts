/** Use cases of quotas: what an organisation or a customer uses of its limits, and the totals of days. Contract: quota. */
import { nounOf } from "../../../domain/access/CallerKind.js"
import { Clock, Effect, Record as Records, Schema } from "effect"
import type { CallContext } from "../CallContext.js"
import { type Customer, customerCeiling } from "../../../domain/organisation/Customer.js"
import { InvalidRequest, type Unavailable } from "../../../domain/Failure.js"
import { liveStatuses } from "../../../domain/connection/Connection.js"
import { type Dimension, dimensions, planCeiling, PlanName } from "../../../domain/organisation/Plan.js"
import {
  type DailyDimension,
  highestUse,
  isUsedOn,
  quotaUse,
  statusOf,
  windowStart
} from "../../../domain/organisation/Usage.js"
import type { Tx } from "../../ports/Records.js"
import { StorageUsage } from "../../ports/organisation/StorageUsage.js"
import { UsageReads } from "../../ports/organisation/UsageReads.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { findCustomer } from "./CustomerRecords.js"
import { AnsweredTime } from "../../../domain/Time.js"

/** The state of all quotas of the organisation. */
export const QuotaSummary = Schema.Struct({
  plan: PlanName,
  status: Schema.Literal("ok", "warning", "exceeded"),
  highest: Schema.NullOr(Schema.Struct({ dimension: Schema.String, percent: Schema.Number })).annotations({
    description: "the quota that is closest to its limit; null: none is limited"
  }),
  period: Schema.Struct({ from: AnsweredTime, to: AnsweredTime }),
  byCustomer: Schema.Array(Schema.Struct({ customerId: Schema.String, used: Schema.Number })).annotations({
    description: "the 20 customers with a limit of their own that have used the most events of the day"
  })
}).annotations({ identifier: "QuotaSummary" })
type QuotaSummary = typeof QuotaSummary.Type

const dayMillis = 86_400_000
const mostDays = 92
const defaultDays = 30

/** Whose use is asked for. */
interface Subject {
  readonly caller: Principal
  readonly customer: Customer | null
  readonly now: number
}

const dateOf = (millis: number) => new Date(millis).toISOString().slice(0, 10)

type Count = (tx: Tx, subject: Subject) => Effect.Effect<number, Unavailable>

/** Storage is counted for organisations only, and keys of customers for customers only. */
const dimensionsOf = ({ customer }: Subject): ReadonlyArray<Dimension> =>
  // The keys of the table.
  (Object.keys(dimensions) as ReadonlyArray<Dimension>).filter((dimension) =>
    customer === null ? dimension !== "api_keys_per_customer" : dimension !== "storage_mb"
  )

/** The customer that the request names, or the only one that the key reaches; `null`: the organisation. */
const subjectOf = Effect.fnUntraced(function* (tx: Tx, caller: Principal, named: string | undefined) {
  const now = yield* Clock.currentTimeMillis
  const [only, ...others] = caller.customers === "all" ? [] : caller.customers
  if (named === undefined && caller.customers === "all") return { caller, customer: null, now }
  const id = named ?? (others.length === 0 ? only : undefined)
  if (id === undefined)
    return yield* new InvalidRequest({
      code: "INVALID_REQUEST",
      message: `customer_id names one of the customers that this ${nounOf(caller)} reaches`
    })
  return { caller, customer: yield* findCustomer(tx, caller, id), now }
})

/** The range of days, or why it is refused. `from` and `to`: as `TimeBound` decodes them. */
const rangeOf = (
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number
): Effect.Effect<{ readonly from: string; readonly to: string }, InvalidRequest> => {
  const until = to ? Date.parse(to) : now
  const since = from ? Date.parse(from) : until - (defaultDays - 1) * dayMillis
  if (since > until || until - since > mostDays * dayMillis)
    return new InvalidRequest({
      code: "INVALID_REQUEST",
      message: `from and to are times with at most ${mostDays} days between them`
    })
  return Effect.succeed({ from: dateOf(since), to: dateOf(until) })
}

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const reads = yield* UsageReads
  const storage = yield* StorageUsage

  /** What is metered, outside of transactions of the organisation: the counters are those of its account. */
  const metered = {
    // Without a limit nothing is counted at once: then it is the hourly count.
    events_per_day: ({ caller, customer, now }) =>
      customer === null && caller.plan.eventsPerDay === null
        ? Effect.map(reads.days(caller.organisationId, dateOf(now), dateOf(now)), ([day]) => day?.events ?? 0)
        : reads.granted(
            caller.accountId,
            customer === null ? "starts" : `starts|${customer.id}`,
            windowStart("day", now)
          ),
    api_calls_per_minute: ({ caller, customer, now }) =>
      customer === null
        ? reads.granted(caller.accountId, "plan", windowStart("minute", now))
        : reads.granted(caller.organisationId, `calls|${customer.id}`, windowStart("minute", now)),
    // No part of the service has agents or language models yet, so none are used.
    agent_sessions_per_day: () => Effect.succeed(0),
    llm_tokens_per_day: () => Effect.succeed(0),
    storage_mb: ({ caller, customer }) =>
      customer === null ? Effect.map(storage.megabytes(caller.accountId), Math.floor) : Effect.succeed(0)
  } satisfies { readonly [D in Dimension]?: (subject: Subject) => Effect.Effect<number, Unavailable> }

  /** What is stored. */
  const stored: { readonly [D in Exclude<Dimension, keyof typeof metered>]: Count } = {
    active_integrations: (tx, { customer }) =>
      customer === null
        ? tx.countOfAccount("active_integrations")
        : tx.installations.count({ customerId: customer.id, status: "active" }),
    flows_per_tenant: (tx, { customer }) =>
      // Each customer has as many as the organisation itself.
      tx.workflows.count({ customerId: customer?.id ?? null, deletedAt: null, status: ["draft", "published"] }),
    triggers: (tx, { customer }) =>
      customer === null
        ? tx.countOfAccount("triggers")
        : tx.triggers.count({ customerId: customer.id, deletedAt: null }),
    connectors_per_tenant: (tx, { customer }) =>
      Effect.map(
        tx.connections.countBy("connector", {
          ...(customer === null ? {} : { customerId: customer.id }),
          status: liveStatuses
        }),
        ({ size }) => size
      ),
    api_keys_per_customer: (tx, { customer }) =>
      Effect.map(
        tx.apiKeys.list({ where: { revokedAt: null, customersMode: "subset" }, limit: 10_000 }),
        (keys) => keys.filter(({ customerIds }) => customer === null || customerIds.includes(customer.id)).length
      )
  }

  const usesOf = Effect.fnUntraced(function* (context: CallContext, subject: Subject) {
    const { caller, customer, now } = subject
    const used: { readonly [D in Dimension]: number } = {
      ...(yield* read(context, (tx) => Effect.all(Records.map(stored, (count) => count(tx, subject))))),
      ...(yield* Effect.all(Records.map(metered, (count) => count(subject))))
    }
    return dimensionsOf(subject).map((dimension) => {
      const limit = customer === null ? planCeiling(caller.plan, dimension) : customerCeiling(customer, dimension)
      return quotaUse(dimension, customer === null ? "organisation" : "customer", used[dimension], limit, now)
    })
  })

  return {
    /** The quotas of the organisation, or of the customer that the request names. */
    usage: (context: CallContext, { customer_id }: { readonly customer_id?: string | undefined }) =>
      Effect.flatMap(
        read(context, (tx) => subjectOf(tx, context.caller, customer_id)),
        (subject) => usesOf(context, subject)
      ),
    summary: Effect.fnUntraced(function* (context: CallContext) {
      const { caller } = context
      const now = yield* Clock.currentTimeMillis
      const uses = yield* usesOf(context, { caller, customer: null, now })
      const highest = highestUse(uses)
      const start = windowStart("day", now)
      return {
        plan: caller.organisation.plan,
        status: statusOf(highest?.percent ?? 0),
        highest,
        period: { from: new Date(start).toISOString(), to: new Date(start + dayMillis).toISOString() },
        byCustomer: yield* reads.topCustomers(caller, start)
      }
    }),
    /** The totals of up to 92 days; by default the last 30. `dimension`: only days on which it was used. */
    daily: Effect.fnUntraced(function* (
      context: CallContext,
      params: {
        readonly from?: string | undefined
        readonly to?: string | undefined
        readonly dimension?: DailyDimension | undefined
      }
    ) {
      const { from, to } = yield* rangeOf(params, yield* Clock.currentTimeMillis)
      const days = yield* reads.days(context.caller.organisationId, from, to)
      return days.filter((day) => params.dimension === undefined || isUsedOn(day, params.dimension))
    })
  }
})

export class Quotas extends Effect.Service<Quotas>()("svc/Quotas", { effect: make }) {}
