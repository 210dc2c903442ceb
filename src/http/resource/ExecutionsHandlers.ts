/** Executions: listed, traced, cancelled, repeated. */
import { DateTime, Effect, Either, Encoding, Option } from "effect"
import { ExecutionReads, type ExecutionQuery } from "../../actors/ports/ExecutionReads.js"
import { Executions } from "../../actors/ports/Executions.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { InstallationReads, type KnownInstallation } from "../../actors/ports/InstallationReads.js"
import { Journal, type RunRecord } from "../../actors/ports/Journal.js"
import { type Runnable, Runnables } from "../../actors/ports/Runnables.js"
import type { AuditEntry } from "../../domain/Audit.js"
import { isTerminal } from "../../domain/Execution.js"
import type { ExecutionDetail, ExecutionView } from "../../domain/ExecutionView.js"
import {
  type Failure,
  InvalidRequest,
  InvalidState,
  NotFound,
  Unavailable,
  ValidationFailed
} from "../../domain/Failure.js"
import type { BlobId, ExecutionId } from "../../domain/Ids.js"
import { notRunning } from "../../domain/Installation.js"
import { type Json, type JsonObject, isObject } from "../../domain/Json.js"
import type { AttemptEntry, JournalEntry, StartEntry } from "../../domain/RunJournal.js"
import { StartQuota } from "../../actors/management/StartQuota.js"
import { Current } from "../auth/Authenticated.js"
import { isCounter } from "../../domain/Scalars.js"
import { actorOf, missing, outOfScope, type Principal, reaches } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"
import { bounds, Pages, sizeOf } from "../../actors/management/Pages.js"
import { recorded } from "./Fixtures.js"
import { stepsAgain } from "./ResumedSteps.js"
import { group } from "../pipeline/Dispatch.js"

const gone = () => new NotFound({ what: "execution" })
const isExecutionId = (text: string): text is ExecutionId => /^exec_[0-9a-hjkmnp-tv-z]{26}$/.test(text)

/** A key that is narrowed to customers or workflows sees only their executions. */
const sees = (caller: Principal, view: ExecutionView): boolean =>
  (caller.customers === "all" || (view.customerId !== null && reaches(caller, view.customerId))) &&
  outOfScope(caller, "workflow", view.workflowId) === undefined

const summary = ({ input: _input, output: _output, steps: _steps, ...view }: ExecutionDetail): ExecutionView => view

const draftGone = "the draft that ran is not kept any more: publish the workflow and use version latest"
const isStart = (entry: JournalEntry | undefined): entry is StartEntry => entry?.kind === "start"

/** What a resumed run makes anew: transient failures, and the failure that ended the run. */
const afresh = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<number> => {
  const failures = entries.flatMap((entry) => (entry.kind === "done" && !entry.result.ok ? [entry] : []))
  const last = failures.at(-1)
  return failures
    .filter((entry) => entry === last || (!entry.result.ok && entry.result.failure.category === "transient"))
    .map((entry) => entry.call)
}

interface RerunRequest {
  readonly mode?: "fresh" | "resume" | undefined
  readonly version?: "same" | "latest" | undefined
  readonly input?: JsonObject | undefined
}

/** A re-run keeps its class, but never goes before what nobody has run yet. */
const priorityAgain = (priority: number): 2 | 3 | 4 => (priority === 3 || priority === 4 ? priority : 2)

const customerOf = ({ customerId, customerRef }: ExecutionView) =>
  customerId === null ? null : { id: customerId, ref: customerRef }

const callbackOf = ({ callbackEvents, callbackUrl }: RunRecord) =>
  callbackUrl === null ? null : { url: callbackUrl, events: callbackEvents }

