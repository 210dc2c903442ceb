/** Installations of integrations for customers: the connections and configuration that their runs use. Contract: installation record. */
import { Effect, Schema } from "effect"
import type { ConnectionStatus } from "../connection/Connection.js"
import { type BoundAction, possibleSlugs } from "../connector/Binding.js"
import { InvalidState, invalid, type ValidationFailed } from "../Failure.js"
import type { ConnectionId, CustomerId, InstallationId, OrganisationId, WorkflowId } from "../Ids.js"
import { JsonObject } from "../Json.js"
import { configurationValues, installationLimits } from "../Limits.js"
import { Slug } from "../workflow/Workflow.js"
import { Counter } from "../Scalars.js"

/** `needs_connection` is not stored; it is derived from the status of the connections. */
export const installationStatuses = ["active", "paused", "needs_connection", "uninstalled"] as const
export type InstallationStatus = (typeof installationStatuses)[number]

/** The stored installation. Times are RFC 3339. */
export interface Installation {
  readonly id: InstallationId
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId
  /** The slug of the integration. A customer has at most one installation of each. */
  readonly integration: string
  readonly workflowIds: ReadonlyArray<WorkflowId>
  /** By the connector's slug. */
  readonly connections: { readonly [slug: string]: ConnectionId }
  readonly config: JsonObject
  /** JSON Schema (2020-12) of `config`. */
  readonly configSchema: JsonObject | null
  /** The stored status; the API may show `needs_connection`. */
  readonly status: Exclude<InstallationStatus, "needs_connection">
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly uninstalledAt: string | null
  readonly version: number
}

const isSmall = (value: JsonObject): boolean => JSON.stringify(value).length <= configurationValues.valueBytes
const SmallObject = JsonObject.pipe(
  Schema.filter((value) => isSmall(value) || `must have at most ${configurationValues.valueBytes} bytes of JSON`)
)

const fields = {
  workflowIds: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(installationLimits.workflows))),
  connections: Schema.optional(
    Schema.Record({ key: Schema.String, value: Schema.String }).pipe(
      Schema.filter(
        (all) =>
          Object.keys(all).length <= installationLimits.connections ||
          `must have at most ${installationLimits.connections} connections`
      )
    )
  ),
  config: Schema.optional(SmallObject),
  configSchema: Schema.optional(Schema.NullOr(SmallObject)),
  status: Schema.optional(Schema.Literal("active", "paused"))
}

/** The body that installs an integration. */
export const CreateInstallation = Schema.Struct({
  customerId: Schema.String,
  integration: Slug,
  ...fields
}).annotations({ identifier: "CreateInstallation" })
export type CreateInstallation = typeof CreateInstallation.Type

/** The body that changes an installation. */
export const UpdateInstallation = Schema.Struct({
  ...fields,
  status: Schema.optional(Schema.Literal("active", "paused", "needs_connection")).annotations({
    description: "needs_connection is derived from the connections: it is accepted only if the record was read with it"
  }),
  version: Schema.optional(Counter)
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

/** The installation after an update of configuration and status. `installation` has the new workflows and connections. */
export const changedInstallation = (
  installation: Installation,
  input: InstallationChanges,
  updatedAt: string
): Installation => ({
  ...installation,
  ...configAfter(installation, input),
  status: input.status ?? installation.status,
  updatedAt,
  version: installation.version + 1
})

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
    // The code computes the connector's name, so it is known only in a run.
    if (connector === "*") return true
    const slug = possibleSlugs(connector).find((one) => Object.hasOwn(connections, one))
    const id = slug === undefined ? undefined : connections[slug]
    return id !== undefined && statusOf(id) === "active"
  })

/** The refusal to start runs of an installation that is not active. */
export const inactiveInstallation = ({ status }: Pick<Installation, "status">): InvalidState | undefined =>
  status === "active"
    ? undefined
    : new InvalidState({ state: status, message: `the installation is ${status}: runs need an active installation` })

/** The installation as the API shows it. `bindings`: those of its workflows. */
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
/** The installation as the API shows it. */
export type InstallationView = ReturnType<typeof installationView>
