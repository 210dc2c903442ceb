/** Use cases of releases: create, list, deploy, roll back. Contract: release record; what it leaves open: decisions/0043. */
import { Effect, Option, Schema } from "effect"
import { type Failure, refuseWith } from "../../../domain/Failure.js"
import {
  type CreateRelease,
  deployedSince,
  notDeployed,
  type Pins,
  Release,
  ReleaseStatus,
  releaseSummary,
  type ReleaseView,
  releaseView,
  type RollBackRelease,
  wouldRemove
} from "../../../domain/workflow/Release.js"
import { pinnedIds } from "../../ports/Deploying.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { customerOfBody, sharedListFilter } from "../organisation/CustomerRecords.js"
import { lockDeployments } from "../organisation/EnvironmentRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { findReached } from "../ReachedRecord.js"
import { currentTimestamp } from "../Timestamp.js"
import { makeDeployRelease, placeOf } from "./Deployments.js"
import { choosePins } from "./ReleaseContents.js"

export const ReleaseList = listQuery({
  status: Schema.optional(ReleaseStatus),
  environment: optionalText,
  customer_id: optionalText
})
type ReleaseList = typeof ReleaseList.Type

/** A release, and the counter of its changes, which is its ETag. */
export interface AnsweredRelease {
  readonly view: ReleaseView
  readonly revision: number
}

const answerOf = (release: Release): AnsweredRelease => ({ view: releaseView(release), revision: release.revision })
const resourceOf = ({ customerId, id, name }: Release) => ({ id, name, customerId })

/** A key's scope applies to a release by all of its workflows, and the environments that it is deployed to. */
const scopeRefusal = (caller: Principal, { environment, environments, pins }: Release) =>
  [
    ...pinnedIds(pins).map((id) => outOfScope(caller, "workflow", id)),
    ...[...environments, ...(environment === null ? [] : [environment])].map((slug) =>
      outOfScope(caller, "environment", slug)
    )
  ].find((one) => one !== undefined)

const listScope = (caller: Principal) => {
  const [workflows, environments] = [scopedIds(caller, "workflow"), scopedIds(caller, "environment")]
  return {
    where: environments === undefined ? {} : { environment: [null, ...environments] },
    only: [
      ...(workflows === undefined ? [] : [{ member: "pins", part: "keys", among: workflows } as const]),
      ...(environments === undefined ? [] : [{ member: "environments", part: "items", among: environments } as const])
    ]
  }
}

const findRelease = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Release, Failure> =>
  Effect.tap(
    // Unchecked text from the request.
    findReached(tx.releases, caller, "release", { id: id as Release["id"], spaceId: caller.spaceId }, lock),
    (found) => refuseWith(scopeRefusal(caller, found))
  )

