/** The `ConnectorError`s with which a call of a connector's action fails in a workflow. */
import { Effect } from "effect"
import type { ProviderFailure } from "../../../domain/connector/request/ProviderAnswer.js"
import type { Json } from "../../../domain/Json.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import type { CallFailed } from "../../ports/connection/ConnectedCalls.js"
import { failure, type Postponement } from "./HostCall.js"

/** The action that was called: the connector's slug and the action's name, as the workflow wrote them. */
export interface ActionRef {
  readonly connector: string
  readonly action: string
}

/** The code of a call that the key of the run's starter does not reach. */
export const outOfScope = "RESOURCE_OUT_OF_SCOPE"

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

/** Fails with a `ConnectorError` of this code. */
export const failCall = (at: ActionRef, message: string, code: string, category: CallFailure["category"] = "code") =>
  Effect.fail(connectorError(at, `${at.connector}.${at.action}: ${message}`, category, code))

/** The error of a call for which the service could not read what it needs. */
export const unavailableError = (at: ActionRef) => (error: { readonly reason: string }) =>
  connectorError(at, `${at.connector}.${at.action}: ${error.reason}`, "transient", "UNAVAILABLE")

/** The provider's refusal, in its own words. */
export const refusalError = (at: ActionRef, { body, category, code, message, status }: ProviderFailure): CallFailure =>
  connectorError(
    at,
    `${at.connector}.${at.action}: ${message}`,
    category === "timeout" ? "transient" : category,
    code,
    { status, body }
  )

/** The failure, or the postponement, of a call that was sent to a provider. */
export const toCallFailure =
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
        return connectorError(at, `${at.connector}.${at.action}: the connection is gone`, "auth", "CONNECTION_REQUIRED")
      case "Unavailable":
        return unavailableError(at)(error)
    }
  }
