/**
 * Finds, checks and shows installations for use cases. An installation is in a key's scope if all of its workflows,
 * connections and connectors are.
 */
import { Effect } from "effect"
import { readBindings } from "../../../domain/connector/Binding.js"
import {
  type Failure,
  type Forbidden,
  invalid,
  InvalidState,
  NotFound,
  type Unavailable,
  ValidationFailed,
  refuseWith
} from "../../../domain/Failure.js"
import type { ConnectionId, CustomerId, WorkflowId } from "../../../domain/Ids.js"
import {
  type Installation,
  type InstallationView,
  installationView
} from "../../../domain/organisation/Installation.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { ScopeType } from "../../../domain/access/ResourceScope.js"
import { type Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { MemberFilter, Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { narrowedAsOffered, outOfScope, type Principal, scopedIds } from "../Caller.js"
import { publishedVersions } from "../workflow/WorkflowRecords.js"
import { findReached } from "../ReachedRecord.js"

const notFound = () => new NotFound({ what: "installation" })

// --- Scope ---

type Parts = Pick<Installation, "connections" | "workflowIds">

/** The refusal if an installation, or these parts of one, are outside the key's scope. */
export const installationRefusal = (caller: Principal, { connections, workflowIds }: Parts): Forbidden | undefined => {
  const parts: ReadonlyArray<readonly [ScopeType, ReadonlyArray<string>]> = [
    ["workflow", workflowIds],
    ["connection", Object.values(connections)],
    ["connector", Object.keys(connections)]
  ]
  for (const [type, ids] of parts) {
    const refused = ids.map((id) => outOfScope(narrowedAsOffered(caller), type, id)).find((one) => one !== undefined)
    if (refused !== undefined) return refused
  }
  return undefined
}

/** The condition of a list on the installations in the key's scope. */
export const installationListFilter = (caller: Principal): ReadonlyArray<MemberFilter<Installation>> => {
  const conditions: ReadonlyArray<readonly [ScopeType, Pick<MemberFilter<Installation>, "member" | "part">]> = [
    ["workflow", { member: "workflowIds", part: "items" }],
    ["connection", { member: "connections", part: "values" }],
    ["connector", { member: "connections", part: "keys" }]
  ]
  return conditions.flatMap(([type, condition]) => {
    const among = scopedIds(narrowedAsOffered(caller), type)
    return among === undefined ? [] : [{ ...condition, among }]
  })
}

// --- Found and shown ---

/** `lock`: locks the row until the transaction ends. */
export const findInstallation = (tx: Tx, caller: Principal, id: string, lock = false) =>
  Effect.tap(
    findReached(tx.installations, caller, "installation", { id: id as Installation["id"] }, lock), // unchecked text from the request
    (found) => installationRefusal(caller, found) ?? Effect.void
  )

/** Locks an installation to change it. Fails unless it is installed and has the version that the caller read. */
export const lockInstalled = Effect.fnUntraced(function* (
  tx: Tx,
  context: CallContext,
  id: string,
  version: number | undefined
): Effect.fn.Return<Installation, Failure> {
  const found = yield* findInstallation(tx, context.caller, id, true)
  if (found.status === "uninstalled")
    return yield* new InvalidState({ state: "uninstalled", message: "the installation is uninstalled" })
  yield* checkVersion(context, version, found.version)
  return found
})

/** The bindings of the workflows: of the published version, or of the draft if there is none. */
const bindingsOfAll = Effect.fnUntraced(function* (tx: Tx, ids: ReadonlyArray<WorkflowId>) {
  const workflows = yield* tx.workflows.list({ where: { id: ids, deletedAt: null }, limit: Math.max(1, ids.length) })
  const versions = yield* publishedVersions(tx, workflows)
  return new Map(
    workflows.map(({ bindings, id, publishedVersion }) => {
      const version = versions.find((one) => one.workflowId === id && one.number === publishedVersion)
      return [id, readBindings(version?.bindings ?? bindings)] as const
    })
  )
})

/** The views, with the status that follows from the workflows' bindings and the connections' current states. */
export const viewsOf = Effect.fnUntraced(function* (tx: Tx, found: ReadonlyArray<Installation>) {
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

export const viewOfInstallation = (tx: Tx, installation: Installation): Effect.Effect<InstallationView, Failure> =>
  Effect.flatMap(viewsOf(tx, [installation]), ([view]) =>
    view === undefined ? Effect.fail(notFound()) : Effect.succeed(view)
  )

// --- Checked ---

const noParts: Parts = { connections: {}, workflowIds: [] }

/** Fails unless the workflows are in the caller's workspace and this customer may run them. Those in `before` are accepted. */
export const checkWorkflows = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId,
  workflowIds: ReadonlyArray<string>,
  before: Parts = noParts
): Effect.fn.Return<ReadonlyArray<WorkflowId>, Failure> {
  const ids = [...new Set(workflowIds)].map((id) => id as WorkflowId) // unchecked text from the request
  const added = ids.filter((id) => !before.workflowIds.includes(id))
  const found = yield* tx.workflows.list({
    where: { id: added, spaceId: caller.spaceId, deletedAt: null },
    limit: Math.max(1, added.length)
  })
  for (const id of added) {
    const workflow = found.find((one) => one.id === id)
    if (workflow === undefined || (workflow.customerId !== null && workflow.customerId !== customerId))
      return yield* invalid(
        `workflowIds[${workflowIds.indexOf(id)}]`,
        "NOT_FOUND",
        "names no workflow of this customer"
      )
    yield* refuseWith(outOfScope(caller, "workflow", id))
  }
  return ids
})

/** Fails unless each connection is this customer's and of the named connector. Those in `before` are accepted. */
export const checkConnections = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId,
  connectionIds: { readonly [slug: string]: string },
  before: Parts = noParts
): Effect.fn.Return<Installation["connections"], Failure> {
  const all = Object.entries(connectionIds).map(([slug, id]) => [slug, id as ConnectionId] as const) // unchecked text from the request
  const added = all.filter(([slug, id]) => before.connections[slug] !== id)
  const found = yield* tx.connections.list({
    where: { id: added.map(([, id]) => id), customerId },
    limit: Math.max(1, added.length)
  })
  for (const [slug, id] of added) {
    const connection = found.find((one) => one.id === id)
    if (connection === undefined || connection.status === "disconnected")
      return yield* invalid(`connections.${slug}`, "NOT_FOUND", "names no connection of this customer")
    const { connector } = connection
    const outside = installationRefusal(caller, { connections: { [connector]: id }, workflowIds: [] })
    if (outside !== undefined) return yield* outside
    if (connector !== slug)
      return yield* invalid(`connections.${slug}`, "INVALID", `names a connection to ${connector}, not to ${slug}`)
  }
  return Object.fromEntries(all)
})

/** Fails unless the schema is valid and the values satisfy it. Takes up to a second: call it outside transactions. */
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
