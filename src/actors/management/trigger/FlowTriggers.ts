/**
 * The triggers of flows: each follows the version that is deployed to `live`, in the transaction that deploys it, and keeps
 * its id, URL, access key and cursor. Contract: workflow record.
 */
import { Effect, Either } from "effect"
import {
  describedTrigger,
  managedTriggerBody,
  type DescribedTrigger,
  placeInFlow
} from "../../../domain/flow/FlowTrigger.js"
import { type Failure, refusalOf, type ValidationFailed } from "../../../domain/Failure.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import { nextVersion } from "../../../domain/Record.js"
import { triggerEnvironment } from "../../../domain/organisation/Environment.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { changedTrigger, disabledTrigger, enabledTrigger } from "../../../domain/trigger/TriggerChanges.js"
import { webhookPath } from "../../../domain/trigger/TriggerView.js"
import type { DeployedFlow } from "../../ports/Deploying.js"
import { Origin } from "../../ports/Origin.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { currentTimestamp } from "../Timestamp.js"
import { checkAppEvent } from "./TriggerReferences.js"
import { makeTriggerCreation } from "./TriggerCreation.js"
import { saveTimes } from "./TriggerRecords.js"
import { makeTriggerSettings } from "./TriggerSettings.js"
import { lockRoutes } from "./WorkflowTriggers.js"

/** A trigger that was created, with what is shown once. */
export interface CreatedTrigger {
  readonly id: string
  readonly type: string
  /** Of a webhook. */
  readonly url: string | null
  readonly accessKey: string | null
}

/** A flow has at most one trigger of each type, of which one is active. */
const perFlow = 4

const isSameTrigger = (before: Trigger, after: Trigger): boolean =>
  before.status === after.status &&
  JSON.stringify([before.schedule, before.appEvent, before.event, before.name]) ===
    JSON.stringify([after.schedule, after.appEvent, after.event, after.name])

/** The refusal with the places of the document, which is where the flow's author repairs it. */
const inDocument = (failure: ValidationFailed): ValidationFailed =>
  refusalOf(
    failure.details.map((detail) => ({ ...detail, path: `spec.${placeInFlow(detail.path)}` })),
    failure.code
  ) ?? failure

/** Makes `followDeployed`. */
export const makeFlowTriggers = Effect.gen(function* () {
  const checkInput = yield* makeTriggerSettings
  const { createTrigger } = yield* makeTriggerCreation
  const origin = yield* Origin

  const save = Effect.fnUntraced(function* (tx: Tx, before: Trigger, after: Trigger, now: string) {
    if (isSameTrigger(before, after)) return
    yield* tx.triggers.update(after)
    yield* saveTimes(tx, after, false, now)
  })

  const create = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    { customerId, id, name }: DeployedFlow,
    described: DescribedTrigger,
    now: string
  ): Effect.fn.Return<CreatedTrigger, Failure | AlreadyExists | Changed> {
    const body = managedTriggerBody(described, { id, name }, triggerEnvironment)
    const event = yield* checkInput(caller, described.type, body, true)
    const { accessKey, trigger } = yield* createTrigger(tx, caller, body, { customerId, event, managedBy: id, now })
    const { spaceId, type, webhook } = trigger
    const url = webhook === null ? null : `${origin}${webhookPath(spaceId, trigger.id)}`
    return { id: trigger.id, type, url, accessKey }
  })

  /** Of a connector's event, the settings are those of the event that the document names now. */
  const appEventOf = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    { customerId }: DeployedFlow,
    { settings, type }: DescribedTrigger,
    before: Trigger
  ) {
    const isSame = before.appEvent?.event === settings.appEvent?.event
    const event = yield* checkInput(caller, type, settings, !isSame)
    const { appEvent = null } = settings
    if (isSame) return before.appEvent
    return appEvent === null || event === null ? null : yield* checkAppEvent(tx, caller, customerId, appEvent, event)
  })

  const change = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    flow: DeployedFlow,
    described: DescribedTrigger,
    before: Trigger,
    now: string
  ) {
    const appEvent = yield* appEventOf(tx, caller, flow, described, before)
    const input = { name: flow.name, ...described.settings }
    const changed = changedTrigger(before, input, { routes: before.routes, appEvent }, now)
    // One that the service disabled lately stays so: its cool-down is not over.
    const enabled = Either.getOrElse(enabledTrigger(changed, now), () => changed)
    yield* save(tx, before, { ...enabled, ...nextVersion(before, now) }, now)
  })

  const followOne = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    flow: DeployedFlow,
    existing: ReadonlyArray<Trigger>,
    now: string
  ) {
    const described = describedTrigger(flow.trigger)
    for (const other of existing)
      if (other.type !== described?.type) yield* save(tx, other, disabledTrigger(other, now), now)
    if (described === undefined) return null
    const found = existing.find(({ type }) => type === described.type)
    if (found === undefined) return yield* create(tx, caller, flow, described, now)
    yield* change(tx, caller, flow, described, found, now)
    return null
  })

  /** Lets the triggers of these workflows follow what is deployed to `live` now. Returns those that it creates. */
  return Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    workflows: ReadonlyArray<WorkflowId>
  ): Effect.fn.Return<ReadonlyArray<CreatedTrigger>, Failure | AlreadyExists | Changed> {
    const flows = yield* tx.flowsIn(triggerEnvironment, workflows)
    if (flows.length === 0) return []
    yield* lockRoutes(tx)
    const managed = yield* tx.triggers.list({
      where: { managedBy: flows.map(({ id }) => id), deletedAt: null },
      limit: flows.length * perFlow
    })
    const now = yield* currentTimestamp
    const created: Array<CreatedTrigger> = []
    for (const flow of flows) {
      const existing = managed.filter(({ managedBy }) => managedBy === flow.id)
      const made = yield* Effect.catchTag(followOne(tx, caller, flow, existing, now), "ValidationFailed", (failure) =>
        Effect.fail(inDocument(failure))
      )
      if (made !== null) created.push(made)
    }
    return created
  })
})
