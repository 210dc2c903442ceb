/**
 * Use cases of installations: create for a customer, change, uninstall. The record stays, because its runs refer to it.
 * Contract: installation record.
 */
import { Effect, Schema } from "effect"
import { type Failure, NotFound, PlanLimitReached, versionMismatch } from "../../../domain/Failure.js"
import {
  type CreateInstallation,
  checkStatus,
  configAfter,
  Installation,
  type InstallationChanges,
  type InstallationStatus,
  type InstallationView,
  UpdateInstallation,
  installationStatuses
} from "../../../domain/organisation/Installation.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { nextVersion } from "../../../domain/Record.js"
import { Computations } from "../../ports/Computations.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import {
  checkConfig,
  checkConnections,
  checkWorkflows,
  findInstallation,
  installationListFilter,
  lockInstalled,
  viewOfInstallation,
  viewsOf
} from "./InstallationRecords.js"
import { customerOfBody, customerListFilter } from "./CustomerRecords.js"
import { listQuery, optionalText, type PageRequest, Pages, sizeOf } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { checkCustomerLimit } from "./CustomerLimits.js"

export const InstallationList = listQuery({
  customer_id: optionalText,
  integration: optionalText,
  status: Schema.optional(Schema.Literal(...installationStatuses)).annotations({
    description: "absent: all except uninstalled ones. A page of one status may have fewer records than its size"
  })
})
type InstallationList = typeof InstallationList.Type

const resourceOf = ({ customerId, id, integration }: Installation) => ({ id, name: integration, customerId })

/** The stored statuses for the status that a list filters by. */
const storedStatus = (status: InstallationStatus | undefined): ReadonlyArray<Installation["status"]> =>
  status === undefined ? ["active", "paused"] : [status === "needs_connection" ? "active" : status]

/**
 * Fails if the plan does not allow one more active installation. One that lacks a connection counts, too, because it
 * becomes active with the connection. Exact, because a lock serialises creations in one account.
 */
const checkPlan = Effect.fnUntraced(function* (tx: Tx, { plan }: Principal, customerId: CustomerId) {
  yield* checkCustomerLimit(tx, customerId, "active_integrations")
  const limit = plan.activeIntegrations
  if (limit === null) return
  yield* tx.lockKeyOfAccount("active_integrations")
  const used = yield* tx.countOfAccount("active_integrations")
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "active_integrations", limit, used })
})

/** Installations that one request looks at when few have the status that it asks for. */
const mostLooked = 2_000
/** Installations of one query then, so that a small page does not take a query each. */
const leastLooked = 100

