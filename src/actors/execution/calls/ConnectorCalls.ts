/**
 * `svc.connector.<slug>.<action>(args, opts)`: finds the bound action and the customer's connection, makes the call, and
 * turns failures into a `ConnectorError`. Contract: runtime calls; versioning policy.
 */
import { Effect, Either } from "effect"
import { actionResult } from "../../../domain/connector/request/ActionResult.js"
import type { ActionDefinition } from "../../../domain/connector/Action.js"
import { buildRequest } from "../../../domain/connector/request/UnsignedRequest.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { findMock } from "../../../domain/connector/Mocking.js"
import { pageItems, nextPageArgs } from "../../../domain/connector/request/Pagination.js"
import type { Json } from "../../../domain/Json.js"
import { guest } from "../../../domain/Limits.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { ConnectedCalls } from "../../ports/connection/ConnectedCalls.js"
import { Patterns } from "../../Patterns.js"
import { connectorCallOptions, type ConnectorCallOptions } from "./ConnectorCallOptions.js"
import { type ActionRef, failCall, refusalError, toCallFailure } from "./ConnectorErrors.js"
import { makeConnectorLookup } from "./ConnectorLookup.js"
import { failure, type HostCall, type HostRequest, refusedCall } from "./HostCall.js"

const repeatableMethods = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/** A call that may have taken effect is retried only if repeating it is harmless or the provider recognises its key. */
const retriesOf = ({ idempotency, readOnly, request }: ActionDefinition): "all" | "refusals" =>
  repeatableMethods.has(request.method) || readOnly === true || idempotency !== undefined ? "all" : "refusals"

/** Failures that a step's own retries are for: all transient ones, and those that the connector names. */
const transientCauses = [408, 425, 429, 500, 502, 503, 504, "network", "timeout"] as const

/** The definition with the retries that a call asks for instead of its own. */
const withRetry = (definition: ConnectorDefinition, retry: ConnectorCallOptions["retry"]): ConnectorDefinition =>
  retry === null || retry === "none"
    ? definition
    : {
        ...definition,
        retry: {
          ...definition.retry,
          maxAttempts: 1,
          ...retry,
          on: [...new Set([...definition.retry.on, ...transientCauses])]
        }
      }

/** The output that the run was started with instead of a real call; `undefined` if the call is to be made. */
const mockedOutput = (
  { notes, spec }: HostRequest,
  at: ActionRef,
  { slug }: ConnectorDefinition,
  action: ActionDefinition,
  input: Json
): Effect.Effect<Json | undefined, CallFailure> => {
  const { mocking } = spec.start
  if (mocking === undefined) return Effect.succeed(undefined)
  const found = findMock(mocking, slug, action, input)
  notes.isMocked = found !== undefined
  return found !== undefined || mocking.mode === "partial"
    ? Effect.succeed(found?.output)
    : failCall(
        at,
        "no fixture matches these arguments, and this run makes no real calls: add one to fixtures",
        "NO_MOCK"
      )
}

/** Plans the calls of connector actions. */
export const makeConnectorCalls = Effect.gen(function* () {
  const { findBoundAction, findConnection } = yield* makeConnectorLookup
  const calls = yield* ConnectedCalls
  const compiled = yield* Patterns

  const call = (request: HostRequest, at: ActionRef, options: ConnectorCallOptions) =>
    Effect.gen(function* () {
      const { args, key, notes, spec } = request
      const { action, definition } = yield* findBoundAction(request, at, options.version)
      notes.actionVersion = action.version
      const input = args[0] ?? {}
      const mocked = yield* mockedOutput(request, at, definition, action, input)
      if (mocked !== undefined) {
        return { value: options.isPaged ? { items: [...pageItems(action, mocked)], next: null } : mocked }
      }
      const connection = yield* findConnection(request, at, definition.slug, options.connection)
      const unsigned = buildRequest(definition, action, {
        args: input,
        config: connection.config,
        idempotencyKey: options.idempotencyKey ?? key
      })
      if (Either.isLeft(unsigned)) {
        const { message, path } = unsigned.left
        return yield* failCall(at, `${path} ${message}`, "INVALID_ARGUMENTS")
      }
      const patterns = yield* Effect.mapError(
        compiled.ofCondition(spec.run.organisationId, action.response.errorWhen),
        toCallFailure(at)
      )
      const value = yield* calls
        .send(
          {
            organisationId: spec.run.organisationId,
            connectionId: connection.id,
            executionId: spec.run.id,
            definition: withRetry(definition, options.retry),
            request: { ...unsigned.right, timeoutMillis: options.timeoutMillis ?? unsigned.right.timeoutMillis },
            maxBytes: guest.fetchBytes,
            earlierAttempts: notes.earlierAttempts,
            retries: options.retry === null ? retriesOf(action) : options.retry === "none" ? "none" : "all"
          },
          (answer, now) =>
            Either.map(actionResult(definition, action, answer, now, patterns), (result) =>
              options.isPaged
                ? { items: [...pageItems(action, result)], next: nextPageArgs(action, input, answer) }
                : result
            ),
          ({ failure, finishedAt, startedAt }) =>
            notes.attempts.push({ startedAt, finishedAt, error: failure === null ? null : refusalError(at, failure) })
        )
        .pipe(Effect.mapError(toCallFailure(at)))
      return { value }
    })

  /** `name`: `connector.<slug>.<action>`. */
  const plan = (request: HostRequest): HostCall => {
    const [, connector = "", action = "", ...more] = request.name.split(".")
    if (connector === "" || action === "" || more.length > 0)
      return refusedCall(failure("TypeError", "write svc.connector.<slug>.<action>(args, options)"))
    const options = connectorCallOptions(request.args[1])
    return typeof options === "string"
      ? refusedCall(failure("TypeError", `svc.connector.${connector}.${action}: ${options}`))
      : { _tag: "Outside", run: call(request, { connector, action }, options) }
  }

  return { plan }
})
