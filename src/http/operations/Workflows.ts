/** The operations on workflows. Runs are started by `execution/Execute.ts`. Specification: Surface C. */
import { HttpApiSchema } from "@effect/platform"
import { maxVersionsShown } from "../../actors/management/workflow/WorkflowRecords.js"
import { Schema, Effect } from "effect"
import { Json, JsonObject } from "../../domain/Json.js"
import { ExportFormat, FileOrder } from "../../domain/flow/FlowFile.js"
import { Trigger } from "../../domain/trigger/Trigger.js"
import { WorkflowDraft } from "../../domain/workflow/Draft.js"
import { CreateWorkflowBody, UpdateWorkflow, Workflow, WorkflowVersion } from "../../domain/workflow/Workflow.js"
import { forTenants } from "../operation/ForTenants.js"
import { operationsOf } from "../operation/Operation.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { Counter } from "../../domain/Scalars.js"
import { DraftList, WorkflowList, Workflows } from "../../actors/management/workflow/Workflows.js"
import { WorkflowVersions } from "../../actors/management/workflow/WorkflowVersions.js"
import { NotFound } from "../../domain/Failure.js"
import { record, newRecord, page, bareValue, empty, file } from "../operation/Output.js"
import { EmbeddedWorkflowList, EmbeddedWorkflows } from "../../actors/management/embed/EmbeddedWorkflows.js"
import { EmbeddedWorkflow } from "../../domain/workflow/EmbeddedWorkflow.js"
import { Publication } from "../../actors/management/workflow/WorkflowPublisher.js"

/** The number of a version in a path. */
const VersionNumber = Schema.String.annotations({ jsonSchema: { type: "integer", minimum: 1 } })

const WorkflowTrigger = Trigger.View.pipe(Schema.pick("id", "name", "type", "status", "customerId")).annotations({
  identifier: "WorkflowTrigger"
})

const WorkflowView = Schema.Struct({
  ...Workflow.View.fields,
  diagram: Schema.optional(Json),
  published: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        version: Schema.Number,
        code: Schema.NullOr(Schema.String),
        spec: Json,
        inputContract: Schema.NullOr(JsonObject),
        outputContract: Schema.NullOr(JsonObject)
      })
    )
  ).annotations({
    description: "With `include=published`: the content of the published version, to compare the draft."
  }),
  triggers: Schema.optional(Schema.Array(WorkflowTrigger)).annotations({
    description: "With `include=triggers`, and for tenants always: the triggers whose routes lead to it."
  })
}).annotations({ identifier: "Workflow" })

/** A workflow in a list, without members that can be large. */
const WorkflowSummary = WorkflowView.pipe(
  Schema.omit(
    "draft",
    "versions",
    "deployments",
    "diagram",
    "published",
    "triggers",
    "warnings",
    "problems",
    "inputContract",
    "outputContract"
  )
).annotations({ identifier: "WorkflowSummary" })

const Diff = Schema.Struct({
  from: Schema.Number,
  to: Schema.Number,
  code: Schema.Array(Schema.Struct({ op: Schema.Literal("same", "added", "removed"), text: Schema.String })),
  contracts: Schema.Array(Schema.Struct({ path: Schema.String, before: Json, after: Json })),
  steps: Schema.optional(
    Schema.Struct({
      added: Schema.Array(Schema.String),
      removed: Schema.Array(Schema.String),
      changed: Schema.Array(Schema.String)
    })
  ).annotations({ description: "of two versions of steps: the names of those that differ" })
}).annotations({ identifier: "WorkflowDiff" })

const versionNumber = (text: string, what = "version"): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : new NotFound({ what })

const SaveQuery = Schema.Struct({
  incomplete: Schema.optional(Schema.Literal("true", "false")).annotations({
    description: "`true`: code or steps with mistakes are saved too, and `problems` names the mistakes."
  })
})
const saveOptions = ({ incomplete }: typeof SaveQuery.Type) => ({ isIncomplete: incomplete === "true" })

