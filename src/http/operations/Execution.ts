/**
 * The contracts of surface A: starting runs, and the proxy. `Execute.ts` and `Proxy.ts` serve these routes, and a test holds
 * both to the same paths and statuses. Specification: Surface A.
 */
import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Fixture, MockMode } from "../../domain/connector/Mocking.js"
import { Tier } from "../../domain/run/Execution.js"
import { Json, JsonObject } from "../../domain/Json.js"
import { ProxyFailures, RunFailures } from "../ErrorSchemas.js"
import { auditAction, auditRead, type Contract, type Method } from "../operation/Contract.js"
import { contract } from "../operation/Operation.js"
import { bareValues, bareValue } from "../operation/Output.js"
import { strictPayload } from "../PayloadSchema.js"
import { EmbeddedRun, StartOffered } from "../../domain/run/EmbeddedExecution.js"

const ExecuteRequest = Schema.Struct({
  input: Schema.optional(JsonObject),
  metadata: Schema.optional(JsonObject).annotations({
    description: "echoed in the record and the callback; at most 4 KiB"
  }),
  environment: Schema.optional(Schema.String),
  draft: Schema.optional(Schema.Boolean).annotations({
    description:
      "runs the draft, in `test` unless an environment is named; needs `workflows:update` too, and elsewhere what deploying there needs"
  }),
  mock: Schema.optional(MockMode).annotations({
    description:
      "partial: connectors answer from fixtures and mocks if there are any; full: connectors answer from nothing else"
  }),
  fixtures: Schema.optional(Schema.Array(Fixture)),
  callback: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        url: Schema.String,
        events: Schema.optional(
          Schema.Array(
            Schema.Literal("execution.completed", "execution.failed", "execution.timed_out", "execution.cancelled")
          )
        )
      })
    )
  )
}).annotations({ identifier: "ExecuteRequest" })

/** The result of an Instant workflow; a failed one has the header `x-svc-execution-status: failed`. */
const ReturnedValue = Json.annotations({
  identifier: "Returned",
  description: "what the workflow returned; with x-svc-execution-status: failed, {executionId, status, error}"
})

const FlowAnswer = Json.annotations({ identifier: "FlowAnswer", description: "what the flow's success response says" })

const AcceptedRun = Schema.Struct({
  executionId: Schema.String,
  status: Schema.Literal("pending"),
  tier: Tier,
  callback: Schema.Boolean
}).annotations({ identifier: "AcceptedRun", ...HttpApiSchema.annotations({ status: 202 }) })

const startDescription =
  "An Instant workflow answers when it has ended, others answer 202 at once. " +
  "A workflow that throws is a failed run and not an HTTP error: it is answered with 200. " +
  "With an Idempotency-Key the run starts once, and a repetition is answered from the first run."

const start = (
  name: "execution.execute" | "run.run",
  path: string,
  words: { readonly summary: string; readonly description: string },
  sessions: Parameters<typeof contract>[0]["sessions"] = undefined
): Contract =>
  contract({
    name,
    summary: words.summary,
    description: `${words.description} ${startDescription}`,
    answers: {
      200: "The run has ended. The body is what the workflow returned, or its error if `x-svc-execution-status` is `failed`.",
      202: "The run is accepted. `location` has the path of its record."
    },
    example: { input: { name: "Ada" }, metadata: { ticket: "T-1" } },
    parameters: { workflowId: "The id of the workflow." },
    route: `POST ${path}`,
    body: ExecuteRequest,
    output: bareValues(ReturnedValue, AcceptedRun),
    failures: RunFailures,
    permit: "workflows:execute",
    audit: auditAction("workflow.execute"),
    sharing: "customers",
    scoped: { workflow: "record", environment: "record", connection: "record", connector: "record", secret: "reach" },
    form: { body: "handler", idempotency: "run", tenancy: "act" },
    ...(sessions === undefined ? {} : { sessions })
  })

