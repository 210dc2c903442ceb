/** The operations on execution records. Specification: Surface C; contract: execution record. */
import { HttpApiSchema } from "@effect/platform"
import { Schema, Effect } from "effect"
import { ExecutionDetail, ExecutionView, ListedStep, LogLine } from "../../domain/run/ExecutionView.js"
import { ReportedChange, SyncReport } from "../../domain/diff/SyncReport.js"
import { Fixture } from "../../domain/connector/Mocking.js"
import { Json, canonicalJson } from "../../domain/Json.js"
import { Page } from "../../domain/Record.js"
import { auditAction, auditRead } from "../operation/Contract.js"
import { forTenants } from "../operation/ForTenants.js"
import { operation, operationsOf } from "../operation/Operation.js"
import { listParams } from "../../actors/management/Pages.js"
import { strictPayload } from "../PayloadSchema.js"
import { ExecutionDiagram } from "../../actors/management/run/ExecutionDiagram.js"
import { ExecutionControl } from "../../actors/management/run/ExecutionControl.js"
import { ExecutionList, ExecutionHistory, StepList } from "../../actors/management/run/ExecutionHistory.js"
import { EntryList, ReportList, SyncReportHistory } from "../../actors/management/run/SyncReportHistory.js"
import { ExecutionStatistics, FailuresRequest, StatsRequest } from "../../actors/management/run/ExecutionStatistics.js"
import { ExecutionBucket, FailureGroup } from "../../domain/run/ExecutionStats.js"
import { Digests } from "../../actors/ports/Digests.js"
import { runClaim } from "../RunClaim.js"
import { record, acceptedRecord, page, bareValue } from "../operation/Output.js"
import { RerunRequest } from "../../domain/run/Rerun.js"
import { EmbeddedExecutionList, EmbeddedExecutions } from "../../actors/management/embed/EmbeddedExecutions.js"
import { EmbeddedExecution } from "../../domain/run/EmbeddedExecution.js"

const ExecutionSummary = ExecutionView.annotations({ identifier: "ExecutionSummary" })

const Execution = ExecutionDetail.annotations({ identifier: "Execution" })

const StepPage = Schema.Struct({
  ...Page(ListedStep).fields,
  changedSince: Schema.optional(Schema.String).annotations({
    description: "with `changed_since`: what it is in the next request"
  })
})

const Rerun = Schema.Struct({
  ...ExecutionView.fields,
  changed: Schema.optional(Schema.Array(Schema.String)).annotations({
    description: "names of steps that are not run again, though they differ in the version that runs"
  })
}).annotations({ identifier: "ExecutionRerun" })

/** What operations that read executions have in common. */
const reading = {
  resource: "execution",
  sharing: "customers",
  scoped: { workflow: "record", environment: "record" },
  permit: "executions:read"
} as const

const ofExecutionHistory = operationsOf({ with: ExecutionHistory, ...reading })
const ofSyncReports = operationsOf({ with: SyncReportHistory, ...reading })
/** Its sums have no environments. */
const ofStatistics = operationsOf({
  with: ExecutionStatistics,
  ...reading,
  scoped: { workflow: "record", environment: "closed" }
})

