/**
 * The contract of surface A: starting runs, and the proxy. The documents are generated from it; the routes are served by
 * `Execute.ts` and `Proxy.ts`, and a test holds both to the same paths and statuses. Specification: Surface A.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Json, JsonObject } from "../../domain/Json.js"
import { Fixture, MockMode } from "../../domain/connector/Mocking.js"
import { Tier } from "../../domain/Execution.js"
import { Audited, auditAction, Form, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { ProxyFailures, RunFailures } from "../ErrorSchemas.js"

const ExecuteRequest = Schema.Struct({
  input: Schema.optional(JsonObject),
  metadata: Schema.optional(JsonObject).annotations({
    description: "echoed in the record and the callback; at most 4 KiB"
  }),
  environment: Schema.optional(Schema.String),
  draft: Schema.optional(Schema.Boolean).annotations({ description: "runs the draft; needs workflows:update too" }),
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

const AcceptedRun = Schema.Struct({
  executionId: Schema.String,
  status: Schema.Literal("pending"),
  tier: Tier,
  callback: Schema.Boolean
}).annotations({ identifier: "AcceptedRun", ...HttpApiSchema.annotations({ status: 202 }) })

const startEndpoint = <const Name extends string, const Path extends `/${string}`>(name: Name, path: Path) =>
  HttpApiEndpoint.post(name, path)
    .setPath(Schema.Struct({ workflowId: Schema.String }))
    .setPayload(ExecuteRequest)
    .addSuccess(ReturnedValue)
    .addSuccess(AcceptedRun)
    .addError(RunFailures)
    .annotate(Permit, "workflows:execute")
    .annotate(Shared, "customers")
    .annotate(Scoped, {
      workflow: "record",
      environment: "record",
      connection: "record",
      connector: "record",
      secret: "reach"
    })
    .annotate(Form, { body: "handler", idempotency: "run", tenancy: "act" })
    .annotate(Audited, auditAction("workflow.execute"))

// --- The proxy ---

const ProviderAnswer = Schema.String.annotations({
  identifier: "ProviderAnswer",
  description: "the provider's unchanged answer, with its status and headers"
})

const proxyEndpoint = <const Name extends string, const Method extends "GET" | "POST" | "PUT" | "PATCH" | "DELETE">(
  name: Name,
  method: Method
) =>
  HttpApiEndpoint.make(method)(name, "/api/v1/proxy/:path")
    .setPath(Schema.Struct({ path: Schema.String }))
    .addSuccess(ProviderAnswer)
    .addError(ProxyFailures)
    .annotate(Permit, "unified_api:execute")
    .annotate(Shared, "customers")
    .annotate(Scoped, { connection: "record", connector: "record" })
    .annotate(Form, { body: "handler", idempotency: "none", tenancy: "act" })

const ProxyGroup = HttpApiGroup.make("proxy")
  .add(proxyEndpoint("get", "GET").annotate(Audited, auditRead("proxy")))
  .add(proxyEndpoint("post", "POST").annotate(Audited, auditAction("proxy.call")))
  .add(proxyEndpoint("put", "PUT").annotate(Audited, auditAction("proxy.call")))
  .add(proxyEndpoint("patch", "PATCH").annotate(Audited, auditAction("proxy.call")))
  .add(proxyEndpoint("delete", "DELETE").annotate(Audited, auditAction("proxy.call")))

/** Surface A. */
export const ExecutionApi = HttpApi.make("execution")
  .add(HttpApiGroup.make("execution").add(startEndpoint("execute", "/api/v1/workflows/:workflowId/execute")))
  .add(ProxyGroup)

/** The same start on surface C. */
export const RunApi = HttpApi.make("run").add(
  HttpApiGroup.make("run").add(startEndpoint("run", "/api/v1/workflows/:workflowId/run"))
)
