/**
 * Use cases of the caller's organisation and of those whose parent it is: create one, read them, and change their settings,
 * plan and status. Contract: organisation record.
 */
import { Effect, Redacted } from "effect"
import { Conflict, type Detail, type Failure, PlanLimitReached, refuseWith } from "../../../domain/Failure.js"
import {
  childOrganisation,
  childrenPerOrganisation,
  type CreateInOrganisation,
  parentRefusal
} from "../../../domain/organisation/NewOrganisation.js"
import {
  changedOrganisation,
  changeRefusal,
  Organisation,
  organisationView,
  type UpdateOrganisation
} from "../../../domain/organisation/Organisation.js"
import { type Plan, type PlanName, plans } from "../../../domain/organisation/Plan.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AccountStock, Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { checkKeyPlan, makeApiKeyChecks } from "../access/ApiKeyChecks.js"
import { findEnvironment } from "./EnvironmentRecords.js"
import { type PageRequest, Pages } from "../Pages.js"
import { Groups } from "./Groups.js"
import { makeOrganisationSetup } from "./OrganisationSetup.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { findReached } from "../ReachedRecord.js"

/** The caller's organisation, or one whose parent that is: no other can be seen. */
const find = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Organisation, Failure> => {
  const where = { id: id as Organisation["id"] } // unchecked text from the request
  return findReached(tx.organisations, caller, "organisation", where, lock)
}

/** The records that a plan limits. `key`: the lock that serialises their creation. */
const stocks: ReadonlyArray<{
  readonly stock: Exclude<AccountStock, "messages">
  readonly key: string
  readonly limit: (plan: Plan) => number | null
}> = [
  { stock: "flows_per_tenant", key: "flows_per_tenant", limit: (plan) => plan.flowsPerTenant },
  { stock: "connectors_per_tenant", key: "connectors_per_tenant", limit: (plan) => plan.connectorsPerTenant },
  { stock: "active_integrations", key: "active_integrations", limit: (plan) => plan.activeIntegrations },
  { stock: "triggers", key: "triggers", limit: (plan) => plan.triggers },
  { stock: "organisation_api_keys", key: "api_keys", limit: (plan) => plan.organisationKeys }
]

/**
 * Fails if the account uses more than the plan allows. Exact, because creations wait for the locks until the change
 * commits.
 */
const checkStocks = Effect.fnUntraced(function* (tx: Tx, name: PlanName): Effect.fn.Return<void, Failure> {
  const details: Array<Detail> = []
  for (const { key, limit, stock } of stocks) {
    const most = limit(plans[name])
    if (most === null) continue
    yield* tx.lockKeyOfAccount(key)
    const used = yield* tx.countOfAccount(stock)
    if (used > most)
      details.push({
        path: "plan",
        code: stock,
        message: `${name} allows ${most} of ${stock}; ${used} are in use`
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
    const identifiers = yield* Identifiers
    const { addTeams } = yield* Groups
    const setup = yield* makeOrganisationSetup
    const { checkWithinCaller } = yield* makeApiKeyChecks

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
      const { organisationId } = context.caller
      // The caller's own may have been suspended a moment ago.
      const by = after.id === organisationId ? before : yield* find(tx, context.caller, organisationId)
      yield* refuseWith(changeRefusal(before, after, by, defaultPlan))
      if (after.defaultEnvironment !== before.defaultEnvironment)
        yield* tx.within(after.id, findEnvironment(tx, context.caller, after.defaultEnvironment, "defaultEnvironment"))
      if (after.plan !== before.plan) yield* checkStocks(tx, after.plan)
      yield* tx.organisations.update(after)
      if (after.id !== organisationId) yield* tx.noteChangeOf([after.id])
      if (after.plan !== before.plan || after.status !== before.status) {
        const children = yield* tx.organisations.list({ where: { parentId: after.id }, limit: childrenPerOrganisation })
        yield* tx.noteChangeOf(children.map(({ id }) => id))
      }
      return {
        value: organisationView(after),
        resource: { id: after.id, name: after.name },
        ...(after.status === before.status ? {} : { action: `organisation.update.${after.status}` }),
        before: organisationView(before),
        after: organisationView(after)
      }
    })

    /** Creates an organisation whose parent is the caller's, and its first key with what the caller has at most. */
    const create = Effect.fnUntraced(function* (
      tx: Tx,
      context: CallContext,
      input: CreateInOrganisation,
      now: string
    ) {
      const { caller } = context
      const parent = yield* find(tx, caller, caller.organisationId, true)
      yield* refuseWith(parentRefusal(parent, input.parentId))
      const used = yield* tx.organisations.count({ parentId: parent.id })
      if (used >= childrenPerOrganisation)
        return yield* new PlanLimitReached({ dimension: "organisations", limit: childrenPerOrganisation, used })
      const organisation = childOrganisation(parent, identifiers.next("org"), input, now)
      const { key, text } = setup.firstKey(organisation, caller.id, caller.bounds)
      yield* checkWithinCaller(caller, key)
      yield* checkKeyPlan(tx, caller, key)
      yield* tx.within(
        organisation.id,
        Effect.zipRight(setup.insert(tx, organisation, key), addTeams(tx, organisation.id, input.teams ?? [], now))
      )
      const view = organisationView(organisation)
      return {
        value: { ...view, spaceId: key.spaceId, apiKeyId: key.id, apiKey: Redacted.value(text) },
        resource: { id: organisation.id, name: organisation.name },
        after: view
      }
    })

    return {
      /** The caller's organisation, and those whose parent it is. */
      list: (context: CallContext, params: PageRequest) =>
        read(context, (tx) => pages.views(tx.organisations, params, { searchIn: ["name", "slug"] }, organisationView)),
      create: (context: CallContext, input: CreateInOrganisation) =>
        Effect.flatMap(currentTimestamp, (now) => change(context, (tx) => create(tx, context, input, now))),
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