export const ExecutionsLive = group(ResourceApi, "executions", (handlers) =>
  Effect.gen(function* () {
    const reads = yield* ExecutionReads
    const executions = yield* Executions
    const quota = yield* StartQuota
    const runnables = yield* Runnables
    const installations = yield* InstallationReads
    const journal = yield* Journal
    const identifiers = yield* Identifiers
    const listing = yield* Pages

    const find = Effect.fnUntraced(function* (
      caller: Principal,
      id: string
    ): Effect.fn.Return<ExecutionDetail, Failure> {
      if (!isExecutionId(id)) return yield* gone()
      const found = yield* reads.get(caller.organisationId, id)
      return Option.isSome(found) && sees(caller, found.value) ? found.value : yield* gone()
    })

    const auditOf = (
      exchange: Exchange,
      action: string,
      view: ExecutionView,
      at: string,
      changes: AuditEntry["changes"] = []
    ): AuditEntry => ({
      id: identifiers.next("aud"),
      organisationId: exchange.caller.organisationId,
      at,
      actor: actorOf(exchange.caller),
      action,
      resource: { type: "execution", id: view.id, name: view.workflowName },
      customerId: view.customerId,
      outcome: "success",
      requestId: exchange.caller.requestId,
      changes,
      count: 1
    })

    // --- Re-run ---

    /** What runs again: the code that ran, or what is deployed now. */
    const codeOf = (
      caller: Principal,
      view: ExecutionView,
      record: RunRecord,
      version: "same" | "latest"
    ): Effect.Effect<Runnable, Failure> =>
      version === "latest"
        ? runnables.inEnvironment(caller.organisationId, view.workflowId, view.environment)
        : view.workflowVersion !== null
          ? runnables.version(caller.organisationId, view.workflowId, view.workflowVersion)
          : Effect.flatMap(
              runnables.draftThatRan(caller.organisationId, view.workflowId, record.contentHash),
              Option.match({
                onSome: Effect.succeed,
                onNone: () => new InvalidState({ state: view.status, message: draftGone })
              })
            )

    /** Whoever runs a draft again runs what only those who may change the workflow can run. */
    const mayRepeat = (caller: Principal, view: ExecutionView, request: RerunRequest) =>
      missing(caller, "workflows:execute") ??
      (view.workflowVersion === null && request.version !== "latest" ? missing(caller, "workflows:update") : undefined)

    const journalOf = (caller: Principal, id: ExecutionId) =>
      journal
        .read(caller.organisationId, id)
        .pipe(Effect.mapError(({ reason }) => new Unavailable({ reason, retryAfterSeconds: 1 })))

    const notResumable = (message: string) =>
      new ValidationFailed({
        code: "VALIDATION_FAILED",
        message,
        details: [{ path: "mode", code: "NOT_ALLOWED", message }]
      })

    /** What of a request to resume cannot be had. */
    const notAsked = ({ input, mode, version }: RerunRequest): ValidationFailed | undefined =>
      mode === "resume" && (version === "latest" || input !== undefined)
        ? notResumable(
            "a resumed run has the version and the input of the run that it resumes: leave both out, or use the mode fresh"
          )
        : undefined

    /** What the re-run begins with, from the run's journal as far as it is kept. */
    const beginning = (
      view: ExecutionDetail,
      request: RerunRequest,
      exact: StartEntry | undefined
    ): Json | ValidationFailed => {
      const input: Json = request.input ?? exact?.input ?? view.input
      return isObject(input) && "$blob" in input
        ? notResumable("the input of this run was too large to keep: send it with the request")
        : input
    }

    /** The installation that the run belongs to, as it is now; it must be one that runs. */
    const installationOf = Effect.fnUntraced(function* (
      { organisationId }: Principal,
      { installationId }: RunRecord
    ): Effect.fn.Return<KnownInstallation | null, Failure> {
      if (installationId === null) return null
      const found = yield* installations.find(organisationId, installationId)
      if (Option.isNone(found)) return yield* new NotFound({ what: "installation" })
      const refused = notRunning(found.value)
      return refused === undefined ? found.value : yield* refused
    })

    /**
     * What the run was begun with besides its input; of a run without a journal its headers as they may be shown, and
     * its installation as it is now.
     */
    const carried = (
      { headers: shown = {} }: RunRecord,
      installation: KnownInstallation | null,
      exact: StartEntry | undefined
    ) => {
      if (exact !== undefined) {
        const { connections, headers, installation: given, mocking } = exact
        return { headers, installation: given, connections, mocking }
      }
      if (installation === null) return { headers: shown, installation: null, connections: null }
      const { config, connections, id } = installation
      return {
        headers: shown,
        installation: { id, config },
        connections: Object.entries(connections).map(([connector, own]) => ({ connector, alias: null, id: own }))
      }
    }

    const rerun = Effect.fnUntraced(function* (
      exchange: Exchange,
      id: string,
      request: RerunRequest
    ): Effect.fn.Return<ExecutionView, Failure> {
      const { caller } = exchange
      const view = yield* find(caller, id)
      if (!isTerminal(view.status))
        return yield* new InvalidState({ state: view.status, message: "the execution has not ended: cancel it first" })
      const refused = mayRepeat(caller, view, request) ?? notAsked(request)
      if (refused !== undefined) return yield* refused
      const resume = request.mode === "resume"
      const found = yield* reads.rerunnable(caller.organisationId, view.id)
      if (Option.isNone(found)) return yield* gone()
      const { record, retention } = found.value
      const installation = yield* installationOf(caller, record)
      const [start, ...entries] = yield* journalOf(caller, view.id)
      const exact = isStart(start) ? start : undefined
      if (resume && exact === undefined)
        return yield* notResumable(
          "the journal of this run is gone, or it made no call that could be kept: use the mode fresh"
        )
      const input = beginning(view, request, exact)
      if (input instanceof ValidationFailed) return yield* input
      const now = yield* DateTime.now
      const runnable = yield* codeOf(caller, view, record, request.version ?? "same")
      const attempt: AttemptEntry = {
        kind: "attempt",
        attempt: 1,
        at: DateTime.toEpochMillis(now),
        afresh: afresh(entries)
      }
      const order = executions.start({
        runnable,
        environment: view.environment,
        retention,
        priority: priorityAgain(view.priority),
        input,
        ...carried(record, installation, exact),
        customer: customerOf(view),
        userId: view.userId,
        trigger: { type: "rerun", keyId: caller.key.id, keyName: caller.key.name },
        metadata: view.metadata,
        callback: callbackOf(record),
        traceparent: exchange.request.headers["traceparent"] ?? null,
        parent: {
          id: view.id,
          ...(resume ? { rootId: record.rootId } : {}),
          journal: resume ? [...entries, attempt] : [],
          steps: resume && exact !== undefined ? stepsAgain(view, exact, [...entries, attempt]) : []
        },
        audit: (made) =>
          auditOf(exchange, "execution.rerun", view, DateTime.formatIso(now), [
            { path: "executionId", before: view.id, after: made }
          ])
      })
      const started = yield* quota.counted(caller, view.customerId === null ? null : { id: view.customerId }, order)
      exchange.audited = true
      if (started._tag !== "Accepted")
        return yield* new Unavailable({ reason: "the run was not queued", retryAfterSeconds: 1 })
      exchange.replyHeaders["location"] = `/api/v1/executions/${started.run.id}`
      return summary(yield* find(caller, started.run.id))
    })

    // --- Listing ---

    const queryOf = (
      caller: Principal,
      params: { readonly workflow_id?: string | undefined; readonly customer_id?: string | undefined }
    ): Pick<ExecutionQuery, "workflowId" | "customerIds"> | "nothing" => {
      const named = params.customer_id
      const reachable = caller.customers === "all" ? undefined : [...caller.customers]
      const customerIds =
        named === undefined
          ? reachable
          : reachable === undefined || reachable.some((id) => id === named)
            ? [named as NonNullable<ExecutionView["customerId"]>]
            : []
      if (customerIds?.length === 0) return "nothing"
      if (params.workflow_id !== undefined && outOfScope(caller, "workflow", params.workflow_id) !== undefined)
        return "nothing"
      return {
        ...(customerIds === undefined ? {} : { customerIds }),
        ...(params.workflow_id === undefined ? {} : { workflowId: params.workflow_id })
      }
    }

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const size = sizeOf(urlParams)
          const range = bounds(urlParams)
          if (range instanceof InvalidRequest) return yield* range
          const position = yield* listing.position(urlParams.cursor)
          const query = queryOf(caller, urlParams)
          if (query === "nothing") return { data: [], page: { size, nextCursor: null, hasMore: false } }
          const rows = yield* reads.list(caller.organisationId, {
            ...query,
            limit: size + 1,
            ...(urlParams.status === undefined ? {} : { status: urlParams.status }),
            ...(urlParams.trigger_type === undefined ? {} : { triggerType: urlParams.trigger_type }),
            ...(range.after === undefined ? {} : { from: Date.parse(range.after) }),
            ...(range.before === undefined ? {} : { to: Date.parse(range.before) }),
            ...(urlParams.q === undefined ? {} : { text: urlParams.q }),
            ...(position === undefined || !isExecutionId(position.id) ? {} : { before: position.id })
          })
          const page = yield* listing.pageOf(rows, size, ({ createdAt, id }) => ({ createdAt, id }))
          return { ...page, data: page.data.filter((view) => sees(caller, view)) }
        })
      )
      .handle("get", ({ path }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          return { data: yield* find(caller, path.eid) }
        })
      )
      .handle("cancel", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const view = yield* find(exchange.caller, path.eid)
          if (isTerminal(view.status))
            return yield* new InvalidState({ state: view.status, message: `the execution is ${view.status} already` })
          const now = yield* DateTime.now
          yield* executions
            .cancel(
              exchange.caller.organisationId,
              view.id,
              auditOf(exchange, "execution.cancel", view, DateTime.formatIso(now), [
                { path: "status", before: view.status, after: "cancelled" }
              ])
            )
            .pipe(
              Effect.catchTag(
                "NotFound",
                () => new InvalidState({ state: "completed", message: "the execution has just ended" })
              )
            )
          exchange.audited = true
          return { data: yield* find(exchange.caller, path.eid) }
        })
      )
      .handle("rerun", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          return { data: yield* rerun(exchange, path.eid, payload) }
        })
      )
      .handle("fixtures", ({ path }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const { steps } = yield* find(caller, path.eid)
          return { data: steps.flatMap((step) => recorded(step)) }
        })
      )
      .handle("logs", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const view = yield* find(caller, path.eid)
          const size = sizeOf(urlParams)
          const after =
            urlParams.cursor === undefined || urlParams.cursor === ""
              ? -1
              : Number(Either.getOrElse(Encoding.decodeBase64UrlString(urlParams.cursor), () => "x"))
          if (!isCounter(after) && after !== -1)
            return yield* new InvalidRequest({
              code: "INVALID_CURSOR",
              message: "the cursor is wrong: begin again without it"
            })
          const lines = yield* reads.logs(caller.organisationId, view.id, after, size + 1)
          const data = lines.slice(0, size)
          const last = data.at(-1)
          // A run that goes on may log more: its cursor waits where the log ends now.
          const more = lines.length > size || !isTerminal(view.status)
          return {
            data,
            page: {
              size,
              hasMore: lines.length > size,
              nextCursor: more ? Encoding.encodeBase64Url(String(last?.seq ?? after)) : null
            }
          }
        })
      )
      .handle("blob", ({ path }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const view = yield* find(caller, path.eid)
          const found = yield* reads.blob(caller.organisationId, view.id, path.id as BlobId) // any text: no other row matches
          return Option.isSome(found) ? found.value : yield* new NotFound({ what: "blob" })
        })
      )
  })
)
