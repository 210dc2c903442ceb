/**
 * One customer's authorised link to one connector: its record, and the only ways in which its state changes.
 * The credential is never a part of it. Contract: connection record and states.
 */
import { Either } from "effect"
import type { ConnectionId, CredentialId, CustomerId, OrganisationId } from "../Ids.js"
import type { JsonObject } from "../Json.js"
import { giveUpAfterMillis } from "./Refresh.js"

export const statuses = ["pending", "active", "inactive", "expired", "failed", "disconnected"] as const
export type ConnectionStatus = (typeof statuses)[number]

/** Those that are connections still. */
export const livingStatuses = statuses.filter((status) => status !== "disconnected")

/** Times are RFC 3339. `lastError`: what the provider said last, or why the connection is in its state. */
export interface ConnectionHealth {
  readonly state: "ok" | "degraded"
  readonly lastCheckedAt: string | null
  readonly lastError: string | null
  readonly consecutiveFailures: number
}

export interface Connection {
  readonly id: ConnectionId
  readonly organisationId: OrganisationId
  readonly connector: string
  readonly connectorVersion: string
  readonly customerId: CustomerId
  readonly userId: string | null
  readonly label: string
  readonly accountLabel: string | null
  readonly authMethod: string
  readonly authProvider: string | null
  readonly status: ConnectionStatus
  readonly health: ConnectionHealth
  readonly config: JsonObject
  readonly scopes: ReadonlyArray<string>
  readonly isDefault: boolean
  /** When the access token ends; `null` where nothing ends. */
  readonly expiresAt: string | null
  readonly lastRefreshAt: string | null
  /** Since when refreshes fail; `null` while they succeed. */
  readonly refreshFailedAt: string | null
  readonly lastUsedAt: string | null
  readonly metadata: JsonObject
  readonly tags: { readonly [name: string]: string }
  readonly credentialFingerprint: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  /** Counts what a client can change and the status; refreshes leave it alone. */
  readonly version: number
}

/** What may be known of a stored credential. */
export interface CredentialRecord {
  readonly id: CredentialId
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  /** The names of its members. */
  readonly members: ReadonlyArray<string>
  readonly fingerprint: string
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly rotatedAt: string | null
}

/** What is known of a credential when it is stored. */
export interface CredentialFacts {
  readonly authMethod: string
  readonly authProvider: string | null
  readonly connectorVersion: string
  readonly accountLabel: string | null
  readonly config: JsonObject
  readonly scopes: ReadonlyArray<string>
  readonly expiresAt: string | null
  readonly fingerprint: string
}

export type Command =
  /** A credential was stored and its test passed. */
  | { readonly _tag: "Activate"; readonly facts: CredentialFacts }
  /** The provider or the test refused the credential that should have made the connection. */
  | { readonly _tag: "Refuse"; readonly reason: string }
  | {
      readonly _tag: "NoteRefresh"
      readonly expiresAt: string | null
      readonly scopes: ReadonlyArray<string>
      readonly fingerprint: string
    }
  /** `lost`: the provider said that the grant is no more; else it may be there again later. */
  | { readonly _tag: "NoteRefreshFailure"; readonly lost: boolean; readonly reason: string }
  /** A test on demand: what failed, or `null`. */
  | { readonly _tag: "NoteTest"; readonly error: string | null }
  /** The provider refuses a fresh credential, twice. */
  | { readonly _tag: "Reject"; readonly reason: string }
  | { readonly _tag: "Disable" }
  /** The credential that is there passed its test again. */
  | { readonly _tag: "Enable" }
  | { readonly _tag: "Disconnect" }
  | {
      readonly _tag: "Edit"
      readonly label: string | undefined
      readonly tags: Connection["tags"] | undefined
    }

export type Event =
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

/** The command does not fit the state. */
export interface WrongState {
  readonly status: ConnectionStatus
  readonly message: string
}

/** What a command comes to. `now`: Unix milliseconds. */
export const decide = (connection: Connection, command: Command, now: number): Either.Either<Event, WrongState> => {
  const { status } = connection
  const refused = (message: string) => Either.left({ status, message })
  if (status === "disconnected") return refused("the connection is disconnected for good: make a new one")
  const onlyActive = (event: Event) =>
    status === "active" ? Either.right(event) : refused(`the connection is ${status}: ${remedyOf(status)}`)
  // A disabled connection keeps its grant: a token that came for it is kept, or a rotated grant would be lost.
  const unlessEnded = (event: Event) => (status === "inactive" ? Either.right(event) : onlyActive(event))
  switch (command._tag) {
    case "Activate":
      return Either.right({ _tag: "Activated", facts: command.facts })
    case "Refuse":
      return status === "pending"
        ? Either.right({ _tag: "Failed", reason: command.reason })
        : refused(`the connection is ${status} and stays it`)
    case "NoteRefresh":
      return unlessEnded({ ...command, _tag: "Refreshed" })
    case "NoteRefreshFailure":
      return unlessEnded(afterFailure(connection, command, now))
    case "NoteTest":
      return status === "pending"
        ? refused("the connection has no credential yet")
        : Either.right({ ...command, _tag: "Tested" })
    case "Reject":
      return onlyActive({ _tag: "Failed", reason: command.reason })
    case "Disable":
      return onlyActive({ _tag: "Disabled" })
    case "Enable":
      return status === "inactive" ? Either.right({ _tag: "Enabled" }) : refused(notEnabled(status))
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

const notEnabled = (status: ConnectionStatus) =>
  status === "active" ? "the connection is active already" : `the connection is ${status}: ${remedyOf(status)}`

/** What has to be done to a connection so that it can be used. */
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
      return "make a new one"
  }
}

/** Why a connection takes no calls, and who can change that. */
export const notActiveReason = ({ health, status }: Pick<Connection, "health" | "status">): string => {
  const cause = health.state === "degraded" && health.lastError !== null ? ` (${health.lastError})` : ""
  return `the connection is ${status}${cause}: ${remedyOf(status)}`
}

type RefreshFailure = Command & { readonly _tag: "NoteRefreshFailure" }

const afterFailure = (connection: Connection, { lost, reason }: RefreshFailure, now: number): Event => {
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

/** The connection after an event at this time, RFC 3339. */
export const evolve = (connection: Connection, event: Event, at: string): Connection => {
  const changed = { ...connection, updatedAt: at }
  const next = { ...changed, version: connection.version + 1 }
  switch (event._tag) {
    case "Activated": {
      const { fingerprint, ...facts } = event.facts
      return {
        ...next,
        ...facts,
        accountLabel: facts.accountLabel ?? connection.accountLabel,
        credentialFingerprint: fingerprint,
        status: "active",
        health: healthy(at),
        lastRefreshAt: at,
        refreshFailedAt: null
      }
    }
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
      // While renewals fail, their health and their back-off stay.
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

/** What the world is told of an event, if anything: the type of an outbound event. */
export const announcement = (before: Connection, event: Event): string | null => {
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
      // Once for each time that refreshing begins to fail.
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

/** The connection as the API shows it. */
export const connectionView = ({ health, organisationId: _organisation, ...connection }: Connection) => ({
  ...connection,
  health: { ...health }
})
