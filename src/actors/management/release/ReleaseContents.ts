/** Chooses the versions of a release, and checks that they can be deployed. */
import { isRecordService } from "../../../domain/unified/RecordCall.js"
import { Effect, Option } from "effect"
import { readBindings } from "../../../domain/connector/Binding.js"
import {
  Conflict,
  type Detail,
  type Failure,
  invalid,
  refusalOf,
  refuseWith,
  WorkflowUnavailable
} from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { type CreateRelease, type Pins, type Release, releaseLimits } from "../../../domain/workflow/Release.js"
import { archivedRefusal } from "../../../domain/workflow/Workflow.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { type DeploymentPlace, pinnedIds, type PinnedVersion } from "../../ports/Deploying.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"

type Owner = Pick<DeploymentPlace, "spaceId" | "customerId">
type Chosen = NonNullable<CreateRelease["workflows"]>

/** Details that one refusal has at most. */
const maxDetails = 20

const pinsOf = (entries: ReadonlyArray<readonly [id: string, version: number]>): Pins => Object.fromEntries(entries)

/** All published workflows in the key's scope, each with its published version. */
const publishedPins = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  owner: Owner
): Effect.fn.Return<Pins, Failure> {
  const scope = scopedIds(caller, "workflow")
  const found = yield* tx.lockReleasable(owner, undefined, releaseLimits.workflows + 1)
  const pins = pinsOf(
    found.flatMap(({ id, publishedVersion }) =>
      publishedVersion === null || scope?.includes(id) === false ? [] : [[id, publishedVersion] as const]
    )
  )
  if (found.length > releaseLimits.workflows)
    return yield* invalid(
      "workflows",
      "OUT_OF_RANGE",
      `must name them: more than ${releaseLimits.workflows} are published, and a release has no more`
    )
  return Object.keys(pins).length === 0 ? yield* invalid("workflows", "REQUIRED", "no workflow is published") : pins
})

/** The versions that a request names; without a number, the published one. */
const chosenPins = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  owner: Owner,
  chosen: Chosen
): Effect.fn.Return<Pins, Failure> {
  const ids = chosen.map(({ workflowId }) => workflowId)
  for (const id of ids) yield* refuseWith(outOfScope(caller, "workflow", id))
  const found = new Map((yield* tx.lockReleasable(owner, ids, ids.length)).map((one) => [String(one.id), one]))
  const details: Array<Detail> = []
  const pins = new Map<string, number>()
  for (const [at, { version, workflowId }] of chosen.entries()) {
    const workflow = found.get(workflowId)
    const path = `workflows[${at}].workflowId`
    if (workflow === undefined)
      details.push({
        path,
        code: "NOT_FOUND",
        message: "names no workflow of the workspace that this release may have"
      })
    else if (pins.has(workflowId)) details.push({ path, code: "DUPLICATE", message: "is named twice" })
    else if (workflow.publishedVersion === null)
      return yield* new WorkflowUnavailable({
        code: "WORKFLOW_NOT_PUBLISHED",
        message: `${workflow.name} has never been published`
      })
    else pins.set(workflowId, version ?? workflow.publishedVersion)
  }
  yield* refuseWith(refusalOf(details.slice(0, maxDetails)))
  return pinsOf([...pins])
})

/** The refusal of versions that do not exist. */
const versionRefusal = (chosen: Chosen, versions: ReadonlyArray<PinnedVersion>) => {
  const existing = new Set(versions.map(({ workflowId }) => String(workflowId)))
  return refusalOf(
    chosen
      .flatMap(({ workflowId }, at) =>
        existing.has(workflowId)
          ? []
          : [{ path: `workflows[${at}].version`, code: "NOT_FOUND", message: "names no version of the workflow" }]
      )
      .slice(0, maxDetails)
  )
}

/** The versions of a new release. */
export const choosePins = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  owner: Owner,
  chosen: Chosen | undefined
): Effect.fn.Return<Pins, Failure> {
  if (chosen === undefined) return yield* publishedPins(tx, caller, owner)
  const pins = yield* chosenPins(tx, caller, owner, chosen)
  yield* refuseWith(versionRefusal(chosen, yield* tx.pinnedVersions(pins)))
  return pins
})

interface CalledAction {
  readonly connector: string
  readonly action: string
  readonly version: number
}

/** The different actions that the versions are bound to. */
const actionsOf = (versions: ReadonlyArray<PinnedVersion>): ReadonlyArray<CalledAction> => {
  const found = new Map<string, CalledAction>()
  for (const { bindings } of versions)
    for (const { action, connector, version } of readBindings(bindings))
      if (version !== null && !isRecordService(connector))
        found.set(`${connector}.${action}@${version}`, { connector, action, version })
  return [...found.values()]
}

/** Makes the function that fails unless a release can be deployed: nothing is archived, and its actions are callable. */
export const makeCheckDeployable = Effect.map(Connectors, ({ withAction }) => {
  const isCallable = (organisation: OrganisationId, { action, connector, version }: CalledAction) =>
    Effect.map(withAction(organisation, connector, { name: action, version, bound: true }), Option.isSome)

  return Effect.fnUntraced(function* (tx: Tx, release: Release): Effect.fn.Return<void, Failure> {
    const ids = pinnedIds(release.pins)
    const found = yield* tx.lockReleasable(release, ids, ids.length)
    if (found.length < ids.length)
      return yield* new Conflict({ code: "CONFLICT", message: "a workflow of the release is deleted" })
    for (const workflow of found) yield* refuseWith(archivedRefusal(workflow))
    const actions = actionsOf(yield* tx.pinnedVersions(release.pins))
    const missing = yield* Effect.filter(actions, (one) =>
      Effect.map(isCallable(release.organisationId, one), (callable) => !callable)
    )
    const [first] = missing
    if (first === undefined) return
    const nameOf = ({ action, connector, version }: CalledAction) => `${connector}.${action}@${version}`
    return yield* new Conflict({
      code: "CONFLICT",
      message: `the action ${nameOf(first)} cannot be called any more: publish the workflows that call it again`,
      details: missing
        .slice(0, maxDetails)
        .map((one) => ({ path: "workflows", code: "ACTION_NOT_CALLABLE", message: `${nameOf(one)} is not callable` }))
    })
  })
})
