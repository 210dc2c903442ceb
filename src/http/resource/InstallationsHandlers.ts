/** Installations: made for a customer, changed, and uninstalled; the record stays for the runs that belong to it. */
import { DateTime, Effect } from "effect"
import { Computations } from "../../actors/ports/Computations.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Tx } from "../../actors/ports/Records.js"
import { type Failure, InvalidState, NotFound, PlanLimitReached } from "../../domain/Failure.js"
import type { CustomerId } from "../../domain/Ids.js"
import type {
  CreateInstallation,
  Installation,
  InstallationStatus,
  UpdateInstallation
} from "../../domain/Installation.js"
import { Current } from "../auth/Authenticated.js"
import type { Principal } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"
import { checkVersion, versionMismatch } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import {
  checkConfig,
  connectionsOf,
  customerOf,
  findInstallation,
  shown,
  shownAll,
  workflowsOf
} from "./InstallationRecords.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"
import { findCustomer } from "../../actors/management/CustomerRecords.js"

const nowText = Effect.map(DateTime.now, DateTime.formatIso)

const resourceOf = ({ customerId, id, integration }: Installation) => ({ id, name: integration, customerId })

const uninstalled = () => new InvalidState({ state: "uninstalled", message: "the installation is uninstalled" })

/** Of the customers that a key reaches, those that a list asks for: of one that is not there nothing is. */
const customersOf = (
  tx: Tx,
  caller: Principal,
  asked: string | undefined
): Effect.Effect<{ readonly customerId?: ReadonlyArray<CustomerId> }, Failure> => {
  if (asked === undefined)
    return Effect.succeed(caller.customers === "all" ? {} : { customerId: [...caller.customers] })
  return findCustomer(tx, caller, asked).pipe(
    Effect.map(({ id }) => ({ customerId: [id] })),
    Effect.catchTag("NotFound", () => Effect.succeed({ customerId: [] }))
  )
}

/** What is stored of the status that a list asks for. */
const storedStatus = (asked: InstallationStatus | undefined): ReadonlyArray<Installation["status"]> =>
  asked === undefined ? ["active", "paused"] : [asked === "needs_connection" ? "active" : asked]

const configAfter = (before: Installation, input: UpdateInstallation) => ({
  config: input.config ?? before.config,
  configSchema: input.configSchema === undefined ? before.configSchema : input.configSchema
})

