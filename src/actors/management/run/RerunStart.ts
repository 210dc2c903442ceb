/**
 * Builds the start of a re-run, with the checks of any start: the customer is active, the workflow enabled and not
 * archived, the installation active, and the key reaches all of them.
 */
import { DateTime, Effect, Option } from "effect"
import { customerRefusal } from "../../../domain/organisation/Customer.js"
import { type ExecutionView } from "../../../domain/run/ExecutionView.js"
import { type Failure, type Forbidden, InvalidState, NotFound, refuseWith } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { inactiveInstallation, ownConnections } from "../../../domain/organisation/Installation.js"
import {
  customerOfRun,
  isResume,
  notResumable,
  rerunInput,
  rerunPriority,
  type RerunRequest
} from "../../../domain/run/Rerun.js"
import type { StartEntry } from "../../../domain/run/RunJournal.js"
import { archivedRefusal, disabledRefusal } from "../../../domain/workflow/Workflow.js"
import { CustomerReads } from "../../ports/organisation/CustomerReads.js"
import type { RecordedRun } from "../../ports/run/ExecutionReads.js"
import type { StartRequest } from "../../ports/run/Executions.js"
import { InstallationReads, type KnownInstallation } from "../../ports/organisation/InstallationReads.js"
import { Journal, notStored, type RunRecord } from "../../ports/run/Journal.js"
import { Runnables } from "../../ports/run/Runnables.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, runReach } from "../Caller.js"
import { installationRefusal } from "../organisation/InstallationRecords.js"
import { Changes } from "../Changes.js"
import { makeResumedRun } from "./ResumedRun.js"
import { findWorkflow } from "../workflow/WorkflowRecords.js"

/** How a run is repeated: the order to start it, without what each request adds, and what its caller is told. */
export interface RerunStart {
  readonly start: Omit<StartRequest, "audit" | "idempotency" | "traceparent">
  /** Names of steps that keep their results, though they differ in the version that runs. */
  readonly changed: ReadonlyArray<string>
}

const draftGone = "the draft that ran is not kept any more: publish the workflow and use version latest"
const journalGone = "the journal of this run is gone, or it made no call that could be kept: use the mode fresh"

/** A repetition without them would call the real providers. */
const fixturesGone = "the fixtures of this mocked run are not kept any more: execute the workflow with them again"

const callbackOf = ({ callbackEvents, callbackUrl }: RunRecord): StartRequest["callback"] =>
  callbackUrl === null ? null : { url: callbackUrl, events: callbackEvents }

type StartContext = Pick<StartRequest, "headers" | "hidden" | "installation" | "connections" | "mocking">

const startContextOf = ({ connections, headers, hidden, installation, mocking }: StartEntry): StartContext => ({
  headers,
  installation,
  connections,
  mocking,
  ...(hidden === undefined ? {} : { hidden })
})

/** The same for a run without a journal: with its redacted headers and the current state of its installation. */
const startContextWithoutJournal = (
  { connections: chosenConnections, headers = {} }: RunRecord,
  installation: KnownInstallation | null
): StartContext => {
  if (installation === null) return { headers, installation: null, connections: chosenConnections ?? null }
  const { config, id } = installation
  return { headers, installation: { id, config }, connections: chosenConnections ?? ownConnections(installation) }
}

/** The refusal if the key may not use the connections that the run was started with. */
const connectionRefusal = (caller: Principal, connections: StartRequest["connections"]): Forbidden | undefined => {
  for (const { connector, id } of connections ?? []) {
    const refused = outOfScope(caller, "connection", id) ?? outOfScope(caller, "connector", connector)
    if (refused !== undefined) return refused
  }
  return undefined
}

