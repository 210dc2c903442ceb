/**
 * `svc.connector.<slug>.<action>(args, opts)`: finds the bound action and the customer's connection, makes the call, and
 * turns failures into a `ConnectorError`. Contract: runtime calls; versioning policy.
 */
import { Effect, Either, Option } from "effect"
import { actionResult } from "../../domain/connector/ActionResult.js"
import type { ActionDefinition } from "../../domain/connector/Action.js"
import { findBinding } from "../../domain/connector/Binding.js"
import { buildRequest } from "../../domain/connector/UnsignedRequest.js"
import { findAction, type ConnectorDefinition } from "../../domain/connector/Definition.js"
import { findMock } from "../../domain/connector/Mocking.js"
import { pageItems, nextPageArgs } from "../../domain/connector/Pagination.js"
import type { ProviderFailure } from "../../domain/connector/ProviderAnswer.js"
import { isObject, type Json } from "../../domain/Json.js"
import { connectedCall, guest } from "../../domain/Limits.js"
import type { CallFailure, ChosenConnection } from "../../domain/RunJournal.js"
import { type CallFailed, ConnectedCalls } from "../ports/ConnectedCalls.js"
import { ConnectionReads, type CallableConnection } from "../ports/ConnectionReads.js"
import { Connectors } from "../ports/Connectors.js"
import { failure, type HostCall, type HostRequest, type Postponement, refusedCall } from "./HostCall.js"

interface CallOptions {
  /** A connection's label or id; `null`: the customer's default one. */
  readonly connection: string | null
  readonly idempotencyKey: string | null
  readonly timeoutMillis: number | null
  readonly retries: boolean
  /** The result is the page's items and the next page's arguments; the prelude asks for it to iterate. */
  readonly isPaged: boolean
}

const optionNames = new Set(["connection", "idempotencyKey", "timeoutMs", "retry", "page"])

const optionsOf = (value: Json | undefined): CallOptions | string => {
  if (value === undefined || value === null) {
    return { connection: null, idempotencyKey: null, timeoutMillis: null, retries: true, isPaged: false }
  }
  if (!isObject(value)) return "the options are an object"
  const unknown = Object.keys(value).find((name) => !optionNames.has(name))
  if (unknown !== undefined)
    return `there is no option ${unknown}: there are connection, idempotencyKey, timeoutMs, retry`
  const { connection, idempotencyKey, page, retry, timeoutMs } = value
  if (connection !== undefined && typeof connection !== "string") return "connection is a label or an id"
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== "string" || idempotencyKey === ""))
    return "idempotencyKey is a text that is not empty"
  if (
    timeoutMs !== undefined &&
    (typeof timeoutMs !== "number" || !(timeoutMs >= 1 && timeoutMs <= connectedCall.longestMillis))
  )
    return `timeoutMs is a number from 1 to ${connectedCall.longestMillis}`
  if (retry !== undefined && typeof retry !== "boolean") return "retry is true or false"
  return {
    connection: connection ?? null,
    idempotencyKey: idempotencyKey ?? null,
    timeoutMillis: timeoutMs ?? null,
    retries: retry !== false,
    isPaged: page === true
  }
}

/** The connection to look up. Where the start of the run listed connections, only these are found. */
const chooseConnection = (
  allowed: ReadonlyArray<ChosenConnection> | null,
  slug: string,
  named: string | null
): string | null | "none" => {
  if (allowed === null) return named
  const own = allowed.filter(({ connector }) => connector === slug)
  const one =
    named === null
      ? (own.find(({ alias }) => alias === null) ?? own[0])
      : own.find(({ alias, id }) => alias === named || id === named)
  return one?.id ?? "none"
}

const repeatableMethods = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/** A call that may have taken effect is retried only if repeating it is harmless or the provider recognises its key. */
const retriesOf = ({ idempotency, readOnly, request }: ActionDefinition): "all" | "refusals" =>
  repeatableMethods.has(request.method) || readOnly === true || idempotency !== undefined ? "all" : "refusals"

/** A `ConnectorError` that names the action and has the provider's own message, status and body. */
const connectorError = (
  at: { readonly connector: string; readonly action: string },
  message: string,
  category: CallFailure["category"],
  code: string | null,
  more: { readonly status?: number | null; readonly body?: Json } = {}
): CallFailure =>
  failure("ConnectorError", message, category, {
    ...(code === null ? {} : { code }),
    data: { ...at, status: more.status ?? null, body: more.body ?? null, retryable: category === "transient" }
  })

