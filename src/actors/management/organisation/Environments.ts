/** Use cases of environments: list, create, change, delete. Contract: environment record. */
import { Effect } from "effect"
import { Conflict, type Failure, InvalidState, PlanLimitReached, refuseWith } from "../../../domain/Failure.js"
import {
  changedEnvironment,
  type CreateEnvironment,
  deletionRefusal,
  deploymentMembers,
  Environment,
  environmentLimit,
  reviewRequired,
  settingsRefusal,
  slugRefusal,
  type UpdateEnvironment
} from "../../../domain/organisation/Environment.js"
import { replacedRelease } from "../../../domain/workflow/Release.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { missingPermission, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { customerOfBody, sharedListFilter } from "./CustomerRecords.js"
import { findEnvironmentRecord, findRules, lockDeployments } from "./EnvironmentRecords.js"

export const EnvironmentList = listQuery({ customer_id: optionalText })
type EnvironmentList = typeof EnvironmentList.Type

/** Workspaces whose releases one environment can have. */
const rowsRead = 10_000

const resourceOf = ({ customerId, id, name }: Environment) => ({ id, name, customerId })

const placeOf = ({ customerId, slug }: Environment) => ({ customerId, environment: slug })

/** Fails unless the caller may deploy to the environment: its rules decide about what runs there. */
const checkDeployer = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  { customerId, slug }: Environment
): Effect.fn.Return<void, Failure> {
  const rules = yield* findRules(tx, customerId, slug)
  if (rules !== undefined) yield* refuseWith(missingPermission(caller, rules.needs))
})

/** Taking a review away is a review of what waits for one: not of the caller's own releases. */
const checkWaiver = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  environment: Environment
): Effect.fn.Return<void, Failure> {
  const { createdAt, slug } = environment
  if (yield* tx.hasPendingReleases(placeOf(environment), createdAt, caller.id)) return yield* reviewRequired(slug)
})

/** Fails while organisation or triggers start runs in the environment; a customer's may give way to the organisation's. */
const checkUnused = Effect.fnUntraced(function* (
  tx: Tx,
  { organisationId }: Principal,
  { customerId, slug }: Environment
): Effect.fn.Return<void, Failure> {
  if (customerId !== null && (yield* tx.environments.count({ slug, customerId: null })) > 0) return
  const conflict = (message: string) => new Conflict({ code: "CONFLICT", message })
  if ((yield* tx.organisations.count({ id: organisationId, defaultEnvironment: slug })) > 0)
    return yield* conflict("it is the organisation's default environment: choose another one first")
  const [trigger] = yield* tx.triggers.list({
    where: { deletedAt: null, ...(customerId === null ? {} : { customerId }) },
    some: [{ member: "environments", part: "items", among: [slug] }],
    limit: 1
  })
  if (trigger !== undefined)
    return yield* conflict(`the trigger ${trigger.id} starts workflows in it: change or delete the trigger first`)
})

/** Takes everything that is deployed there away. */
const undeploy = Effect.fnUntraced(function* (tx: Tx, environment: Environment) {
  const place = placeOf(environment)
  const current = yield* tx.environmentReleases.list({ where: place, limit: rowsRead })
  yield* tx.environmentReleases.remove(place)
  for (const { releaseId } of current) {
    const [release] = yield* tx.releases.list({ where: { id: releaseId }, limit: 1 })
    if (release !== undefined) yield* tx.releases.update(replacedRelease(release, environment.slug))
  }
  yield* tx.removeDeployments(place)
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  /** The organisation's environments, and those of the customers that the caller reaches; newest first. */
  const list = (context: CallContext, params: EnvironmentList) =>
    read(context, function* (tx) {
      const slugs = scopedIds(context.caller, "environment")
      return yield* pages.views(
        tx.environments,
        params,
        {
          where: {
            ...(yield* sharedListFilter(tx, context.caller, params.customer_id)),
            ...(slugs === undefined ? {} : { slug: slugs })
          },
          searchIn: ["name", "slug"]
        },
        (one) => Environment.show(one)
      )
    })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) => Effect.map(findEnvironmentRecord(tx, context.caller, id), (found) => Environment.show(found)))

  /** A customer's environment replaces the organisation's of the same slug, for that customer. */
  const create = (context: CallContext, input: CreateEnvironment) =>
    change(context, function* (tx) {
      const { caller } = context
      yield* refuseWith(slugRefusal(input.slug))
      const { customerId: named = null } = input
      const customerId = named === null ? null : yield* customerOfBody(tx, caller, named)
      yield* lockDeployments(tx)
      const used = yield* tx.environments.count({ customerId })
      if (used >= environmentLimit)
        return yield* new PlanLimitReached({ dimension: "environments", limit: environmentLimit, used })
      const environment = Environment.create(
        { ...input, customerId },
        { id: identifiers.next("env"), organisationId: caller.organisationId, type: "custom" },
        yield* currentTimestamp
      )
      yield* tx.environments.insert(environment)
      const value = Environment.show(environment)
      return { value, resource: resourceOf(environment), after: value }
    })

  const update = (context: CallContext, id: string, input: UpdateEnvironment) =>
    change(context, function* (tx) {
      const { caller } = context
      yield* lockDeployments(tx)
      const before = yield* findEnvironmentRecord(tx, caller, id, true)
      yield* checkVersion(context, input.version, before.version)
      const shown = Environment.show(before)
      const changes = yield* pickChanges(Environment.Update, input, shown)
      const after = changedEnvironment(before, changes, caller.id, yield* currentTimestamp)
      yield* refuseWith(settingsRefusal(after))
      if (deploymentMembers.some((member) => before[member] !== after[member])) yield* checkDeployer(tx, caller, before)
      if (before.requiresReview && !after.requiresReview) yield* checkWaiver(tx, caller, before)
      yield* tx.environments.update(after)
      const value = Environment.show(after)
      return { value, resource: resourceOf(after), before: shown, after: value }
    })

  /** Its deployments go with it. */
  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const { caller } = context
      yield* lockDeployments(tx)
      const before = yield* findEnvironmentRecord(tx, caller, id, true)
      yield* checkVersion(context, undefined, before.version)
      yield* refuseWith(deletionRefusal(before))
      yield* checkDeployer(tx, caller, before)
      if (before.requiresReview)
        return yield* new InvalidState({
          state: "requiresReview",
          message: `${before.slug} requires a review: set requiresReview to false first`
        })
      // It would come back without the memory of who took the review away.
      if (before.waivedBy !== null && (yield* tx.isSameAuthor(caller.id, { by: before.waivedBy, at: null })))
        return yield* reviewRequired(before.slug)
      yield* checkUnused(tx, caller, before)
      yield* undeploy(tx, before)
      yield* tx.environments.remove({ id: before.id })
      return { value: undefined, resource: resourceOf(before), before: Environment.show(before), after: null }
    })

  return { list, get, create, update, remove }
})

/** Each use case fails with `NotFound` if there is no such environment, or it is one of a customer that the caller does not reach. */
export class Environments extends Effect.Service<Environments>()("svc/Environments", { effect: make }) {}
