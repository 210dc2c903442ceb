/**
 * `svc.connector.<slug>.<action>(args, opts)`: finds the bound action and the customer's connection, makes the call, and
 * turns failures into a `ConnectorError`. Contract: runtime calls; versioning policy.
 */
import { Effect } from "effect"
import type { ActionDefinition } from "../../../domain/connector/Action.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { findMock } from "../../../domain/connector/Mocking.js"
import { withoutPageMemory } from "../../../domain/connector/request/PageMemory.js"
import { pageItems } from "../../../domain/connector/request/Pagination.js"
import type { Json } from "../../../domain/Json.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { makeActionCalls, retriesOf, withRetry } from "../../ActionCalls.js"
import { connectorCallOptions, type ConnectorCallOptions } from "./ConnectorCallOptions.js"
import { type ActionRef, failCall, refusalError, toCallFailure } from "./ConnectorErrors.js"
import { makeConnectorLookup } from "./ConnectorLookup.js"
import { failure, type HostCall, type HostRequest, noteAttempt, refusedCall } from "./HostCall.js"

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
  const callAction = yield* makeActionCalls

  const call = (request: HostRequest, at: ActionRef, options: ConnectorCallOptions) =>
    Effect.gen(function* () {
      const { args, key, notes, spec } = request
      const { action, definition } = yield* findBoundAction(request, at, options.version)
      notes.actionVersion = action.version
      const input = args[0] ?? {}
      const mocked = yield* mockedOutput(request, at, definition, action, withoutPageMemory(input))
      if (mocked !== undefined) {
        return { value: options.isPaged ? { items: [...pageItems(action, mocked)], next: null } : mocked }
      }
      const connection = yield* findConnection(request, at, definition.slug, options.connection)
      const idempotencyKey = options.idempotencyKey ?? key
      if (action.idempotency !== undefined) notes.idempotencyKey = idempotencyKey.slice(0, action.idempotency.maxLength)
      const answer = yield* callAction({
        organisationId: spec.run.organisationId,
        connection,
        executionId: spec.run.id,
        definition: withRetry(definition, options.retry),
        action,
        args: input,
        idempotencyKey,
        retries: options.retry === null ? retriesOf(action) : options.retry === "none" ? "none" : "all",
        timeoutMillis: options.timeoutMillis ?? undefined,
        earlierAttempts: notes.earlierAttempts,
        onAttempt: (attempt) =>
          noteAttempt(notes, attempt, attempt.failure === null ? null : refusalError(at, attempt.failure))
      }).pipe(
        Effect.catchAll((error) =>
          error._tag === "InvalidArguments"
            ? failCall(at, `${error.path} ${error.message}`, "INVALID_ARGUMENTS")
            : Effect.fail(toCallFailure(at)(error))
        )
      )
      if (answer.rounded !== undefined) notes.rounded = answer.rounded
      const value = options.isPaged
        ? { items: [...pageItems(action, answer.result)], next: answer.next }
        : answer.result
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