/** The start of a run on surface A. */
export const executeContract = start("execution.execute", "/api/v1/workflows/:workflowId/execute", {
  summary: "Start a workflow",
  description: "Runs a published version of the workflow in an environment."
})

/** A run of an embed session, which goes on. */
const AcceptedOffered = EmbeddedRun.annotations({
  identifier: "AcceptedOffered",
  ...HttpApiSchema.annotations({ status: 202 })
})

/** The same start on surface C; embed sessions start what their widget offers. */
export const runContract = start(
  "run.run",
  "/api/v1/workflows/:workflowId/run",
  {
    summary: "Run a workflow",
    description: "The same as `POST /api/v1/workflows/{workflowId}/execute` of surface A."
  },
  {
    words: {
      description:
        "Starts a workflow of an action of the widget, or of an integration that the customer has installed, in the default environment. The integration gives the run its connections and settings. With an Idempotency-Key the run starts once.",
      answers: {
        200: "The run has ended, well or not: `status` says how.",
        202: "The run is accepted, and goes on."
      }
    },
    body: strictPayload(StartOffered),
    output: bareValues(EmbeddedRun, AcceptedOffered)
  }
)

/** The call of a flow by its name on surface B. */
export const flowContract = contract({
  name: "flow.call",
  summary: "Call a flow",
  description:
    "Runs the workflow of this name: the tenant's own before the organisation's. The header `stage` chooses the version: " +
    "`DRAFT` (in `test`; needs `workflows:update` too), or an environment, `live` without it. An Instant flow answers when it has " +
    "ended, after 60 s at most or its own `timeoutMs` of up to 120 s; others answer 202 at once.",
  answers: {
    200: "What the flow's success response says, with the status that it says.",
    202: "The run is accepted."
  },
  example: { input: { name: "Ada" } },
  parameters: {
    flow_name: "The name of the workflow: letters, digits and _, and none of the first segments of other paths."
  },
  route: "POST /api/v1/:flow_name",
  body: Schema.Struct({
    input: ExecuteRequest.fields.input,
    metadata: ExecuteRequest.fields.metadata,
    callback: ExecuteRequest.fields.callback
  }).annotations({ identifier: "FlowRequest" }),
  output: bareValues(FlowAnswer, AcceptedRun),
  permit: "workflows:execute",
  audit: auditAction("workflow.execute"),
  sharing: "customers",
  scoped: { workflow: "record", environment: "record", connection: "record", connector: "record", secret: "reach" },
  form: { body: "handler", idempotency: "run", tenancy: "act", answers: "own" }
})

// --- The proxy ---

const ProviderAnswer = Schema.String.annotations({
  identifier: "ProviderAnswer",
  description: "the provider's unchanged answer, with its status and headers"
})

const proxy = (method: Method): Contract =>
  contract({
    name: `proxy.${method.toLowerCase()}`,
    summary: `Send a ${method} to a provider`,
    description:
      "Everything after `/api/v1/proxy/`, slashes and query included, goes to the connection's base URL with the " +
      "connection's credential. The answer is the provider's, with its status, headers and body. " +
      "The key also needs `connections:read`.",
    answers: {},
    ...(method === "GET" || method === "DELETE" ? {} : { example: { name: "Ada" } }),
    parameters: { path: "The path below the connection's base URL. Its slashes are sent as they are." },
    route: `${method} /api/v1/proxy/:path`,
    output: bareValue(ProviderAnswer),
    failures: ProxyFailures,
    permit: "unified_api:execute",
    audit: method === "GET" ? auditRead("proxy") : auditAction("proxy.call"),
    sharing: "customers",
    scoped: { connection: "record", connector: "record" },
    form: { body: "handler", idempotency: "none", tenancy: "act" }
  })

/** The proxy: one contract for each method. */
export const proxyContracts: ReadonlyArray<Contract> = (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map(proxy)
