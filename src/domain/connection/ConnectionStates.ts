/** The state machine of a connection: every transition is decided by `decide` and applied by `evolve`, both pure. Contract: connection states. */
import { Either } from "effect"
import { giveUpAfterMillis } from "./Refresh.js"
import type { Connection, ConnectionHealth, ConnectionStatus, CredentialFacts } from "./Connection.js"

/** A command to a connection. */
export type ConnectionStateCommand =
  /** A credential was stored and its test passed. */
  | { readonly _tag: "Activate"; readonly facts: CredentialFacts }
  /** The provider or the test refused the first credential. */
  | { readonly _tag: "Refuse"; readonly reason: string }
  | {
      readonly _tag: "NoteRefresh"
      readonly expiresAt: string | null
      readonly scopes: ReadonlyArray<string>
      readonly fingerprint: string
    }
  /** `lost`: the provider has ended the grant; otherwise a later refresh may succeed. */
  | { readonly _tag: "NoteRefreshFailure"; readonly lost: boolean; readonly reason: string }
  /** The outcome of a test on demand; `null`: it passed. */
  | { readonly _tag: "NoteTest"; readonly error: string | null }
  /** The provider refused a freshly issued credential twice. */
  | { readonly _tag: "Reject"; readonly reason: string }
  | { readonly _tag: "Disable" }
  /** The stored credential of a disabled connection passed its test. */
  | { readonly _tag: "Enable" }
  | { readonly _tag: "Disconnect" }
  | {
      readonly _tag: "Edit"
      readonly label: string | undefined
      readonly tags: Connection["tags"] | undefined
    }

/** A change of a connection. */
export type ConnectionStateEvent =
  | { readonly _tag: "Activated"; readonly facts: CredentialFacts }
  | {
      readonly _tag: "Refreshed"
      readonly expiresAt: string | null
      readonly scopes: ReadonlyArray<string>
      readonly fingerprint: string
    }
  | { readonly _tag: "RefreshFailed"; readonly reason: string }
  | { readonly _tag: "Expired"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "Tested"; readonly error: string | null }
  | { readonly _tag: "Disabled" }
  | { readonly _tag: "Enabled" }
  | { readonly _tag: "Disconnected" }
  | { readonly _tag: "Edited"; readonly label: string; readonly tags: Connection["tags"] }

/** The command is not allowed in the connection's state. */
export interface WrongState {
  readonly status: ConnectionStatus
  readonly message: string
}

/** The event that a command causes, or why it is refused. `now`: Unix milliseconds. */
export const decide = (
  connection: Connection,
  command: ConnectionStateCommand,
  now: number
): Either.Either<ConnectionStateEvent, WrongState> => {
  const { status } = connection
  const refuse = (message: string) => Either.left({ status, message })
  if (status === "disconnected") return refuse("the connection is disconnected: create a new one")
  const onlyActive = (event: ConnectionStateEvent) =>
    status === "active" ? Either.right(event) : refuse(`the connection is ${status}: ${remedyOf(status)}`)
  // A refresh that ends after the connection was disabled is stored, or a rotated grant would be lost.
  const unlessEnded = (event: ConnectionStateEvent) => (status === "inactive" ? Either.right(event) : onlyActive(event))
  switch (command._tag) {
    case "Activate":
      return Either.right({ _tag: "Activated", facts: command.facts })
    case "Refuse":
      return status === "pending"
        ? Either.right({ _tag: "Failed", reason: command.reason })
        : refuse(`the connection is ${status}: only a pending one can be refused`)
    case "NoteRefresh":
      return unlessEnded({ ...command, _tag: "Refreshed" })
    case "NoteRefreshFailure":
      return unlessEnded(afterFailure(connection, command, now))
    case "NoteTest":
      return status === "pending"
        ? refuse("the connection has no credential yet")
        : Either.right({ ...command, _tag: "Tested" })
    case "Reject":
      return onlyActive({ _tag: "Failed", reason: command.reason })
    case "Disable":
      return onlyActive({ _tag: "Disabled" })
    case "Enable":
      return status === "inactive" ? Either.right({ _tag: "Enabled" }) : refuse(enableRefusal(status))
    case "Disconnect":
      return Either.right({ _tag: "Disconnected" })
    case "Edit":
      return Either.right({
        _tag: "Edited",
        label: command.label ?? connection.label,
        tags: command.tags ?? connection.tags
      })
  }
}

const enableRefusal = (status: ConnectionStatus) =>
  status === "active" ? "the connection is active already" : `the connection is ${status}: ${remedyOf(status)}`