const withChanges = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  before: Installation,
  input: InstallationChanges
): Effect.fn.Return<Installation, Failure> {
  const { customerId } = before
  const workflowIds = yield* checkWorkflows(tx, caller, customerId, input.workflowIds ?? before.workflowIds, before)
  const connections = yield* checkConnections(tx, caller, customerId, input.connections ?? before.connections, before)
  return Installation.change(before, { ...input, workflowIds, connections }, yield* currentTimestamp)
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const { compute } = yield* Computations

  /** Adds the outbound event to the transaction. `status`: as the API shows it. */
  const announce = (
    tx: Tx,
    { customerId, id, integration, organisationId, updatedAt }: Installation,
    event: "created" | "updated" | "removed",
    status: InstallationStatus
  ) =>
    tx.emit({
      id: identifiers.next("evt"),
      organisationId,
      type: `installation.${event}`,
      subject: id,
      customerId,
      payload: { installationId: id, integration, customerId, status },
      at: updatedAt
    })

  /** Newest first; uninstalled ones only if the filter asks for that status. */
  const list = (context: CallContext, params: InstallationList) =>
    read(context, function* (tx) {
      const { customer_id, integration, status } = params
      const query = {
        where: { ...(yield* customerListFilter(tx, context.caller, customer_id)), status: storedStatus(status) },
        filters: { integration },
        only: installationListFilter(context.caller),
        searchIn: ["integration"] as const
      }
      const size = sizeOf(params)
      const found: Array<InstallationView> = []
      // Whether an active one needs a connection is not stored: a page is filled from as many rows as it takes.
      const batch = status === undefined ? size : Math.max(size, leastLooked)
      for (let request: PageRequest = { ...params, page_size: batch }, looked = 0; ; looked += batch) {
        const page = yield* pages.list(tx.installations, request, query)
        const views = yield* viewsOf(tx, page.data)
        found.push(...(status === undefined ? views : views.filter((view) => view.status === status)))
        const { nextCursor } = page.page
        if (nextCursor === null || found.length >= size || looked >= mostLooked)
          return yield* pages.pageOf(
            found,
            size,
            ({ createdAt, id }) => ({ createdAt, id }),
            yield* pages.position(nextCursor ?? undefined)
          )
        request = { ...request, cursor: nextCursor }
      }
    })

  const newInstallation = Effect.fnUntraced(function* (tx: Tx, caller: Principal, input: CreateInstallation) {
    const customerId = yield* customerOfBody(tx, caller, input.customerId)
    const now = yield* currentTimestamp
    const workflowIds = yield* checkWorkflows(tx, caller, customerId, input.workflowIds ?? [])
    const connections = yield* checkConnections(tx, caller, customerId, input.connections ?? {})
    return Installation.create(
      { ...input, customerId, workflowIds, connections },
      {
        id: identifiers.next("inst"),
        organisationId: caller.organisationId,
        createdBy: caller.id
      },
      now
    )
  })

  const create = Effect.fnUntraced(function* (context: CallContext, input: CreateInstallation) {
    yield* checkConfig(compute, context.caller, input.configSchema ?? null, input.config ?? {})
    return yield* change(context, function* (tx) {
      const installation = yield* newInstallation(tx, context.caller, input)
      if (installation.status === "active") yield* checkPlan(tx, context.caller, installation.customerId)
      yield* tx.installations.insert(installation)
      const value = yield* viewOfInstallation(tx, installation)
      yield* announce(tx, installation, "created", value.status)
      return { value, resource: resourceOf(installation), after: value }
    })
  })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) =>
      Effect.flatMap(findInstallation(tx, context.caller, id), (found) => viewOfInstallation(tx, found))
    )

  /** Checks the configuration after an update. Returns the version of the record that was checked, if one was. */
  const checkConfigAfter = Effect.fnUntraced(function* (context: CallContext, id: string, input: UpdateInstallation) {
    if (input.config === undefined && input.configSchema === undefined) return undefined
    const before = yield* read(context, (tx) => findInstallation(tx, context.caller, id))
    const { config, configSchema } = configAfter(before, input)
    yield* checkConfig(compute, context.caller, configSchema, config)
    return before.version
  })

  const update = Effect.fnUntraced(function* (context: CallContext, id: string, input: UpdateInstallation) {
    const checked = yield* checkConfigAfter(context, id, input)
    return yield* change(context, function* (tx) {
      const before = yield* lockInstalled(tx, context, id, input.version)
      if (checked !== undefined && checked !== before.version) return yield* versionMismatch()
      const view = yield* viewOfInstallation(tx, before)
      const changes = yield* checkStatus(view, yield* pickChanges(UpdateInstallation, input, view))
      const after = yield* withChanges(tx, context.caller, before, changes)
      if (before.status !== "active" && after.status === "active")
        yield* checkPlan(tx, context.caller, after.customerId)
      yield* tx.installations.update(after)
      const value = yield* viewOfInstallation(tx, after)
      yield* announce(tx, after, "updated", value.status)
      return { value, resource: resourceOf(after), before: view, after: value }
    })
  })

  const uninstall = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* findInstallation(tx, context.caller, id, true)
      if (before.status === "uninstalled") return yield* new NotFound({ what: "installation" })
      yield* checkVersion(context, undefined, before.version)
      const now = yield* currentTimestamp
      const after: Installation = {
        ...before,
        status: "uninstalled",
        uninstalledAt: now,
        ...nextVersion(before, now)
      }
      const view = yield* viewOfInstallation(tx, before)
      yield* tx.installations.update(after)
      yield* announce(tx, after, "removed", "uninstalled")
      return { value: undefined, resource: resourceOf(after), before: view, after: null }
    })

  return { list, create, get, update, uninstall }
})

export class Installations extends Effect.Service<Installations>()("svc/Installations", { effect: make }) {}