/** The operations of the group `executions`, in the order of the documents. */
export const executionsOperations = [
  ofExecutionHistory({
    name: "executions.list",
    summary: "List executions",
    description: "Lists the runs of the workspace that the key reaches, newest first.",
    answers: { 200: "A page of executions." },
    parameters: {
      trigger_type: "Only runs started by this type of trigger.",
      parent_id: "Only runs that were started again from this one."
    },
    route: "GET /api/v1/executions",
    query: ExecutionList,
    output: page(ExecutionSummary),
    scoped: { workflow: "list", environment: "list" },
    use: (history, { context, query }) => history.list(context, query),
    sessions: {
      words: {
        description: "Lists the runs of the session's customer in the default environment, if its widget shows runs."
      },
      with: EmbeddedExecutions,
      query: EmbeddedExecutionList,
      output: page(EmbeddedExecution),
      use: (executions, { context, query }) => executions.list(context, query)
    }
  }),
  ofStatistics({
    name: "executions.stats",
    summary: "Count executions by time",
    description:
      "Counts the runs that ended in each minute, hour or day by their status, with the median and the 95th percentile of their duration, within 10 per cent. Counted once a minute; buckets without runs are left out. An answer has at most 750 buckets: minutes are kept for 2 days, hours for 35, days for 400.",
    answers: { 200: "Buckets with runs, the earliest first." },
    parameters: { bucket: "The time that each number is of. Without it: an hour." },
    route: "GET /api/v1/executions/stats",
    query: StatsRequest,
    output: record(Schema.Array(ExecutionBucket)),
    use: (statistics, { context, query }) => statistics.buckets(context, query)
  }),
  ofStatistics({
    name: "executions.failures",
    summary: "Group failed executions",
    description:
      "Groups the runs that failed or timed out by workflow, step and error, the 100 most frequent kinds, of at most 31 days; of more than two days whole days. Without a period of the last day.",
    answers: { 200: "Kinds of failures, the most frequent first." },
    route: "GET /api/v1/executions/failures",
    query: FailuresRequest,
    output: record(Schema.Array(FailureGroup)),
    use: (statistics, { context, query }) => statistics.failures(context, query)
  }),
  ofExecutionHistory({
    name: "executions.get",
    summary: "Read an execution",
    description:
      "Reads the record of a run with its input, output and steps: the first 1,000, and at most 8 MiB of them.",
    answers: { 200: "The execution." },
    route: "GET /api/v1/executions/:eid",
    output: record(Execution),
    use: (history, { context, path }) => history.get(context, path.eid),
    sessions: {
      words: { description: "Reads how a run goes, if the widget shows runs." },
      with: EmbeddedExecutions,
      output: record(EmbeddedExecution),
      use: (executions, { context, path }) => executions.get(context, path.eid)
    }
  }),
  operation({
    name: "executions.cancel",
    summary: "Cancel an execution",
    description: "Cancels a run that has not ended. A call that is in flight is not undone.",
    answers: { 200: "The cancelled execution." },
    route: "POST /api/v1/executions/:eid/cancel",
    output: record(Execution),
    permit: "executions:create",
    audit: auditAction("execution.cancel"),
    sharing: "customers",
    scoped: { workflow: "record", environment: "record" },
    with: ExecutionControl,
    use: (control, { context, path }) => control.cancel(context, path.eid)
  }),
  operation({
    name: "executions.rerun",
    summary: "Run an execution again",
    description:
      "Starts a run with the input of an earlier one. `fresh` makes all calls again, `resume` reuses the results of calls that succeeded. A workflow of steps can be resumed on the version that is deployed now, and `fromStep` runs a step and its dependants anew.",
    answers: { 202: "The new execution is accepted." },
    example: { mode: "fresh", version: "latest" },
    route: "POST /api/v1/executions/:eid/rerun",
    body: strictPayload(RerunRequest),
    output: acceptedRecord(Rerun),
    permit: "executions:create",
    audit: auditAction("execution.rerun"),
    sharing: "customers",
    scoped: {
      workflow: "record",
      environment: "record",
      connection: "record",
      connector: "record",
      secret: "reach"
    },
    form: { idempotency: "run" },
    with: Effect.all([ExecutionControl, Digests]),
    use: ([control, digests], { context, path, body }) =>
      Effect.gen(function* () {
        const { caller, replyHeaders, request } = context
        const claim = yield* runClaim(digests, caller, request, canonicalJson(context.body ?? null))
        const traceparent = request.headers["traceparent"] ?? null
        const { execution, isRepeated } = yield* control.rerun(context, path.eid, { ...body, claim, traceparent })
        replyHeaders["location"] = `/api/v1/executions/${execution.id}`
        if (isRepeated) replyHeaders["idempotent-replayed"] = "true"
        return execution
      })
  }),
  ofExecutionHistory({
    name: "executions.fixtures",
    summary: "Read the calls of an execution as fixtures",
    description:
      "Answers with the connector calls among the steps that the record of a run shows, and their results, in the form of `fixtures` of a mocked run.",
    answers: { 200: "The fixtures." },
    route: "GET /api/v1/executions/:eid/fixtures",
    output: record(Schema.Array(Fixture)),
    use: (history, { context, path }) => history.fixtures(context, path.eid)
  }),
  ofExecutionHistory({
    name: "executions.steps",
    summary: "List steps of an execution",
    description:
      "Lists the steps and calls of a run in the order of its trace. `path` selects a step with what is inside of it, such as `sync[3]`. `changed_since` selects those that were written since an earlier answer: empty at first, then its `changedSince`; ask again at once while `hasMore` is true. A step may come again unchanged, and is known by its `index`.",
    answers: { 200: "A page of steps." },
    parameters: {
      path: "Only this step, with what is inside of it, as in `sync[3]`.",
      changed_since: "Only steps that were written since an earlier answer: `changedSince` of it, or empty."
    },
    route: "GET /api/v1/executions/:eid/steps",
    query: Schema.Struct({
      ...StepList.fields,
      cursor: Schema.optional(Schema.String),
      page_size: listParams.page_size
    }),
    output: bareValue(StepPage),
    use: (history, { context, path, query }) => history.steps(context, path.eid, query)
  }),
  operation({
    name: "executions.diagram",
    summary: "Draw an execution",
    description:
      "Draws the workflow that ran as a diagram, with what of it completed, failed or was skipped; steps that did not run are pale. Of code the calls of connectors are marked.",
    answers: { 200: "The diagram as SVG." },
    route: "GET /api/v1/executions/:eid/diagram.svg",
    output: bareValue(HttpApiSchema.Text({ contentType: "image/svg+xml" })),
    permit: "executions:read",
    sharing: "customers",
    scoped: { workflow: "record", environment: "record" },
    audit: auditRead("execution"),
    with: ExecutionDiagram,
    use: (diagrams, { context, path }) => diagrams.draw(context, path.eid)
  }),
  ofExecutionHistory({
    name: "executions.logs",
    summary: "List log lines of an execution",
    description: "Lists what the run wrote to the console, oldest first.",
    answers: { 200: "A page of log lines." },
    route: "GET /api/v1/executions/:eid/logs",
    query: Schema.Struct({ cursor: Schema.optional(Schema.String), page_size: listParams.page_size }),
    output: page(LogLine),
    use: (history, { context, path, query }) => history.logs(context, path.eid, query)
  }),
  ofExecutionHistory({
    name: "executions.blob",
    summary: "Read a large value of an execution",
    description: "Answers with a value that is stored outside the record since it is too large; the record has its id.",
    answers: { 200: "The value." },
    parameters: { id: "The id of the value, as the record refers to it." },
    route: "GET /api/v1/executions/:eid/blobs/:id",
    output: bareValue(Json),
    use: (history, { context, path }) => history.blob(context, path.eid, path.id)
  }),
  ofSyncReports({
    name: "executions.syncReports",
    summary: "List sync reports of an execution",
    description:
      "Lists what `svc.diff.compare` found in a run, the oldest first: how many records were added, changed, removed or skipped. The entries are read apart.",
    answers: { 200: "A page of sync reports." },
    route: "GET /api/v1/executions/:eid/sync-reports",
    query: ReportList,
    output: page(SyncReport),
    use: (history, { context, path, query }) => history.list(context, path.eid, query)
  }),
  ofSyncReports({
    name: "executions.syncReportEntries",
    summary: "List entries of a sync report",
    description:
      "Lists the records that were added, changed, removed or skipped, in this order. A page with large records has fewer than it is asked for.",
    answers: { 200: "A page of entries." },
    parameters: { rpt: "The id of the report.", op: "Only entries of this kind." },
    route: "GET /api/v1/sync-reports/:rpt/entries",
    query: EntryList,
    output: page(ReportedChange),
    use: (history, { context, path, query }) => history.entries(context, path.rpt, query)
  })
] as const

/** The operations of the group `tenantExecutions`: those of one customer, on surface B. */
export const tenantExecutionOperations = forTenants("tenantExecutions", executionsOperations, {
  list: {
    summary: "List a tenant's executions",
    description: "Lists the runs for the tenant that the key reaches, newest first.",
    query: ExecutionList.omit("customer_id")
  },
  get: {
    summary: "Read an execution of a tenant",
    description: "Reads the record of a run for the tenant, with input, output and error of each step."
  },
  cancel: { summary: "Cancel an execution of a tenant" }
})