const authorOf = ({ createdAt, createdBy }: Release) => ({ by: createdBy, at: createdAt })

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const deployRelease = yield* makeDeployRelease

  const list = (context: CallContext, params: ReleaseList) =>
    read(context, function* (tx) {
      const { caller } = context
      const { only, where } = listScope(caller)
      const { customer_id, environment, status } = params
      return yield* pages.views(
        tx.releases,
        params,
        {
          where: { spaceId: caller.spaceId, ...where, ...(yield* sharedListFilter(tx, caller, customer_id)) },
          only,
          ...(environment === undefined
            ? {}
            : { some: [{ member: "environments", part: "items", among: [environment] }] }),
          filters: { status },
          searchIn: ["name", "notes"]
        },
        releaseSummary
      )
    })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) => Effect.map(findRelease(tx, context.caller, id), answerOf))

  /** Stores a release with the next number of its owner. */
  const insert = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    input: Pick<CreateRelease, "name" | "notes" | "version">,
    contents: Pick<Release, "customerId" | "pins" | "rollbackOf">
  ): Effect.fn.Return<Release, Failure | AlreadyExists> {
    const { customerId, pins, rollbackOf } = contents
    const number = 1 + (yield* tx.lastReleaseNumber({ spaceId: caller.spaceId, customerId }))
    const { version: semver = null, ...given } = input
    const release = Release.create(
      { ...given, customerId },
      {
        id: identifiers.next("rel"),
        organisationId: caller.organisationId,
        spaceId: caller.spaceId,
        number,
        semver,
        name: `Release ${semver ?? number}`,
        pins,
        environments: [],
        status: "created",
        createdBy: caller.id,
        rollbackOf,
        revision: 1
      },
      yield* currentTimestamp
    )
    yield* tx.releases.insert(release)
    return release
  })

  /** With an environment, the release is deployed with its creation or not created. */
  const create = (context: CallContext, input: CreateRelease) =>
    change(context, function* (tx) {
      const { caller } = context
      const { customerId: named = null, environment, workflows } = input
      const customerId = named === null ? null : yield* customerOfBody(tx, caller, named)
      yield* lockDeployments(tx)
      const pins = yield* choosePins(tx, caller, { spaceId: caller.spaceId, customerId }, workflows)
      const created = yield* insert(tx, caller, input, { customerId, pins, rollbackOf: null })
      const release =
        environment === undefined
          ? created
          : yield* deployRelease(tx, caller, created, { environment, author: authorOf(created) })
      const value = answerOf(release)
      return { value, resource: resourceOf(release), after: value.view }
    })

  const deploy = (context: CallContext, id: string, environment: string) =>
    change(context, function* (tx) {
      const { caller } = context
      yield* lockDeployments(tx)
      const before = yield* findRelease(tx, caller, id, true)
      yield* checkVersion(context, undefined, before.revision)
      const after = yield* deployRelease(tx, caller, before, { environment, author: authorOf(before) })
      const value = answerOf(after)
      return { value, resource: resourceOf(after), before: releaseView(before), after: value.view }
    })

  /** What can still run of what was deployed before: archived and deleted workflows run nowhere. */
  const runnable = Effect.fnUntraced(function* (tx: Tx, release: Release, pins: Pins) {
    const ids = pinnedIds(pins)
    const found = yield* tx.lockReleasable(release, ids, ids.length)
    const published = new Set(found.flatMap(({ id, status }) => (status === "published" ? [id] : [])))
    return Object.fromEntries(Object.entries(pins).filter(([id]) => published.has(id as (typeof ids)[number]))) as Pins
  })

  /** Fails if a rollback takes away what was deployed since the release. */
  const refuseRemoval = (release: Release, environment: string, before: Pins, after: Pins) =>
    Effect.fnUntraced(function* (tx: Tx, deployed: Pins): Effect.fn.Return<void, Failure> {
      const ids = deployedSince(release, deployed, before, after)
      if (ids.length === 0) return
      const found = yield* tx.workflows.list({ where: { id: ids }, limit: ids.length })
      return yield* wouldRemove(found.map(({ name }) => name).toSorted(), environment)
    })

  /** A new release of exactly what the environment had before this one. `remove`: also of what was deployed there since. */
  const rollBack = (context: CallContext, id: string, { environment: named, remove = false }: RollBackRelease) =>
    change(context, function* (tx) {
      const { caller } = context
      const environment = named.toLowerCase()
      yield* lockDeployments(tx)
      const release = yield* findRelease(tx, caller, id, true)
      yield* checkVersion(context, undefined, release.revision)
      const current = Option.getOrUndefined(yield* tx.environmentReleases.find(placeOf(release, environment)))
      if (current?.releaseId !== release.id) return yield* notDeployed(release, environment)
      const pins = yield* runnable(tx, release, current.pinsBefore)
      const { customerId } = release
      const input = { name: `Rollback of ${release.name}`.slice(0, 200) }
      const created = yield* insert(tx, caller, input, { customerId, pins, rollbackOf: release.id })
      const after = yield* deployRelease(tx, caller, created, {
        environment,
        author: authorOf(release),
        replacing: remove ? () => Effect.void : refuseRemoval(release, environment, current.pinsBefore, pins)
      })
      const value = answerOf(after)
      return { value, resource: resourceOf(after), before: null, after: value.view }
    })

  return { list, get, create, deploy, rollBack }
})

/** Each use case fails with `NotFound` if the key's workspace has no such release or the caller does not reach it. */
export class Releases extends Effect.Service<Releases>()("svc/Releases", { effect: make }) {}
