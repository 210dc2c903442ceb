/** The endpoints of workflows. Runs are started by `execution/Execute.ts`. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { RetryPolicy, Tier } from "../../domain/Execution.js"
import { Json, JsonObject } from "../../domain/Json.js"
import { WorkflowId } from "../../domain/Ids.js"
import { CreateWorkflow, UpdateWorkflow } from "../../domain/Workflow.js"
import { Audited, auditAction, Form, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { CreatedData, Data, listParams, NullableTime, Page, putPayload, strictPayload, Time } from "./Shapes.js"
import { Counter } from "../../domain/Scalars.js"

/** An action that a workflow's code calls. */
const BoundAction = Schema.Struct({
  connector: Schema.String,
  action: Schema.String.annotations({ description: "`*`: any action of the connector." }),
  version: Schema.NullOr(Schema.Number).annotations({
    description:
      "null: the newest. So for a draft, and for an action that did not exist when the version was published."
  }),
  perCustomer: Schema.Boolean.annotations({ description: "Each customer's own connection is used." })
}).annotations({ identifier: "BoundAction" })

/** The number of a version in a path. */
const VersionNumber = Schema.String.annotations({ jsonSchema: { type: "integer", minimum: 1 } })

const VersionView = Schema.Struct({
  version: Schema.Number,
  contentHash: Schema.String,
  publishedAt: Time,
  publishedBy: Schema.String,
  notes: Schema.NullOr(Schema.String),
  bindings: Schema.Array(BoundAction).annotations({ description: "Frozen when the version was published." })
}).annotations({ identifier: "WorkflowVersion" })

const WorkflowView = Schema.Struct({
  id: WorkflowId,
  customerId: Schema.NullOr(Schema.String),
  name: Schema.String,
  slug: Schema.String,
  description: Schema.String,
  form: Schema.Literal("code", "steps"),
  tier: Tier,
  timeoutMs: Schema.NullOr(Schema.Number),
  retry: RetryPolicy,
  enabled: Schema.Boolean,
  status: Schema.Literal("draft", "published", "archived"),
  draft: Schema.Struct({ code: Schema.NullOr(Schema.String), spec: Json, contentHash: Schema.String, updatedAt: Time }),
  publishedVersion: Schema.NullOr(Schema.Number),
  versions: Schema.Array(VersionView),
  deployments: Schema.Array(Schema.Struct({ environment: Schema.String, version: Schema.Number, deployedAt: Time })),
  inputContract: Schema.NullOr(JsonObject),
  outputContract: Schema.NullOr(JsonObject),
  bindings: Schema.Array(BoundAction).annotations({
    description:
      "Of the published version while the draft equals it: slugs and versions are frozen. Otherwise of the draft: `connector` is as the code writes it, `version` null."
  }),
  warnings: Json,
  callbackUrl: Schema.NullOr(Schema.String),
  tags: Schema.Array(Schema.String),
  diagram: Schema.optional(Json),
  archivedAt: NullableTime,
  createdBy: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Workflow" })

/** A workflow in a list, without members that can be large. */
const WorkflowSummary = WorkflowView.pipe(
  Schema.omit("draft", "versions", "deployments", "diagram", "warnings", "inputContract", "outputContract")
).annotations({ identifier: "WorkflowSummary" })

const PublishedVersion = Schema.Struct({
  workflowId: WorkflowId,
  version: Schema.Number,
  publishedAt: Time,
  created: Schema.Boolean,
  deployedTo: Schema.Array(Schema.String)
}).annotations({ identifier: "Published" })

const Diff = Schema.Struct({
  from: Schema.Number,
  to: Schema.Number,
  code: Schema.Array(Schema.Struct({ op: Schema.Literal("same", "added", "removed"), text: Schema.String })),
  contracts: Schema.Array(Schema.Struct({ path: Schema.String, before: Json, after: Json }))
}).annotations({ identifier: "WorkflowDiff" })

const path = Schema.Struct({ wid: Schema.String })
const basePath = "/api/v1/workflows"

/** Workflows on surface C. */
export const WorkflowsApi = HttpApiGroup.make("workflows")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          status: Schema.optional(Schema.Literal("draft", "published", "archived")),
          customer_id: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(WorkflowSummary))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateWorkflow))
      .addSuccess(CreatedData(WorkflowView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "workflows:create")
      .annotate(Audited, auditAction("workflow.create"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "create" })
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:wid`)
      .setPath(path)
      .setUrlParams(Schema.Struct({ include: Schema.optional(Schema.String) }))
      .addSuccess(Data(WorkflowView))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "list" })
  )
  .add(
    HttpApiEndpoint.put("update", `${basePath}/:wid`)
      .setPath(path)
      .setPayload(putPayload(UpdateWorkflow, WorkflowView))
      .addSuccess(Data(WorkflowView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("workflow.update"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "record" })
  )
  .add(
    HttpApiEndpoint.del("delete", `${basePath}/:wid`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "workflows:delete")
      .annotate(Audited, auditAction("workflow.delete"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "closed" })
  )
  .add(
    HttpApiEndpoint.post("publish", `${basePath}/:wid/publish`)
      .setPath(path)
      .setPayload(
        strictPayload(
          Schema.Struct({
            notes: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))),
            version: Schema.optional(Counter)
          })
        )
      )
      .addSuccess(Data(PublishedVersion))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("workflow.publish"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "record" })
  )
  .add(
    HttpApiEndpoint.post("archive", `${basePath}/:wid/archive`)
      .setPath(path)
      .addSuccess(Data(WorkflowView))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("workflow.archive"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "closed" })
  )
  .add(
    HttpApiEndpoint.get("versions", `${basePath}/:wid/versions`)
      .setPath(path)
      .addSuccess(Page(VersionView))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path" })
  )
  .add(
    HttpApiEndpoint.get("diff", `${basePath}/:wid/versions/:a/diff/:b`)
      .setPath(Schema.Struct({ wid: Schema.String, a: VersionNumber, b: VersionNumber }))
      .addSuccess(Data(Diff))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path" })
  )
  .add(
    HttpApiEndpoint.get("diagram", `${basePath}/:wid/diagram.svg`)
      .setPath(path)
      .addSuccess(HttpApiSchema.Text({ contentType: "image/svg+xml" }))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path" })
  )
