/**
 * Starting a run, as the documents tell of it. The route itself is thinner than the typed API; a test holds both to the
 * same paths and statuses. Specification: Surface A.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Json, JsonObject } from "../../domain/Json.js"
import { Fixture, MockMode } from "../../domain/connector/Mocking.js"
import { Tier } from "../../domain/Execution.js"
import { Audited, audited, Form, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { ProxyFailures, RunFailures } from "../Errors.js"

const ExecuteRequest = Schema.Struct({
  input: Schema.optional(JsonObject),
  metadata: Schema.optional(JsonObject).annotations({
    description: "echoed in the record and the callback; at most 4 KiB"
  }),
  environment: Schema.optional(Schema.String),
  draft: Schema.optional(Schema.Boolean).annotations({ description: "runs the draft; needs workflows:update too" }),
  mock: Schema.optional(MockMode).annotations({
    description: "partial: connectors answer from fixtures and mocks where there are any; full: and from nothing else"
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

/** What an Instant workflow returned, or how it failed: then the header x-svc-execution-status says so. */
const Returned = Json.annotations({
  identifier: "Returned",
  description: "what the workflow returned; with x-svc-execution-status: failed, {executionId, status, error}"
})

const Accepted = Schema.Struct({
  executionId: Schema.String,
  status: Schema.Literal("pending"),
  tier: Tier,
  callback: Schema.Boolean
}).annotations({ identifier: "AcceptedRun", ...HttpApiSchema.annotations({ status: 202 }) })

const endpoint = <const Name extends string, const Path extends `/${string}`>(name: Name, path: Path) =>
  HttpApiEndpoint.post(name, path)
    .setPath(Schema.Struct({ workflowId: Schema.String }))
    .setPayload(ExecuteRequest)
    .addSuccess(Returned)
    .addSuccess(Accepted)
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
    .annotate(Audited, audited("workflow.execute"))

// --- The proxy ---

const Answered = Schema.String.annotations({
  identifier: "ProviderAnswer",
  description: "the provider's answer as it is, with its status and headers"
})

const described = <const Name extends string, const Method extends "GET" | "POST" | "PUT" | "PATCH" | "DELETE">(
  name: Name,
  method: Method
) =>
  HttpApiEndpoint.make(method)(name, "/api/v1/proxy/:path")
    .setPath(Schema.Struct({ path: Schema.String }))
    .addSuccess(Answered)
    .addError(ProxyFailures)
    .annotate(Permit, "unified_api:execute")
    .annotate(Shared, "customers")
    .annotate(Scoped, { connection: "record", connector: "record" })
    .annotate(Form, { body: "handler", idempotency: "none", tenancy: "act" })

const ProxyGroup = HttpApiGroup.make("proxy")
  .add(described("get", "GET").annotate(Audited, read("proxy")))
  .add(described("post", "POST").annotate(Audited, audited("proxy.call")))
  .add(described("put", "PUT").annotate(Audited, audited("proxy.call")))
  .add(described("patch", "PATCH").annotate(Audited, audited("proxy.call")))
  .add(described("delete", "DELETE").annotate(Audited, audited("proxy.call")))

/** Surface A. */
export const ExecutionApi = HttpApi.make("execution")
  .add(HttpApiGroup.make("execution").add(endpoint("execute", "/api/v1/workflows/:workflowId/execute")))
  .add(ProxyGroup)

/** The same on surface C. */
export const RunApi = HttpApi.make("run").add(
  HttpApiGroup.make("run").add(endpoint("run", "/api/v1/workflows/:workflowId/run"))
)
