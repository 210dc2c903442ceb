/** Installations as surface C finds, checks and shows them. */
import { Effect, Option } from "effect"
import { type Computations, tooCostlyDetail } from "../../actors/ports/Computations.js"
import type { Tx } from "../../actors/ports/Records.js"
import { bindingsOf } from "../../domain/connector/Binding.js"
import { type Failure, invalid, NotFound, type Unavailable, ValidationFailed } from "../../domain/Failure.js"
import type { ConnectionId, CustomerId, WorkflowId } from "../../domain/Ids.js"
import { type Installation, type InstallationView, installationView } from "../../domain/Installation.js"
import type { JsonObject } from "../../domain/Json.js"
import { outOfScope, type Principal, reaches } from "../../actors/management/Caller.js"
import { findCustomer } from "../../actors/management/CustomerRecords.js"

const gone = () => new NotFound({ what: "installation" })

/** The installation that a path names, if the caller reaches its customer. */
export const findInstallation = (
  tx: Tx,
  caller: Principal,
  id: string,
  lock = false
): Effect.Effect<Installation, Failure> => {
  const where = { id: id as Installation["id"] } // any text: no other row matches
  return Effect.flatMap(
    lock ? tx.installations.lock(where) : tx.installations.find(where),
    Option.match({
      onNone: gone,
      onSome: (found) => (reaches(caller, found.customerId) ? Effect.succeed(found) : gone())
    })
  )
}

// --- As they are shown ---

/** What the workflows call: as published, or as drafted where nothing is. */
const bindingsOfAll = Effect.fnUntraced(function* (tx: Tx, ids: ReadonlyArray<WorkflowId>) {
  const workflows = yield* tx.workflows.list({ where: { id: ids, deletedAt: null }, limit: Math.max(1, ids.length) })
  const published = workflows.flatMap(({ id, publishedVersion }) =>
    publishedVersion === null ? [] : [{ id, publishedVersion }]
  )
  const numbers = [...new Set(published.map(({ publishedVersion }) => publishedVersion))]
  const versions =
    published.length === 0
      ? []
      : yield* tx.workflowVersions.list({
          where: { workflowId: published.map(({ id }) => id), number: numbers },
          limit: published.length * numbers.length
        })
  return new Map(
    workflows.map(({ bindings, id, publishedVersion }) => {
      const version = versions.find((one) => one.workflowId === id && one.number === publishedVersion)
      return [id, bindingsOf(version?.bindings ?? bindings)] as const
    })
  )
})

/** With the status that follows from what their workflows call and how their connections are now. */
export const shownAll = Effect.fnUntraced(function* (
  tx: Tx,
  found: ReadonlyArray<Installation>
): Effect.fn.Return<ReadonlyArray<InstallationView>, Unavailable> {
  if (found.length === 0) return []
  const bindings = yield* bindingsOfAll(tx, [...new Set(found.flatMap(({ workflowIds }) => workflowIds))])
  const ids = [...new Set(found.flatMap(({ connections }) => Object.values(connections)))]
  const connections = yield* tx.connections.list({ where: { id: ids }, limit: Math.max(1, ids.length) })
  const statuses = new Map(connections.map(({ id, status }) => [id, status]))
  return found.map((one) =>
    installationView(
      one,
      one.workflowIds.flatMap((id) => bindings.get(id) ?? []),
      (id) => statuses.get(id)
    )
  )
})

export const shown = (tx: Tx, installation: Installation): Effect.Effect<InstallationView, Failure> =>
  Effect.flatMap(shownAll(tx, [installation]), ([view]) =>
    view === undefined ? Effect.fail(gone()) : Effect.succeed(view)
  )

// --- As they may be ---

/** The customer that is to have one: unknown and unreachable ones are the same. */
export const customerOf = (tx: Tx, caller: Principal, named: string): Effect.Effect<CustomerId, Failure> =>
  findCustomer(tx, caller, named).pipe(
    Effect.map(({ id }) => id),
    Effect.catchTag("NotFound", () => invalid("customerId", "NOT_FOUND", "names no customer"))
  )

/** Workflows of the caller's workspace that this customer may run. */
export const workflowsOf = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId,
  named: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<WorkflowId>, Failure> {
  const ids = [...new Set(named)].map((id) => id as WorkflowId) // any text: no other row matches
  const found = yield* tx.workflows.list({
    where: { id: ids, spaceId: caller.spaceId, deletedAt: null },
    limit: Math.max(1, ids.length)
  })
  for (const id of ids) {
    const outside = outOfScope(caller, "workflow", id)
    if (outside !== undefined) return yield* outside
    const workflow = found.find((one) => one.id === id)
    if (workflow === undefined || (workflow.customerId !== null && workflow.customerId !== customerId))
      return yield* invalid(`workflowIds[${named.indexOf(id)}]`, "NOT_FOUND", "names no workflow of this customer")
  }
  return ids
})

/** Each must be this customer's, and to the connector that it is named for. */
export const connectionsOf = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId,
  named: { readonly [slug: string]: string }
): Effect.fn.Return<Installation["connections"], Failure> {
  const wanted = Object.entries(named).map(([slug, id]) => [slug, id as ConnectionId] as const) // any text: no other row matches
  const found = yield* tx.connections.list({
    where: { id: wanted.map(([, id]) => id), customerId },
    limit: Math.max(1, wanted.length)
  })
  for (const [slug, id] of wanted) {
    const outside = outOfScope(caller, "connection", id)
    if (outside !== undefined) return yield* outside
    const connection = found.find((one) => one.id === id)
    if (connection === undefined || connection.status === "disconnected")
      return yield* invalid(`connections.${slug}`, "NOT_FOUND", "names no connection of this customer")
    if (connection.connector !== slug)
      return yield* invalid(
        `connections.${slug}`,
        "INVALID",
        `names a connection to ${connection.connector}, not to ${slug}`
      )
  }
  return Object.fromEntries(wanted)
})

/** Fails unless the schema is one, and the values satisfy it. Not to be asked inside a transaction: it may take a second. */
export const checkConfig = Effect.fnUntraced(function* (
  compute: Computations["Type"]["compute"],
  { organisationId }: Principal,
  schema: JsonObject | null,
  config: JsonObject
): Effect.fn.Return<void, ValidationFailed | Unavailable> {
  if (schema === null) return
  const under = (path: string) => (path === "" ? "config" : `config.${path}`)
  const mistakes = yield* compute("checkSchemas", organisationId, { configSchema: schema }).pipe(
    Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("configSchema", error)]))
  )
  const violations =
    mistakes.length > 0
      ? []
      : yield* compute("checkValue", organisationId, { schema, value: config }).pipe(
          Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("", error)]))
        )
  const details = [...mistakes, ...violations.map((detail) => ({ ...detail, path: under(detail.path) }))]
  const [first] = details
  if (first !== undefined)
    return yield* new ValidationFailed({
      code: "VALIDATION_FAILED",
      message: `${mistakes.length > 0 ? "configSchema" : "config"} is not valid: ${first.message}`,
      details
    })
})