export const InstallationsLive = group(ResourceApi, "installations", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers
    const { compute } = yield* Computations

    const made = Effect.fnUntraced(function* (
      tx: Tx,
      caller: Principal,
      input: CreateInstallation
    ): Effect.fn.Return<Installation, Failure> {
      const customerId = yield* customerOf(tx, caller, input.customerId)
      const { config = {}, configSchema = null, status = "active" } = input
      const now = yield* nowText
      return {
        id: identifiers.next("inst"),
        organisationId: caller.organisationId,
        customerId,
        integration: input.integration,
        workflowIds: yield* workflowsOf(tx, caller, customerId, input.workflowIds ?? []),
        connections: yield* connectionsOf(tx, caller, customerId, input.connections ?? {}),
        config,
        configSchema,
        status,
        createdBy: caller.key.id,
        createdAt: now,
        updatedAt: now,
        uninstalledAt: null,
        version: 1
      }
    })

    const changed = Effect.fnUntraced(function* (
      tx: Tx,
      caller: Principal,
      before: Installation,
      input: UpdateInstallation
    ): Effect.fn.Return<Installation, Failure> {
      const { connections, workflowIds, ...rest } = input
      const { config, configSchema } = configAfter(before, input)
      return {
        ...before,
        workflowIds:
          workflowIds === undefined
            ? before.workflowIds
            : yield* workflowsOf(tx, caller, before.customerId, workflowIds),
        connections:
          connections === undefined
            ? before.connections
            : yield* connectionsOf(tx, caller, before.customerId, connections),
        config,
        configSchema,
        status: rest.status ?? before.status,
        updatedAt: yield* nowText,
        version: before.version + 1
      }
    })

    /**
     * Fails when another active installation is more than the plan allows. One that needs a connection counts: it is
     * active again as soon as that is there. Exact: whoever makes one waits for whoever does so now.
     */
    const withinPlan = Effect.fnUntraced(function* (tx: Tx, { plan }: Principal): Effect.fn.Return<void, Failure> {
      const limit = plan.activeIntegrations
      if (limit === null) return
      yield* tx.hold("active_integrations")
      const used = yield* tx.installations.count({ status: "active" })
      if (used >= limit) return yield* new PlanLimitReached({ dimension: "active_integrations", limit, used })
    })

    /** `status`: as it is shown. */
    const tell = (
      tx: Tx,
      { customerId, id, integration, organisationId, updatedAt }: Installation,
      happened: "created" | "updated" | "removed",
      status: InstallationStatus
    ) =>
      tx.tell({
        id: identifiers.next("evt"),
        organisationId,
        type: `installation.${happened}`,
        subject: id,
        customerId,
        payload: { installationId: id, integration, customerId, status },
        at: updatedAt
      })

    /** The installation, to be changed: it is installed, and at the version that the client expects. */
    const held = Effect.fnUntraced(function* (tx: Tx, exchange: Exchange, id: string, version: number | undefined) {
      const found = yield* findInstallation(tx, exchange.caller, id, true)
      if (found.status === "uninstalled") return yield* uninstalled()
      yield* checkVersion(exchange, version, found.version)
      return found
    })

    /** Checks the configuration that an update leads to. Answers the version that it was checked against, if it was. */
    const checkChangedConfig = Effect.fnUntraced(function* (exchange: Exchange, id: string, input: UpdateInstallation) {
      if (input.config === undefined && input.configSchema === undefined) return undefined
      const before = yield* view(exchange, (tx) => findInstallation(tx, exchange.caller, id))
      const { config, configSchema } = configAfter(before, input)
      yield* checkConfig(compute, exchange.caller, configSchema, config)
      return before.version
    })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { customer_id, integration, q, status } = urlParams
          return yield* view(exchange, (tx) =>
            Effect.gen(function* () {
              const page = yield* listing.list(tx.installations, urlParams, {
                where: {
                  ...(yield* customersOf(tx, exchange.caller, customer_id)),
                  ...(integration === undefined ? {} : { integration }),
                  status: storedStatus(status)
                },
                ...(q === undefined ? {} : { search: { text: q, in: ["integration"] } })
              })
              const data = yield* shownAll(tx, page.data)
              return { ...page, data: status === undefined ? data : data.filter((one) => one.status === status) }
            })
          )
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          yield* checkConfig(compute, exchange.caller, payload.configSchema ?? null, payload.config ?? {})
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const installation = yield* made(tx, exchange.caller, payload)
              if (installation.status === "active") yield* withinPlan(tx, exchange.caller)
              yield* tx.installations.insert(installation)
              const value = yield* shown(tx, installation)
              yield* tell(tx, installation, "created", value.status)
              return { value, resource: resourceOf(installation), after: value }
            })
          )
          return { data }
        })
      )
      .handle("get", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const find = (tx: Tx) => findInstallation(tx, exchange.caller, path.inst)
          return { data: yield* view(exchange, (tx) => Effect.flatMap(find(tx), (found) => shown(tx, found))) }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const checked = yield* checkChangedConfig(exchange, path.inst, payload)
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const before = yield* held(tx, exchange, path.inst, payload.version)
              if (checked !== undefined && checked !== before.version) return yield* versionMismatch()
              const after = yield* changed(tx, exchange.caller, before, payload)
              if (before.status !== "active" && after.status === "active") yield* withinPlan(tx, exchange.caller)
              const seen = yield* shown(tx, before)
              yield* tx.installations.update(after)
              const value = yield* shown(tx, after)
              yield* tell(tx, after, "updated", value.status)
              return { value, resource: resourceOf(after), before: seen, after: value }
            })
          )
          return { data }
        })
      )
      .handle("uninstall", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const before = yield* findInstallation(tx, exchange.caller, path.inst, true)
              if (before.status === "uninstalled") return yield* new NotFound({ what: "installation" })
              yield* checkVersion(exchange, undefined, before.version)
              const now = yield* nowText
              const after: Installation = {
                ...before,
                status: "uninstalled",
                updatedAt: now,
                uninstalledAt: now,
                version: before.version + 1
              }
              const seen = yield* shown(tx, before)
              yield* tx.installations.update(after)
              const value = yield* shown(tx, after)
              yield* tell(tx, after, "removed", value.status)
              return { value: null, resource: resourceOf(after), before: seen, after: null }
            })
          )
        })
      )
  })
)