const ofWorkflows = operationsOf({
  with: Workflows,
  resource: "workflow",
  sharing: "perRecord",
  scoped: { workflow: "path", environment: "closed" }
})

const ofWorkflowVersions = operationsOf({
  with: WorkflowVersions,
  resource: "workflow",
  sharing: "perRecord",
  scoped: { workflow: "path" }
})

/** The operations of the group `workflows`, in the order of the documents. */
export const workflowsOperations = [
  ofWorkflows({
    name: "workflows.list",
    summary: "List workflows",
    description: "Lists the workflows of the workspace without their code, newest first.",
    answers: { 200: "A page of workflows." },
    route: "GET /api/v1/workflows",
    query: WorkflowList,
    output: page(WorkflowSummary),
    permit: "workflows:read",
    scoped: { workflow: "list" },
    use: (workflows, { context, query }) => workflows.list(context, query),
    sessions: {
      words: {
        description:
          "Lists the workflows that the session may start: those of its widget's actions, and of the integrations that its customer has installed."
      },
      with: EmbeddedWorkflows,
      query: EmbeddedWorkflowList,
      output: page(EmbeddedWorkflow),
      use: (workflows, { context, query }) => workflows.list(context, query)
    }
  }),
  ofWorkflows({
    name: "workflows.create",
    summary: "Create a workflow",
    description:
      "Creates a workflow with a draft. Code that does not parse is refused with its line and column, steps with the paths of all mistakes. With `import` the draft is that of a file. A draft runs only with `draft: true`; publish it to run it without.",
    answers: { 201: "The workflow is created." },
    example: {
      name: "greet",
      form: "code",
      code: "export default async function greet(ctx) {\n  return { greeting: `Hello ${ctx.input.name}` }\n}\n",
      tier: "instant",
      tags: ["example"]
    },
    route: "POST /api/v1/workflows",
    body: strictPayload(CreateWorkflowBody),
    output: newRecord(WorkflowView),
    form: { idempotency: "lease" },
    permit: "workflows:create",
    scoped: { workflow: "create" },
    query: SaveQuery,
    use: (workflows, { context, body, query }) => workflows.create(context, body, saveOptions(query))
  }),
  ofWorkflows({
    name: "workflows.get",
    summary: "Read a workflow",
    description: "Reads a workflow with its draft, its versions and their deployments.",
    answers: { 200: "The workflow." },
    route: "GET /api/v1/workflows/:wid",
    query: Schema.Struct({ include: Schema.optional(Schema.String) }),
    output: record(WorkflowView),
    permit: "workflows:read",
    scoped: { workflow: "path", environment: "list" },
    use: (workflows, { context, path, query }) =>
      workflows.get(context, path.wid, { include: new Set(query.include?.split(",")) }),
    sessions: {
      words: { description: "Reads a workflow that the session may start." },
      with: EmbeddedWorkflows,
      query: Schema.Struct({}),
      output: record(EmbeddedWorkflow),
      use: (workflows, { context, path }) => workflows.get(context, path.wid)
    }
  }),
  ofWorkflows({
    name: "workflows.update",
    summary: "Change a workflow",
    description:
      "Changes the members that are sent; the others stay. New code goes into the draft; what another caller saved is kept among the drafts.",
    answers: { 200: "The workflow after the change." },
    example: { description: "Greets a person by name", tags: ["example", "greeting"] },
    route: "PUT /api/v1/workflows/:wid",
    body: putPayload(UpdateWorkflow, WorkflowView),
    output: record(WorkflowView),
    form: { idempotency: "lease" },
    permit: "workflows:update",
    scoped: { workflow: "path", environment: "record" },
    query: SaveQuery,
    use: (workflows, { context, path, query, body }) => workflows.update(context, path.wid, body, saveOptions(query))
  }),
  ofWorkflows({
    name: "workflows.delete",
    summary: "Delete a workflow",
    description: "Deletes a workflow. Records of its runs stay as long as the plan keeps them.",
    answers: { 204: "The workflow is deleted." },
    route: "DELETE /api/v1/workflows/:wid",
    output: empty,
    permit: "workflows:delete",
    use: (workflows, { context, path }) => workflows.remove(context, path.wid)
  }),
  ofWorkflowVersions({
    name: "workflows.publish",
    summary: "Publish a workflow",
    description:
      "Freezes the draft as the next version and deploys it to the default environment. With `version`, an earlier one is published again.",
    answers: { 200: "The published version and where it is deployed." },
    example: { notes: "Greets by name" },
    route: "POST /api/v1/workflows/:wid/publish",
    body: strictPayload(
      Schema.Struct({
        notes: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))),
        version: Schema.optional(Counter)
      })
    ),
    output: record(Publication),
    permit: "workflows:update",
    scoped: { workflow: "path", environment: "record" },
    use: (versions, { context, path, body }) => versions.publish(context, path.wid, body)
  }),
  ofWorkflows({
    name: "workflows.archive",
    summary: "Archive a workflow",
    description: "Archives a workflow: it cannot run until it is published again.",
    answers: { 200: "The archived workflow." },
    route: "POST /api/v1/workflows/:wid/archive",
    output: record(WorkflowView),
    permit: "workflows:update",
    use: (workflows, { context, path }) => workflows.archive(context, path.wid)
  }),
  ofWorkflowVersions({
    name: "workflows.versions",
    summary: "List versions of a workflow",
    description: "Lists the published versions, newest first.",
    answers: { 200: "A page of versions." },
    route: "GET /api/v1/workflows/:wid/versions",
    output: page(WorkflowVersion.View),
    permit: "workflows:read",
    use: (versions, { context, path }) =>
      Effect.map(versions.list(context, path.wid), (data) => ({
        data,
        page: { size: maxVersionsShown, nextCursor: null, hasMore: false }
      }))
  }),
  ofWorkflowVersions({
    name: "workflows.diff",
    summary: "Compare two versions of a workflow",
    description: "Compares the code of two versions line by line, their contracts, and their steps by name.",
    answers: { 200: "The difference." },
    parameters: {
      a: "The number of the version that is compared.",
      b: "The number of the version that it is compared with."
    },
    route: "GET /api/v1/workflows/:wid/versions/:a/diff/:b",
    params: Schema.Struct({ wid: Schema.String, a: VersionNumber, b: VersionNumber }),
    output: record(Diff),
    permit: "workflows:read",
    use: (versions, { context, path }) =>
      Effect.gen(function* () {
        const [from, to] = yield* Effect.all([versionNumber(path.a), versionNumber(path.b)])
        return { from, to, ...(yield* versions.diff(context, path.wid, from, to)) }
      })
  }),
  ofWorkflows({
    name: "drafts.listStates",
    summary: "List earlier drafts of a workflow",
    description:
      "Lists earlier states of the draft, newest first: the last one of each author and five minutes, and whatever another author overwrote. The last 50 are kept, for 30 days.",
    answers: { 200: "A page of drafts." },
    route: "GET /api/v1/workflows/:wid/drafts",
    query: DraftList,
    output: page(WorkflowDraft.View),
    permit: "workflows:read",
    scoped: { workflow: "path" },
    use: (workflows, { context, path, query }) => workflows.drafts(context, path.wid, query)
  }),
  ofWorkflows({
    name: "drafts.restore",
    summary: "Restore an earlier draft",
    description:
      "Saves an earlier state of the draft again, with its contracts. What it replaces is kept among the drafts; mistakes that it has by now are answered as `problems`.",
    answers: { 200: "The workflow with the restored draft." },
    parameters: { n: "The number of the draft, as the list has it." },
    example: { version: 3 },
    route: "POST /api/v1/workflows/:wid/drafts/:n/restore",
    params: Schema.Struct({ wid: Schema.String, n: VersionNumber }),
    body: strictPayload(Schema.Struct({ version: Schema.optional(Counter) })),
    output: record(WorkflowView),
    form: { idempotency: "lease" },
    permit: "workflows:update",
    scoped: { workflow: "path" },
    use: (workflows, { context, path, body }) =>
      Effect.flatMap(versionNumber(path.n, "draft"), (number) =>
        workflows.restoreDraft(context, path.wid, number, body.version)
      )
  }),
  ofWorkflows({
    name: "workflows.diagram",
    summary: "Draw a workflow",
    description: "Draws the calls and branches of the draft, or of a version, as a diagram.",
    answers: { 200: "The diagram as SVG." },
    route: "GET /api/v1/workflows/:wid/diagram.svg",
    query: Schema.Struct({ version: Schema.optional(VersionNumber) }),
    output: bareValue(HttpApiSchema.Text({ contentType: "image/svg+xml" })),
    permit: "workflows:read",
    scoped: { workflow: "path" },
    use: (workflows, { context, path, query }) =>
      Effect.gen(function* () {
        const version = query.version === undefined ? undefined : yield* versionNumber(query.version)
        const { contentHash, svg } = yield* workflows.draw(context, path.wid, version)
        context.replyHeaders["etag"] = `"${contentHash}"`
        return svg
      })
  }),
  ofWorkflows({
    name: "workflows.export",
    summary: "Export a workflow as a file",
    description:
      "Gives the draft, or a version, as a file without ids, URLs or secrets: the steps as JSON or as a module, which an import takes, or code that makes the same calls. With `order=earlier` the order that the first generation took from the places and references of steps stands in it as `dependsOn`.",
    answers: { 200: "The file." },
    parameters: {
      format: "The form of the file. Without it: `flow.json` of steps, and `code` of code.",
      order: "`earlier`: the order that steps had in the first generation stands in the file as `dependsOn`."
    },
    route: "GET /api/v1/workflows/:wid/export",
    query: Schema.Struct({
      format: Schema.optional(ExportFormat),
      order: Schema.optional(FileOrder),
      version: Schema.optional(VersionNumber)
    }),
    output: file("text/javascript", "application/json"),
    permit: "workflows:read",
    scoped: { workflow: "path" },
    use: (workflows, { context, path, query }) =>
      Effect.gen(function* () {
        const version = query.version === undefined ? undefined : yield* versionNumber(query.version)
        const { fileName, text, type } = yield* workflows.exportFile(context, path.wid, { ...query, version })
        context.replyHeaders["content-type"] = `${type}; charset=utf-8`
        context.replyHeaders["content-disposition"] = `attachment; filename="${fileName}"`
        return text
      })
  })
] as const

/** The operations of the group `tenantWorkflows`: those of one customer, on surface B. */
export const tenantWorkflowOperations = forTenants("tenantWorkflows", workflowsOperations, {
  list: {
    summary: "List a tenant's flows",
    description: "Lists the tenant's own workflows and the organisation's without their code, newest first.",
    query: WorkflowList.omit("customer_id")
  },
  create: {
    summary: "Create a flow of a tenant",
    description: "Creates a workflow with a draft, which only this tenant's runs use.",
    body: strictPayload(CreateWorkflowBody.omit("customerId").annotations({ identifier: "CreateTenantWorkflow" })),
    isOwned: true
  },
  get: {
    summary: "Read a flow of a tenant",
    description:
      "Reads a workflow of the tenant or of the organisation with its draft, its versions, its triggers, and where it is deployed for the tenant.",
    adapt: (call) => ({ ...call, query: { include: `triggers,${call.query.include ?? ""}` } })
  },
  update: {
    summary: "Change a flow of a tenant",
    description: "Changes the members that are sent; the others stay. A workflow of the organisation is only read here."
  },
  publish: { summary: "Publish a flow of a tenant" },
  archive: { summary: "Archive a flow of a tenant" }
})
