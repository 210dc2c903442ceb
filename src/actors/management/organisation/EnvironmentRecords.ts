/** Finds environments that requests name, and checks whether a narrowed key may read or change their records. */
import { Effect } from "effect"
import { type Failure, type Forbidden, invalid, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import {
  type DeploymentRules,
  deploymentRules,
  type Environment,
  reviewRequired
} from "../../../domain/organisation/Environment.js"
import type { Authorship } from "../../ports/Deploying.js"
import type { Tx } from "../../ports/Records.js"
import { narrowedCallerRefusal, outOfScope, type Principal } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

/** Environments of the organisation, and of the customers that the caller reaches. */
const reached = ({ customers }: Principal) => (customers === "all" ? {} : { customerId: [null, ...customers] })

/** The slug of an existing environment, in lower case; `null` if the request names none. `path`: the request's member. */
export const findEnvironment = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  environment: string | null | undefined,
  path = "environment"
): Effect.fn.Return<string | null, Failure> {
  if (environment === undefined || environment === null) return null
  const slug = environment.toLowerCase()
  if ((yield* tx.environments.count({ slug, ...reached(caller) })) === 0)
    return yield* invalid(path, "NOT_FOUND", "names no environment")
  return slug
})

/** The environment with this id. `lock`: locks the row until the transaction ends. */
export const findEnvironmentRecord = (
  tx: Tx,
  caller: Principal,
  id: string,
  lock = false
): Effect.Effect<Environment, Failure> =>
  Effect.tap(
    findReached(tx.environments, caller, "environment", { id: id as Environment["id"] }, lock), // unchecked text from the request
    ({ slug }) => refuseWith(outOfScope(caller, "environment", slug))
  )

/** The environments of a slug for deployments of `customerId`: the organisation's, and the customer's own. */
const environmentsOf = (tx: Tx, customerId: CustomerId | null, slug: string) =>
  tx.environments.list({ where: { slug, customerId: customerId === null ? null : [null, customerId] }, limit: 2 })

/** The rules for deployments of `customerId` to an environment; `undefined`: there is none. */
export const findRules = (tx: Tx, customerId: CustomerId | null, slug: string) =>
  Effect.map(environmentsOf(tx, customerId, slug), deploymentRules)

/** Releases of an organisation are numbered and deployed one after the other, and none while an environment changes. */
export const lockDeployments = (tx: Tx) => tx.lockKey("deployments")

/**
 * Fails with `REVIEW_REQUIRED` if the caller would review what it created itself: where a review is required, or where
 * the caller has taken the flag away. `author`: of what is deployed.
 */
export const checkReview = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  { requiresReview, slug, waivedBy }: DeploymentRules,
  author: Authorship
): Effect.fn.Return<void, Failure> {
  if (!requiresReview && waivedBy.length === 0) return
  if (!(yield* tx.isSameAuthor(caller.id, author))) return
  for (const by of waivedBy) if (yield* tx.isSameAuthor(caller.id, { by, at: null })) return yield* reviewRequired(slug)
  if (requiresReview) return yield* reviewRequired(slug)
})

/** The refusal if the key may not read a record of the environment. Any key may read one for all environments (`null`). */
export const environmentReadRefusal = (caller: Principal, environment: string | null): Forbidden | undefined =>
  environment === null ? undefined : outOfScope(caller, "environment", environment)

/** The refusal if the key may not change a record of the environment. A narrowed key may not change one for all (`null`). */
export const environmentChangeRefusal = (caller: Principal, environment: string | null): Forbidden | undefined =>
  environment === null
    ? narrowedCallerRefusal(caller, "environment", "what applies to all of them is not changed with it")
    : outOfScope(caller, "environment", environment)
