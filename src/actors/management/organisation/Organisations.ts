/** Use cases of the caller's own organisation: read it, and change its settings, plan and status. Contract: organisation record. */
import { Effect } from "effect"
import { Conflict, type Detail, type Failure, NotFound, refuseWith } from "../../../domain/Failure.js"
import {
  changedOrganisation,
  Organisation,
  organisationView,
  ownChangeRefusal,
  type UpdateOrganisation
} from "../../../domain/organisation/Organisation.js"
import { type Plan, type PlanName, plans } from "../../../domain/organisation/Plan.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { findEnvironment } from "./EnvironmentRecords.js"
import { type PageRequest, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { findReached } from "../ReachedRecord.js"

const find = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Organisation, Failure> => {
  const where = { id: id as Organisation["id"] } // unchecked text from the request
  if (id !== caller.organisationId) return new NotFound({ what: "organisation" })
  return findReached(tx.organisations, caller, "organisation", where, lock)
}

/** The records that a plan limits, with their counts. `key`: the lock that serialises their creation. */
const stocks: ReadonlyArray<{
  readonly dimension: string
  readonly key: string
  readonly limit: (plan: Plan) => number | null
  readonly count: (tx: Tx) => Effect.Effect<number, Failure>
}> = [
  {
    dimension: "flows_per_tenant",
    key: "flows_per_tenant",
    limit: (plan) => plan.flowsPerTenant,
    // Of the owner that has most: each customer, and the organisation itself, has as many.
    count: (tx) =>
      Effect.map(tx.workflows.countBy("customerId", { deletedAt: null, status: ["draft", "published"] }), (byOwner) =>
        Math.max(0, ...byOwner.values())
      )
  },
  {
    dimension: "connectors_per_tenant",
    key: "connectors_per_tenant",
    limit: (plan) => plan.connectorsPerTenant,
    count: (tx) => tx.connectors.count({ deletedAt: null })
  },
  {
    dimension: "active_integrations",
    key: "active_integrations",
    limit: (plan) => plan.activeIntegrations,
    count: (tx) => tx.installations.count({ status: "active" })
  },
  {
    dimension: "triggers",
    key: "triggers",
    limit: (plan) => plan.triggers,
    count: (tx) => tx.triggers.count({ deletedAt: null })
  },
  {
    dimension: "organisation_api_keys",
    key: "api_keys",
    limit: (plan) => plan.organisationKeys,
    count: (tx) => tx.apiKeys.count({ revokedAt: null, customersMode: "all" })
  }
]

/** Fails if more is in use than the plan allows. Exact, because creations wait for the locks until the change commits. */
const checkStocks = Effect.fnUntraced(function* (tx: Tx, name: PlanName): Effect.fn.Return<void, Failure> {
  const details: Array<Detail> = []
  for (const { count, dimension, key, limit } of stocks) {
    const most = limit(plans[name])
    if (most === null) continue
    yield* tx.lockKey(key)
    const used = yield* count(tx)
    if (used > most)
      details.push({
        path: "plan",
        code: dimension,
        message: `${name} allows ${most} of ${dimension}; ${used} are in use`
      })
  }
  const [first] = details
  if (first !== undefined) return yield* new Conflict({ code: "CONFLICT", message: first.message, details })
})

/** `defaultPlan`: the plan that the operator gives to new organisations. */
const make = ({ defaultPlan }: { readonly defaultPlan: PlanName }) =>
  Effect.gen(function* () {
    const { change, read } = yield* Changes
    const pages = yield* Pages

    const update = Effect.fnUntraced(function* (
      tx: Tx,
      context: CallContext,
      id: string,
      input: UpdateOrganisation,
      now: string
    ) {
      const before = yield* find(tx, context.caller, id, true)
      yield* checkVersion(context, input.version, before.version)
      const changes = yield* pickChanges(Organisation.Update, input, organisationView(before))
      const after = changedOrganisation(before, changes, now)
      yield* refuseWith(ownChangeRefusal(before, after, defaultPlan))
      if (after.defaultEnvironment !== before.defaultEnvironment)
        yield* findEnvironment(tx, context.caller, after.defaultEnvironment, "defaultEnvironment")
      if (after.plan !== before.plan) yield* checkStocks(tx, after.plan)
      yield* tx.organisations.update(after)
      return {
        value: organisationView(after),
        resource: { id: after.id, name: after.name },
        ...(after.status === before.status ? {} : { action: `organisation.update.${after.status}` }),
        before: organisationView(before),
        after: organisationView(after)
      }
    })

    return {
      /** The caller's own organisation, as a list. */
      list: (context: CallContext, params: PageRequest) =>
        read(context, (tx) =>
          pages.views(tx.organisations, params, { where: { id: context.caller.organisationId } }, organisationView)
        ),
      get: (context: CallContext, id: string) =>
        Effect.map(
          read(context, (tx) => find(tx, context.caller, id)),
          organisationView
        ),
      /** Takes effect at once. Fails with `Conflict` if the new plan allows less than is in use. */
      update: (context: CallContext, id: string, input: UpdateOrganisation) =>
        Effect.flatMap(currentTimestamp, (now) => change(context, (tx) => update(tx, context, id, input, now)))
    }
  })

export class Organisations extends Effect.Service<Organisations>()("svc/Organisations", { effect: make }) {}
