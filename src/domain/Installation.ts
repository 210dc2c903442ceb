/** One installation of an integration for a customer: which of its connections and which values its runs use. Contract: installation record. */
import { Effect, Schema } from "effect"
import type { ConnectionStatus } from "./connection/Connection.js"
import { type BoundAction, slugsOf } from "./connector/Binding.js"
import { InvalidState, invalid, type ValidationFailed } from "./Failure.js"
import type { ConnectionId, CustomerId, InstallationId, OrganisationId, WorkflowId } from "./Ids.js"
import { JsonObject } from "./Json.js"
import { configurationValues, installation } from "./Limits.js"
import { slugPattern } from "./Workflow.js"
import { Counter } from "./Scalars.js"

/** `needs_connection` is never stored: it follows from the connections as they are now. */
export const installationStatuses = ["active", "paused", "needs_connection", "uninstalled"] as const
export type InstallationStatus = (typeof installationStatuses)[number]

/** Times are RFC 3339. */
export interface Installation {
  readonly id: InstallationId
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId
  /** The slug of the integration; one installation of each at most for a customer. */
  readonly integration: string
  readonly workflowIds: ReadonlyArray<WorkflowId>
  /** By the connector's slug. */
  readonly connections: { readonly [slug: string]: ConnectionId }
  readonly config: JsonObject
  /** JSON Schema (2020-12) of `config`. */
  readonly configSchema: JsonObject | null
  /** As it was set; the shown status may be `needs_connection`. */
  readonly status: Exclude<InstallationStatus, "needs_connection">
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly uninstalledAt: string | null
  readonly version: number
}

const small = (value: JsonObject): boolean => JSON.stringify(value).length <= configurationValues.valueBytes
const Small = JsonObject.pipe(
  Schema.filter((value) => small(value) || `it has at most ${configurationValues.valueBytes} bytes of JSON`)
)

const fields = {
  workflowIds: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(installation.workflows))),
  connections: Schema.optional(
    Schema.Record({ key: Schema.String, value: Schema.String }).pipe(
      Schema.filter(
        (all) =>
          Object.keys(all).length <= installation.connections || `at most ${installation.connections} connections`
      )
    )
  ),
  config: Schema.optional(Small),
  configSchema: Schema.optional(Schema.NullOr(Small)),
  status: Schema.optional(Schema.Literal("active", "paused"))
}

export const CreateInstallation = Schema.Struct({
  customerId: Schema.String,
  integration: Schema.String.pipe(Schema.pattern(slugPattern)),
  ...fields
}).annotations({ identifier: "CreateInstallation" })
export type CreateInstallation = typeof CreateInstallation.Type

export const UpdateInstallation = Schema.Struct({
  ...fields,
  status: Schema.optional(Schema.Literal("active", "paused", "needs_connection")).annotations({
    description: "needs_connection follows from the connections: it is taken only as it was read"
  }),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateInstallation" })
export type UpdateInstallation = typeof UpdateInstallation.Type

/** An update without the status that only follows from others. */
export interface InstallationChanges extends Omit<UpdateInstallation, "status"> {
  readonly status?: "active" | "paused"
}

/** The configuration that an update leads to. */
export const configAfter = (
  before: Pick<Installation, "config" | "configSchema">,
  { config = before.config, configSchema = before.configSchema }: Pick<UpdateInstallation, "config" | "configSchema">
): Pick<Installation, "config" | "configSchema"> => ({ config, configSchema })

/** The installation after an update of its configuration and status; its workflows and connections are given. */
export const changedInstallation = (
  given: Installation,
  input: InstallationChanges,
  updatedAt: string
): Installation => ({
  ...given,
  ...configAfter(given, input),
  status: input.status ?? given.status,
  updatedAt,
  version: given.version + 1
})

/** Takes `needs_connection` only where the record is shown so, and leaves it out then: it cannot be asked for. */
export const checkStatus = (
  shown: Pick<InstallationView, "status">,
  { status, ...rest }: UpdateInstallation
): Effect.Effect<InstallationChanges, ValidationFailed> => {
  if (status !== "needs_connection") return Effect.succeed(status === undefined ? rest : { ...rest, status })
  return shown.status === status
    ? Effect.succeed(rest)
    : invalid("status", "INVALID_VALUE", "must be active or paused: needs_connection follows from the connections")
}

/** Whether each connector that the workflows call has its connection, and it is active. */
const isConnected = (
  { connections }: Pick<Installation, "connections">,
  bindings: ReadonlyArray<BoundAction>,
  statusOf: (id: ConnectionId) => ConnectionStatus | undefined
): boolean =>
  bindings.every(({ connector }) => {
    // The name is computed: only the run knows the connector.
    if (connector === "*") return true
    const slug = slugsOf(connector).find((one) => Object.hasOwn(connections, one))
    const id = slug === undefined ? undefined : connections[slug]
    return id !== undefined && statusOf(id) === "active"
  })

/** Why its runs may not start; `undefined` if they may. */
export const notRunning = ({ status }: Pick<Installation, "status">): InvalidState | undefined =>
  status === "active"
    ? undefined
    : new InvalidState({ state: status, message: `the installation is ${status}: only active ones run` })

/** The installation as it is shown. `bindings` are those of its workflows. */
export const installationView = (
  { organisationId: _organisation, uninstalledAt: _uninstalled, ...installation }: Installation,
  bindings: ReadonlyArray<BoundAction>,
  statusOf: (id: ConnectionId) => ConnectionStatus | undefined
) => {
  const status: InstallationStatus =
    installation.status === "active" && !isConnected(installation, bindings, statusOf)
      ? "needs_connection"
      : installation.status
  return { ...installation, status }
}
export type InstallationView = ReturnType<typeof installationView>
