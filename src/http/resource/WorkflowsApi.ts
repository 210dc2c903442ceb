/** Workflows in code form. Specification: Surface C. Starting one is the thin route beside this API. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { RetryPolicy, Tier } from "../../domain/Execution.js"
import { Json, JsonObject } from "../../domain/Json.js"
import { WorkflowId } from "../../domain/Ids.js"
import { CreateWorkflow, UpdateWorkflow } from "../../domain/Workflow.js"
import { Audited, audited, Form, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { created, Data, listParams, NullableTime, Page, replacing, strict, Time } from "./Shapes.js"
import { Counter } from "../../domain/Scalars.js"

/** An action that the code calls. */
const Bound = Schema.Struct({
  connector: Schema.String,
  action: Schema.String.annotations({ description: "`*`: any of the connector's." }),
  version: Schema.NullOr(Schema.Number).annotations({
    description: "null: whichever is newest; a draft, or an action that was not there when the version was published"
  }),
  perCustomer: Schema.Boolean.annotations({ description: "Each customer's own connection is used." })
}).annotations({ identifier: "BoundAction" })

const VersionView = Schema.Struct({
  version: Schema.Number,
  contentHash: Schema.String,
  publishedAt: Time,
  publishedBy: Schema.String,
  notes: Schema.NullOr(Schema.String),
  bindings: Schema.Array(Bound).annotations({ description: "Frozen when the version was published." })
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
  bindings: Schema.Array(Bound).annotations({ description: "Of the draft." }),
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

/** A listed workflow leaves out what can be large. */
const WorkflowSummary = WorkflowView.pipe(
  Schema.omit("draft", "versions", "deployments", "diagram", "warnings", "inputContract", "outputContract")
).annotations({ identifier: "WorkflowSummary" })

const Published = Schema.Struct({
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
const at = "/api/v1/workflows"

export const WorkflowsApi = HttpApiGroup.make("workflows")
  .add(
    HttpApiEndpoint.get("list", at)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          status: Schema.optional(Schema.Literal("draft", "published", "archived")),
          customer_id: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(WorkflowSummary))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, read("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", at)
      .setPayload(strict(CreateWorkflow))
      .addSuccess(created(WorkflowView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "workflows:create")
      .annotate(Audited, audited("workflow.create"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "create" })
  )
  .add(
    HttpApiEndpoint.get("get", `${at}/:wid`)
      .setPath(path)
      .setUrlParams(Schema.Struct({ include: Schema.optional(Schema.String) }))
      .addSuccess(Data(WorkflowView))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, read("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "list" })
  )
  .add(
    HttpApiEndpoint.put("update", `${at}/:wid`)
      .setPath(path)
      .setPayload(replacing(UpdateWorkflow, WorkflowView))
      .addSuccess(Data(WorkflowView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "workflows:update")
      .annotate(Audited, audited("workflow.update"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "record" })
  )
  .add(
    HttpApiEndpoint.del("delete", `${at}/:wid`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "workflows:delete")
      .annotate(Audited, audited("workflow.delete"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "closed" })
  )
  .add(
    HttpApiEndpoint.post("publish", `${at}/:wid/publish`)
      .setPath(path)
      .setPayload(
        strict(
          Schema.Struct({
            notes: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))),
            version: Schema.optional(Counter)
          })
        )
      )
      .addSuccess(Data(Published))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, audited("workflow.publish"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "record" })
  )
  .add(
    HttpApiEndpoint.post("archive", `${at}/:wid/archive`)
      .setPath(path)
      .addSuccess(Data(WorkflowView))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, audited("workflow.archive"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path", environment: "closed" })
  )
  .add(
    HttpApiEndpoint.get("versions", `${at}/:wid/versions`)
      .setPath(path)
      .addSuccess(Page(VersionView))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, read("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path" })
  )
  .add(
    HttpApiEndpoint.get("diff", `${at}/:wid/versions/:a/diff/:b`)
      .setPath(Schema.Struct({ wid: Schema.String, a: Schema.String, b: Schema.String }))
      .addSuccess(Data(Diff))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, read("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path" })
  )
  .add(
    HttpApiEndpoint.get("diagram", `${at}/:wid/diagram.svg`)
      .setPath(path)
      .addSuccess(HttpApiSchema.Text({ contentType: "image/svg+xml" }))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, read("workflow"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "path" })
  )
