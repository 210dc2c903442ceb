/**
 * Traces requests, but no background tasks, if a collector is configured. `traceparent` (W3C) is honoured and returned
 * either way. Exported errors quote no tenant, as in the log.
 */
import { Headers, HttpTraceContext } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import { Effect, Exit, Layer, Logger, Option, Redacted, Tracer } from "effect"
import { pathOf, type RawReply, type RequestHead } from "../../http/Wire.js"
import { withSafeErrors } from "./Logging.js"
import { safeCause } from "./SafeError.js"

const valid = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

const returned = (reply: RawReply, traceparent: string): RawReply => ({
  ...reply,
  headers: { ...reply.headers, traceparent }
})

/** Without a collector: returns the caller's own trace. */
export const returnCallersTrace = (request: RequestHead, reply: RawReply): RawReply => {
  const traceparent = request.headers["traceparent"]
  return traceparent !== undefined && valid.test(traceparent) ? returned(reply, traceparent) : reply
}

/** The path without secrets: links of mails and connect sessions are some, and providers have tokens in their paths. */
const shownPath = (target: string) =>
  pathOf(target)
    .replace(/^\/(connect|approve|mail\/confirm)\/.*/, "/$1/:link")
    .replace(/^\/api\/v1\/proxy\/.*/, "/api/v1/proxy/:path")

/** With a collector: runs the request in a span, of the caller's trace if it sends one. */
export const traceRequest = (request: RequestHead, handled: Effect.Effect<RawReply>): Effect.Effect<RawReply> =>
  Effect.useSpan(
    // Without ids, so that requests of one route have one name.
    `${request.method} ${shownPath(request.target).replace(/\/[a-z]{2,5}_[0-9a-z]+/g, "/:id")}`,
    {
      kind: "server",
      captureStackTrace: false,
      parent: Option.getOrUndefined(HttpTraceContext.fromHeaders(Headers.unsafeFromRecord({ ...request.headers }))),
      attributes: { "http.request.method": request.method, "url.path": shownPath(request.target) }
    },
    (span) =>
      Effect.map(Effect.withParentSpan(handled, span), (reply) => {
        span.attribute("http.response.status_code", reply.status)
        const execution = reply.headers["x-svc-execution-id"]
        if (execution !== undefined) span.attribute("svc.execution.id", execution)
        return returned(reply, HttpTraceContext.toHeaders(span)["traceparent"] ?? "")
      })
  ).pipe(Effect.withTracerEnabled(true))

/** Where an OpenTelemetry collector is, and the headers that it wants. */
export interface CollectorOptions {
  readonly otlpUrl: Option.Option<string>
  readonly otlpHeaders: Option.Option<Redacted.Redacted<Readonly<Record<string, string>>>>
}

/** Exports traces, metrics and logs to the collector, if one is configured. */
export const exporter = ({ otlpHeaders, otlpUrl }: CollectorOptions) =>
  Option.match(otlpUrl, {
    onNone: () => Layer.empty,
    onSome: (baseUrl) =>
      Layer.suspend(() => {
        const options = (path: string) => ({
          url: `${baseUrl.replace(/\/+$/, "")}/v1/${path}`,
          resource: { serviceName: "svc" },
          ...Option.match(otlpHeaders, {
            onNone: () => ({}),
            onSome: (headers) => ({ headers: Redacted.value(headers) })
          })
        })
        return Layer.mergeAll(
          Logger.addScoped(Effect.map(OtlpLogger.make(options("logs")), withSafeErrors)),
          OtlpMetrics.layer(options("metrics")),
          Layer.unwrapScoped(
            Effect.map(OtlpTracer.make(options("traces")), (tracer) => Layer.setTracer(safeTracer(tracer)))
          )
        ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(NodeHttpClient.layerUndici))
      })
  })

/** Wraps a tracer: its spans end with safe causes. */
const safeTracer = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    context: (run, fiber) => tracer.context(run, fiber),
    span: (...made) => {
      const span = tracer.span(...made)
      const end = span.end.bind(span)
      return Object.assign(span, {
        end: (at: bigint, exit: Exit.Exit<unknown, unknown>) => end(at, Exit.mapErrorCause(exit, safeCause))
      })
    }
  })