export const makeRerunStart = Effect.gen(function* () {
  const { read } = yield* Changes
  const customers = yield* CustomerReads
  const installations = yield* InstallationReads
  const journal = yield* Journal
  const runnables = yield* Runnables
  const resumedRun = yield* makeResumedRun

  const checkCustomer = Effect.fnUntraced(function* ({ organisationId }: Principal, { customerId }: ExecutionView) {
    if (customerId === null) return
    const found = yield* customers.find(organisationId, { id: customerId })
    if (Option.isNone(found)) return yield* new NotFound({ what: "customer" })
    yield* refuseWith(customerRefusal(found.value))
  })

  const checkWorkflow = Effect.fnUntraced(function* (context: CallContext, id: string) {
    const workflow = yield* read(context, (tx) => findWorkflow(tx, context.caller, id))
    yield* refuseWith(archivedRefusal(workflow) ?? disabledRefusal(workflow))
  })

  /** The current state of the run's installation. */
  const findInstallation = Effect.fnUntraced(function* (caller: Principal, { installationId }: RunRecord) {
    if (installationId === null) return null
    const found = yield* installations.find(caller.organisationId, installationId)
    if (Option.isNone(found)) return yield* new NotFound({ what: "installation" })
    const refused = installationRefusal(caller, found.value) ?? inactiveInstallation(found.value)
    return refused === undefined ? found.value : yield* refused
  })

  /** The code that ran, or the version that is deployed now. */
  const findCode = ({ organisationId }: Principal, { record, view }: RecordedRun, version: "same" | "latest") => {
    const { customerId, environment, status, workflowId, workflowVersion } = view
    if (version === "latest") return runnables.inEnvironment(organisationId, workflowId, environment, customerId)
    if (workflowVersion !== null) return runnables.version(organisationId, workflowId, workflowVersion)
    return Effect.flatMap(
      runnables.draftThatRan(organisationId, workflowId, record.contentHash),
      Option.match({
        onSome: Effect.succeed,
        onNone: () => new InvalidState({ state: status, message: draftGone })
      })
    )
  }

  const readJournal = ({ organisationId }: Principal, id: ExecutionId) =>
    Effect.mapError(journal.index(organisationId, id), notStored)

  /** `found`: the run to re-run. */
  return Effect.fnUntraced(function* (
    context: CallContext,
    found: RecordedRun,
    request: RerunRequest
  ): Effect.fn.Return<RerunStart, Failure> {
    const { caller } = context
    const { record, retention, view } = found
    yield* checkCustomer(caller, view)
    yield* checkWorkflow(context, view.workflowId)
    const installation = yield* findInstallation(caller, record)
    const { rest: entries, start } = yield* readJournal(caller, view.id)
    const isResumed = isResume(request)
    if (isResumed && start === undefined) return yield* notResumable(journalGone)
    const input = yield* rerunInput(view, record, request, start)
    if (start === undefined && view.mock !== "none")
      return yield* new InvalidState({ state: view.status, message: fixturesGone })
    const begun = start === undefined ? startContextWithoutJournal(record, installation) : startContextOf(start)
    yield* refuseWith(connectionRefusal(caller, begun.connections))
    const runnable = yield* findCode(caller, found, request.version ?? "same")
    const at = DateTime.toEpochMillis(yield* DateTime.now)
    const { changed = [], resumes } =
      isResumed && start !== undefined
        ? yield* resumedRun(caller, { ...found, start, entries }, runnable, { ...request, at })
        : {}
    const order: RerunStart["start"] = {
      runnable,
      environment: view.environment,
      retention,
      accountId: caller.accountId,
      concurrentRuns: caller.plan.concurrentRuns,
      priority: rerunPriority(view.priority),
      input,
      ...begun,
      reach: runReach(caller),
      customer: customerOfRun(view),
      userId: view.userId,
      trigger: { type: "rerun", ...caller.starter },
      metadata: view.metadata,
      callback: callbackOf(record),
      parent: { id: view.id, ...(resumes === undefined ? {} : { resumes }) }
    }
    return { start: order, changed }
  })
})
