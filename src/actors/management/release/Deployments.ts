/** Deploys releases to environments, all versions or none, and remembers what was there before. Decision: 0043. */
import { Effect, Option } from "effect"
import { type Failure, type Forbidden, invalid, refuseWith } from "../../../domain/Failure.js"
import { deployedRelease, type Pins, type Release, replacedRelease } from "../../../domain/workflow/Release.js"
import { triggerEnvironment } from "../../../domain/organisation/Environment.js"
import { type Authorship, type DeploymentPlace, pinnedIds } from "../../ports/Deploying.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import { missingPermission, outOfScope, type Principal } from "../Caller.js"
import { checkReview, findRules } from "../organisation/EnvironmentRecords.js"
import { makeFlowTriggers } from "../trigger/FlowTriggers.js"
import { currentTimestamp } from "../Timestamp.js"
import { makeCheckDeployable } from "./ReleaseContents.js"

/**
 * A deployment. `author`: of what is deployed. `replacing`: nothing else stays in the environment; it refuses what may not go,
 * of all that is there.
 */
interface Deployment {
  readonly environment: string
  readonly author: Authorship
  readonly replacing?: (tx: Tx, deployed: Pins) => Effect.Effect<void, Failure>
}

export const placeOf = ({ customerId, spaceId }: Release, environment: string): DeploymentPlace => ({
  spaceId,
  customerId,
  environment
})

/** The refusal if the deployment changes workflows that the key does not reach. */
const scopeRefusal = (caller: Principal, before: Pins, after: Pins, exactly: boolean): Forbidden | undefined => {
  const changed = [...pinnedIds(after), ...(exactly ? pinnedIds(before) : [])].filter((id) => before[id] !== after[id])
  return changed.map((id) => outOfScope(caller, "workflow", id)).find((one) => one !== undefined)
}

/** Notes which release the environment has now. A release that is deployed again keeps what was before it. */
const replaceRelease = Effect.fnUntraced(function* (
  tx: Tx,
  place: DeploymentPlace,
  release: Release,
  pinsBefore: Pins,
  now: string
) {
  const current = Option.getOrUndefined(yield* tx.environmentReleases.find(place))
  if (current?.releaseId === release.id) return
  if (current !== undefined) {
    const replaced = yield* tx.releases.find({ id: current.releaseId })
    if (Option.isSome(replaced)) yield* tx.releases.update(replacedRelease(replaced.value, place.environment))
    yield* tx.environmentReleases.remove(place)
  }
  yield* tx.environmentReleases.insert({
    ...place,
    organisationId: release.organisationId,
    releaseId: release.id,
    pinsBefore,
    deployedAt: now
  })
})

/** Makes `deployRelease`, which the caller runs under `lockDeployments`. */
export const makeDeployRelease = Effect.map(
  Effect.all([makeCheckDeployable, makeFlowTriggers]),
  ([checkDeployable, followDeployed]) =>
    /** The release after its deployment. Fails if the environment's rules, or a workflow's state, do not allow it. */
    Effect.fnUntraced(function* (
      tx: Tx,
      caller: Principal,
      release: Release,
      { author, environment: named, replacing }: Deployment
    ): Effect.fn.Return<Release, Failure | AlreadyExists | Changed> {
      const environment = named.toLowerCase()
      yield* refuseWith(outOfScope(caller, "environment", environment))
      const rules = yield* findRules(tx, release.customerId, environment)
      if (rules === undefined) return yield* invalid("environment", "NOT_FOUND", "names no environment")
      yield* refuseWith(missingPermission(caller, rules.needs))
      yield* checkReview(tx, caller, rules, author)
      yield* checkDeployable(tx, release)
      const place = placeOf(release, environment)
      const before = yield* tx.deployedPins(place)
      const exactly = replacing !== undefined
      yield* refuseWith(scopeRefusal(caller, before, release.pins, exactly))
      if (exactly) yield* replacing(tx, before)
      const now = yield* currentTimestamp
      yield* tx.deployPins(place, release.pins, { by: caller.id, now }, exactly)
      if (environment === triggerEnvironment)
        yield* followDeployed(tx, caller, [...new Set([...pinnedIds(before), ...pinnedIds(release.pins)])])
      yield* replaceRelease(tx, place, release, before, now)
      const deployed = deployedRelease(release, environment, caller.id, now)
      yield* tx.releases.update(deployed)
      return deployed
    })
)
