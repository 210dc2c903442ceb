/** Installations of integrations for customers: the connections and configuration that their runs use. Contract: installation record. */
import { isRecordService } from "../unified/RecordCall.js"
import { Effect, Schema } from "effect"
import type { ConnectionStatus } from "../connection/Connection.js"
import { type BoundAction, possibleSlugs } from "../connector/Binding.js"
import { InvalidState, invalid, type ValidationFailed } from "../Failure.js"
import { ConnectionId, CustomerId, InstallationId, OrganisationId, WorkflowId } from "../Ids.js"
import { JsonObject } from "../Json.js"
import { configurationValues, installationLimits } from "../Limits.js"
import { Slug } from "../Slug.js"
import type { ChosenConnection } from "../run/RunJournal.js"
import { fixedValue, generatedValue, hidden, optional, owner, recordOf, required } from "../Record.js"
import { AnsweredTime } from "../Time.js"

/** `needs_connection` is not stored; it is derived from the status of the connections. */
export const installationStatuses = ["active", "paused", "needs_connection", "uninstalled"] as const
export type InstallationStatus = (typeof installationStatuses)[number]

/** What is wrong with the size of settings, or of their schema; `undefined`: nothing. */
export const sizeMistake = (value: JsonObject): string | undefined =>
  JSON.stringify(value).length <= configurationValues.valueBytes
    ? undefined
    : `must have at most ${configurationValues.valueBytes} bytes of JSON`
const SmallObject = JsonObject.pipe(Schema.filter(sizeMistake))

/** An installation: its record, bodies and view. A customer has at most one of each integration. Times are RFC 3339. */
export const Installation = recordOf("Installation", {
  id: generatedValue(InstallationId, Schema.String),
  organisationId: owner(OrganisationId),
  customerId: fixedValue(required(CustomerId, Schema.String, Schema.String)),
  /** The slug of the integration. */
  integration: fixedValue(required(Schema.String, Slug)),
  workflowIds: optional(
    Schema.Array(WorkflowId),
    [],
    Schema.Array(Schema.String).pipe(Schema.maxItems(installationLimits.workflows)),
    Schema.Array(Schema.String)
  ),
  /** By the connector's slug. */
  connections: optional(
    Schema.Record({ key: Schema.String, value: ConnectionId }),
    {},
    Schema.Record({ key: Schema.String, value: Schema.String }).pipe(
      Schema.filter(
        (all) =>
          Object.keys(all).length <= installationLimits.connections ||
          `must have at most ${installationLimits.connections} connections`
      )
    ),
    Schema.Record({ key: Schema.String, value: Schema.String })
  ),
  config: optional(JsonObject, {}, SmallObject),
  /** JSON Schema (2020-12) of `config`. */
  configSchema: optional(Schema.NullOr(JsonObject), null, Schema.NullOr(SmallObject)),
  status: optional(
    Schema.Literal("active", "paused", "uninstalled"),
    "active",
    Schema.Literal("active", "paused"),
    Schema.Literal(...installationStatuses)
  ),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  uninstalledAt: hidden(Schema.NullOr(AnsweredTime)),
  version: generatedValue(Schema.Number)
})
/** The stored installation; the API may show `needs_connection` as its status. */
export type Installation = typeof Installation.stored.Type
export type CreateInstallation = typeof Installation.Create.Type

/** The body that changes an installation. */
export const UpdateInstallation = Schema.Struct({
  ...Installation.Update.fields,
  status: Schema.optional(Schema.Literal("active", "paused", "needs_connection")).annotations({
    description: "needs_connection is derived from the connections: it is accepted only if the record was read with it"
  })
}).annotations({ identifier: "UpdateInstallation" })
export type UpdateInstallation = typeof UpdateInstallation.Type

/** An update without a derived status. */
export interface InstallationChanges extends Omit<UpdateInstallation, "status"> {
  readonly status?: "active" | "paused"
}

/** The configuration after an update. */
export const configAfter = (
  before: Pick<Installation, "config" | "configSchema">,
  { config = before.config, configSchema = before.configSchema }: Pick<UpdateInstallation, "config" | "configSchema">
): Pick<Installation, "config" | "configSchema"> => ({ config, configSchema })

/** Drops `needs_connection` if the record has that status, else refuses it, since it cannot be set. */
export const checkStatus = (
  current: Pick<InstallationView, "status">,
  { status, ...rest }: UpdateInstallation
): Effect.Effect<InstallationChanges, ValidationFailed> => {
  if (status !== "needs_connection") return Effect.succeed(status === undefined ? rest : { ...rest, status })
  return current.status === status
    ? Effect.succeed(rest)
    : invalid("status", "INVALID_VALUE", "must be active or paused: needs_connection is derived from the connections")
}

/** Whether every connector that the workflows call has an active connection. */
const isConnected = (
  { connections }: Pick<Installation, "connections">,
  bindings: ReadonlyArray<BoundAction>,
  statusOf: (id: ConnectionId) => ConnectionStatus | undefined
): boolean =>
  bindings.every(({ connector }) => {
    // The code computes the connector's name, or reads records of whichever is connected: it is known only in a run.
    if (connector === "*" || isRecordService(connector)) return true
    const slug = possibleSlugs(connector).find((one) => Object.hasOwn(connections, one))
    const id = slug === undefined ? undefined : connections[slug]
    return id !== undefined && statusOf(id) === "active"
  })

/** The refusal to start runs of an installation that is not active. */
export const inactiveInstallation = ({ status }: Pick<Installation, "status">): InvalidState | undefined =>
  status === "active"
    ? undefined
    : new InvalidState({ state: status, message: `the installation is ${status}: runs need an active installation` })

/** Runs of an installation use its own connections only. */
export const ownConnections = ({ connections }: Pick<Installation, "connections">): ReadonlyArray<ChosenConnection> =>
  Object.entries(connections).map(([connector, id]) => ({ connector, alias: null, id }))

/**
 * The installation of a run that an event starts, of those of the customer that list the workflow and are not uninstalled: the
 * one that has the event's connection, else the only active one. `null`: there is none. A refusal, as the code and message of
 * a dead letter: several are possible, or none of them is active.
 */
export const installationOfEvent = <A extends Pick<Installation, "connections" | "status">>(
  installations: ReadonlyArray<A>,
  connectionId: ConnectionId | null
): A | null | { readonly code: string; readonly message: string } => {
  const connected = installations.filter(({ connections }) =>
    Object.values(connections).some((id) => id === connectionId)
  )
  const possible = connected.length > 0 ? connected : installations
  if (possible.length === 0) return null
  const [chosen, second] = possible.filter(({ status }) => status === "active")
  if (chosen === undefined) {
    const message = "the customer's installation that lists the workflow is paused: set it active and replay"
    return { code: "INSTALLATION_PAUSED", message }
  }
  if (second === undefined) return chosen
  const message =
    "several installations of the customer list the workflow: list it in one, or give each a connection of its own"
  return { code: "AMBIGUOUS_INSTALLATION", message }
}

/** The installation as the API shows it. `bindings`: those of its workflows. */
export const installationView = (
  installation: Installation,
  bindings: ReadonlyArray<BoundAction>,
  statusOf: (id: ConnectionId) => ConnectionStatus | undefined
) => {
  const status: InstallationStatus =
    installation.status === "active" && !isConnected(installation, bindings, statusOf)
      ? "needs_connection"
      : installation.status
  return { ...Installation.show(installation), status }
}
/** The installation as the API shows it. */
export type InstallationView = ReturnType<typeof installationView>