/** How to make a connection of this status usable. */
export const remedyOf = (status: ConnectionStatus): string => {
  switch (status) {
    case "pending":
      return "wait until its customer has connected it, or get a new link by POST /connections/{id}/reconnect"
    case "inactive":
      return "enable it by POST /connections/{id}/enable"
    case "active":
    case "expired":
    case "failed":
      return "reconnect it by POST /connections/{id}/reconnect"
    case "disconnected":
      return "create a new one"
  }
}

/** Why a connection cannot be used, and how to change that. */
export const notActiveReason = ({ health, status }: Pick<Connection, "health" | "status">): string => {
  const cause = health.state === "degraded" && health.lastError !== null ? ` (${health.lastError})` : ""
  return `the connection is ${status}${cause}: ${remedyOf(status)}`
}

type RefreshFailure = ConnectionStateCommand & { readonly _tag: "NoteRefreshFailure" }

const afterFailure = (connection: Connection, { lost, reason }: RefreshFailure, now: number): ConnectionStateEvent => {
  if (lost) return { _tag: "Expired", reason }
  const since = connection.refreshFailedAt
  return since !== null && now - Date.parse(since) >= giveUpAfterMillis
    ? { _tag: "Expired", reason: `refreshing has failed for four days: ${reason}` }
    : { _tag: "RefreshFailed", reason }
}

const healthy = (at: string): ConnectionHealth => ({
  state: "ok",
  lastCheckedAt: at,
  lastError: null,
  consecutiveFailures: 0
})

const unhealthy = ({ health }: Connection, at: string, reason: string): ConnectionHealth => ({
  state: "degraded",
  lastCheckedAt: at,
  lastError: reason,
  consecutiveFailures: health.consecutiveFailures + 1
})

/** The members of a connection that a stored credential changes. */
const activeMembers = (connection: Connection, { fingerprint, ...facts }: CredentialFacts, at: string) => ({
  ...facts,
  accountLabel: facts.accountLabel ?? connection.accountLabel,
  credentialFingerprint: fingerprint,
  status: "active" as const,
  health: healthy(at),
  lastRefreshAt: at,
  refreshFailedAt: null
})

/** The connection after an event. `at`: RFC 3339. */
export const evolve = (connection: Connection, event: ConnectionStateEvent, at: string): Connection => {
  const changed = { ...connection, updatedAt: at }
  const next = { ...changed, version: connection.version + 1 }
  switch (event._tag) {
    case "Activated":
      return { ...next, ...activeMembers(connection, event.facts, at) }
    case "Refreshed":
      return {
        ...changed,
        expiresAt: event.expiresAt,
        scopes: event.scopes,
        credentialFingerprint: event.fingerprint,
        lastRefreshAt: at,
        refreshFailedAt: null,
        health: healthy(at)
      }
    case "RefreshFailed":
      return {
        ...changed,
        refreshFailedAt: connection.refreshFailedAt ?? at,
        health: unhealthy(connection, at, event.reason)
      }
    case "Expired":
      return { ...next, status: "expired", health: unhealthy(connection, at, event.reason) }
    case "Failed":
      return { ...next, status: "failed", health: unhealthy(connection, at, event.reason) }
    case "Tested":
      // While refreshes fail, health and back-off are those of the refreshes.
      return connection.refreshFailedAt !== null
        ? changed
        : { ...changed, health: event.error === null ? healthy(at) : unhealthy(connection, at, event.error) }
    case "Disabled":
      return { ...next, status: "inactive" }
    case "Enabled":
      return { ...next, status: "active", health: healthy(at) }
    case "Disconnected":
      return {
        ...next,
        status: "disconnected",
        isDefault: false,
        expiresAt: null,
        accountLabel: null,
        config: {},
        metadata: {},
        tags: {},
        credentialFingerprint: null
      }
    case "Edited":
      return { ...next, label: event.label, tags: event.tags }
  }
}

/** The type of the outbound event that announces an event; `null`: none. */
export const outboundEventType = (before: Connection, event: ConnectionStateEvent): string | null => {
  switch (event._tag) {
    case "Activated":
      return before.status === "pending"
        ? "connection.created"
        : before.status === "active"
          ? null
          : "connection.reactivated"
    case "Enabled":
      return "connection.reactivated"
    case "RefreshFailed":
      // Announced once when refreshes begin to fail.
      return before.refreshFailedAt === null ? "connection.refresh_failed" : null
    case "Expired":
      return "connection.expired"
    case "Failed":
      return "connection.failed"
    case "Disconnected":
      return "connection.deleted"
    default:
      return null
  }
}