/** Plans the calls of connector actions. */
export const makeConnectorCalls = Effect.gen(function* () {
  const connectors = yield* Connectors
  const reads = yield* ConnectionReads
  const calls = yield* ConnectedCalls

  const outOfScope = "RESOURCE_OUT_OF_SCOPE"

  type ActionRef = { readonly connector: string; readonly action: string }

  const failCall = (at: ActionRef, message: string, code: string, category: CallFailure["category"] = "code") =>
    Effect.fail(connectorError(at, `${at.connector}.${at.action}: ${message}`, category, code))
  const unavailableError = (at: ActionRef) => (error: { readonly reason: string }) =>
    connectorError(at, `${at.connector}.${at.action}: ${error.reason}`, "transient", "UNAVAILABLE")

  const findBoundAction = Effect.fnUntraced(function* (
    { spec }: HostRequest,
    at: ActionRef
  ): Effect.fn.Return<{ readonly definition: ConnectorDefinition; readonly action: ActionDefinition }, CallFailure> {
    const { bindings, organisationId } = spec.runnable
    const bound = findBinding(bindings, at.connector, at.action)
    if (bound === undefined) {
      return yield* failCall(
        at,
        `this workflow is not bound to it: write svc.connector.${at.connector}.${at.action} in the code, and publish`,
        "UNBOUND_CONNECTOR"
      )
    }
    const { connector: slug, version } = bound
    if (spec.start.reach?.connectors?.includes(slug) === false)
      return yield* failCall(at, "the key that started this run does not reach this connector", outOfScope, "auth")
    const find =
      version === null
        ? connectors.find(organisationId, slug)
        : connectors.withAction(organisationId, slug, { name: at.action, version, bound: true })
    const found = yield* Effect.mapError(find, unavailableError(at))
    if (Option.isNone(found)) {
      const reason =
        version === null
          ? "there is no such connector: GET /api/v1/connectors lists what there is"
          : `version ${version} of the action, which this workflow was published with, is gone: publish it again to call the newest`
      return yield* failCall(at, reason, "UNBOUND_CONNECTOR")
    }
    const action = findAction(found.value, at.action)
    if (action === undefined) {
      const names = found.value.actions.map(({ name }) => name).join(", ")
      return yield* failCall(at, `there is no such action: ${slug} has ${names}`, "UNBOUND_CONNECTOR")
    }
    return { definition: found.value, action }
  })

  const findConnection = Effect.fnUntraced(function* (
    { spec }: HostRequest,
    at: ActionRef,
    slug: string,
    named: string | null
  ): Effect.fn.Return<CallableConnection, CallFailure> {
    const { run, start } = spec
    const one = chooseConnection(start.connections, slug, named)
    const found =
      one === "none"
        ? Option.none<CallableConnection>()
        : yield* reads
            .find({
              organisationId: run.organisationId,
              customerId: run.customerId,
              userId: run.record.userId,
              slug,
              named: one
            })
            .pipe(Effect.mapError(unavailableError(at)))
    if (Option.isSome(found)) {
      if (start.reach?.connections?.includes(found.value.id) !== false) return found.value
      return yield* failCall(at, `the key that started this run does not reach ${found.value.id}`, outOfScope, "auth")
    }
    const reason =
      run.customerId === null
        ? "this run acts for no customer (x-org-id names one)"
        : named === null
          ? `customer ${run.customerId} has not connected ${slug}: POST /api/v1/connections`
          : `customer ${run.customerId} has no connection "${named}" to ${slug}`
    return yield* failCall(at, reason, "CONNECTION_REQUIRED", "auth")
  })

  const toCallFailure =
    (at: ActionRef) =>
    (error: CallFailed): CallFailure | Postponement => {
      switch (error._tag) {
        case "Postponed":
          return { _tag: "Postponement", at: error.at, why: error.why, attempts: error.made }
        case "ProviderRefused":
          return refusalError(at, error.failure)
        case "ConnectionNotActive":
          return connectorError(at, `${at.connector}.${at.action}: ${error.message}`, "auth", "CONNECTION_NOT_ACTIVE")
        case "NotFound":
          return connectorError(
            at,
            `${at.connector}.${at.action}: the connection is gone`,
            "auth",
            "CONNECTION_REQUIRED"
          )
        case "Unavailable":
          return unavailableError(at)(error)
      }
    }

  /** The provider's refusal, in its own words. */
  const refusalError = (at: ActionRef, { body, category, code, message, status }: ProviderFailure): CallFailure =>
    connectorError(
      at,
      `${at.connector}.${at.action}: ${message}`,
      category === "timeout" ? "transient" : category,
      code,
      { status, body }
    )

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

  const call = (request: HostRequest, at: ActionRef, options: CallOptions) =>
    Effect.gen(function* () {
      const { args, key, notes, spec } = request
      const { action, definition } = yield* findBoundAction(request, at)
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
      const value = yield* calls
        .send(
          {
            organisationId: spec.run.organisationId,
            connectionId: connection.id,
            executionId: spec.run.id,
            definition,
            request: { ...unsigned.right, timeoutMillis: options.timeoutMillis ?? unsigned.right.timeoutMillis },
            maxBytes: guest.fetchBytes,
            earlierAttempts: notes.earlierAttempts,
            retries: options.retries ? retriesOf(action) : "none"
          },
          (answer, now) =>
            Either.map(actionResult(definition, action, answer, now), (result) =>
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
    const options = optionsOf(request.args[1])
    return typeof options === "string"
      ? refusedCall(failure("TypeError", `svc.connector.${connector}.${action}: ${options}`))
      : { _tag: "Outside", run: call(request, { connector, action }, options) }
  }

  return { plan }
})
