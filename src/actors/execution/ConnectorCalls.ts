/**
 * `svc.connector.<slug>.<action>(args, opts)`: the binding, the customer's connection, the pinned action, the call, and
 * what it threw. Contract: runtime calls; versioning policy.
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
import { ConnectionReads, type KnownConnection } from "../ports/ConnectionReads.js"
import { Connectors } from "../ports/Connectors.js"
import { failure, type HostCall, type HostRequest, type Postponement, refusedCall } from "./HostCall.js"

interface Options {
  /** A connection's label or id; `null`: the customer's default one. */
  readonly connection: string | null
  readonly idempotencyKey: string | null
  readonly timeoutMillis: number | null
  readonly retries: boolean
  /** The prelude asks for the items and the next page's arguments instead of the result. */
  readonly paged: boolean
}

const optionNames = new Set(["connection", "idempotencyKey", "timeoutMs", "retry", "page"])

const optionsOf = (value: Json | undefined): Options | string => {
  if (value === undefined || value === null) {
    return { connection: null, idempotencyKey: null, timeoutMillis: null, retries: true, paged: false }
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
    paged: page === true
  }
}

/** Which connection to look for where the caller of the run named some: then there are no others. */
const chosen = (
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

const harmless = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/** A call that may have been done is made again only where that does no harm, or the provider would recognise it. */
const repeatable = ({ idempotency, readOnly, request }: ActionDefinition): "all" | "refusals" =>
  harmless.has(request.method) || readOnly === true || idempotency !== undefined ? "all" : "refusals"

/** What the workflow sees: a ConnectorError that says which action failed, and how the provider put it. */
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

export const makeConnectorCalls = Effect.gen(function* () {
  const connectors = yield* Connectors
  const reads = yield* ConnectionReads
  const calls = yield* ConnectedCalls

  const outside = "RESOURCE_OUT_OF_SCOPE"

  type At = { readonly connector: string; readonly action: string }

  const wrong = (at: At, message: string, code: string, category: CallFailure["category"] = "code") =>
    Effect.fail(connectorError(at, `${at.connector}.${at.action}: ${message}`, category, code))
  const unavailable = (at: At) => (error: { readonly reason: string }) =>
    connectorError(at, `${at.connector}.${at.action}: ${error.reason}`, "transient", "UNAVAILABLE")

  const definitionOf = Effect.fnUntraced(function* (
    { spec }: HostRequest,
    at: At
  ): Effect.fn.Return<{ readonly definition: ConnectorDefinition; readonly action: ActionDefinition }, CallFailure> {
    const { bindings, organisationId } = spec.runnable
    const bound = findBinding(bindings, at.connector, at.action)
    if (bound === undefined) {
      return yield* wrong(
        at,
        `this workflow is not bound to it: write svc.connector.${at.connector}.${at.action} in the code, and publish`,
        "UNBOUND_CONNECTOR"
      )
    }
    const { connector: slug, version } = bound
    if (spec.start.reach?.connectors?.includes(slug) === false)
      return yield* wrong(at, "the key that started this run does not reach this connector", outside, "auth")
    const find =
      version === null
        ? connectors.find(organisationId, slug)
        : connectors.withAction(organisationId, slug, { name: at.action, version, bound: true })
    const found = yield* Effect.mapError(find, unavailable(at))
    if (Option.isNone(found)) {
      const what =
        version === null
          ? "there is no such connector: GET /api/v1/connectors lists what there is"
          : `version ${version} of the action, which this workflow was published with, is gone: publish it again to call the newest`
      return yield* wrong(at, what, "UNBOUND_CONNECTOR")
    }
    const action = findAction(found.value, at.action)
    if (action === undefined) {
      const names = found.value.actions.map(({ name }) => name).join(", ")
      return yield* wrong(at, `there is no such action: ${slug} has ${names}`, "UNBOUND_CONNECTOR")
    }
    return { definition: found.value, action }
  })

  const connectionOf = Effect.fnUntraced(function* (
    { spec }: HostRequest,
    at: At,
    slug: string,
    named: string | null
  ): Effect.fn.Return<KnownConnection, CallFailure> {
    const { run, start } = spec
    const one = chosen(start.connections, slug, named)
    const found =
      one === "none"
        ? Option.none<KnownConnection>()
        : yield* reads
            .find({
              organisationId: run.organisationId,
              customerId: run.customerId,
              userId: run.record.userId,
              slug,
              named: one
            })
            .pipe(Effect.mapError(unavailable(at)))
    if (Option.isSome(found)) {
      if (start.reach?.connections?.includes(found.value.id) !== false) return found.value
      return yield* wrong(at, `the key that started this run does not reach ${found.value.id}`, outside, "auth")
    }
    const who =
      run.customerId === null
        ? "this run acts for no customer (x-org-id names one)"
        : named === null
          ? `customer ${run.customerId} has not connected ${slug}: POST /api/v1/connections`
          : `customer ${run.customerId} has no connection "${named}" to ${slug}`
    return yield* wrong(at, who, "CONNECTION_REQUIRED", "auth")
  })

  const failed =
    (at: At) =>
    (error: CallFailed): CallFailure | Postponement => {
      switch (error._tag) {
        case "Postponed":
          return { _tag: "Postponement", at: error.at, why: error.why, attempts: error.made }
        case "ProviderRefused":
          return refusal(at, error.failure)
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
          return unavailable(at)(error)
      }
    }

  /** In the provider's own words. */
  const refusal = (at: At, { body, category, code, message, status }: ProviderFailure): CallFailure =>
    connectorError(
      at,
      `${at.connector}.${at.action}: ${message}`,
      category === "timeout" ? "transient" : category,
      code,
      { status, body }
    )

  /** What the run was given instead of the provider's answer. */
  const mock = (
    { notes, spec }: HostRequest,
    at: At,
    { slug }: ConnectorDefinition,
    action: ActionDefinition,
    input: Json
  ): Effect.Effect<Json | undefined, CallFailure> => {
    const { mocking } = spec.start
    if (mocking === undefined) return Effect.succeed(undefined)
    const found = findMock(mocking, slug, action, input)
    notes.mocked = found !== undefined
    return found !== undefined || mocking.mode === "partial"
      ? Effect.succeed(found?.output)
      : wrong(at, "there is no mock for these arguments, and this run calls nobody: send one in fixtures", "NO_MOCK")
  }

  const call = (request: HostRequest, at: At, options: Options) =>
    Effect.gen(function* () {
      const { args, key, notes, spec } = request
      const { action, definition } = yield* definitionOf(request, at)
      notes.actionVersion = action.version
      const input = args[0] ?? {}
      const mocked = yield* mock(request, at, definition, action, input)
      if (mocked !== undefined) {
        return { value: options.paged ? { items: [...pageItems(action, mocked)], next: null } : mocked }
      }
      const connection = yield* connectionOf(request, at, definition.slug, options.connection)
      const unsigned = buildRequest(definition, action, {
        args: input,
        config: connection.config,
        idempotencyKey: options.idempotencyKey ?? key
      })
      if (Either.isLeft(unsigned)) {
        const { message, path } = unsigned.left
        return yield* wrong(at, `${path} ${message}`, "INVALID_ARGUMENTS")
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
            made: notes.made,
            retries: options.retries ? repeatable(action) : "none"
          },
          (answer, now) =>
            Either.map(actionResult(definition, action, answer, now), (result) =>
              options.paged
                ? { items: [...pageItems(action, result)], next: nextPageArgs(action, input, answer) }
                : result
            ),
          ({ failure, finishedAt, startedAt }) =>
            notes.attempts.push({ startedAt, finishedAt, error: failure === null ? null : refusal(at, failure) })
        )
        .pipe(Effect.mapError(failed(at)))
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
