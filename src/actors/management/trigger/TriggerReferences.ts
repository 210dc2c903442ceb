/** Checks what a trigger refers to: workflows, environments, secrets, connectors, their events, and connections. */
import { didYouMean } from "../../../domain/ClosestName.js"
import { Effect, Option } from "effect"
import type { EventDefinition } from "../../../domain/connector/Webhook.js"
import {
  ConnectionRequired,
  type Failure,
  invalid,
  refuseWith,
  type Unavailable,
  type ValidationFailed
} from "../../../domain/Failure.js"
import type { CustomerId, RouteId, WorkflowId } from "../../../domain/Ids.js"
import {
  type AppEventChange,
  type AppEventSettings,
  type RouteInput,
  type Trigger,
  type TriggerRoute
} from "../../../domain/trigger/Trigger.js"
import { appEventSettings } from "../../../domain/trigger/TriggerChanges.js"
import type { Connectors } from "../../ports/connection/Connectors.js"
import type { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal } from "../Caller.js"
import { findConnection } from "../connection/ConnectionRecords.js"
import { findEnvironment } from "../organisation/EnvironmentRecords.js"

/**
 * The routes of a body. Each leads to a workflow of the caller's workspace that the trigger's customer may run; `before`:
 * the routes of the stored trigger, whose ids are kept and whose workflows are not checked again.
 */
export const checkRoutes = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId | null,
  routes: ReadonlyArray<RouteInput>,
  nextId: Identifiers["Type"]["next"],
  before: ReadonlyArray<TriggerRoute> = []
): Effect.fn.Return<ReadonlyArray<TriggerRoute>, Failure> {
  const checked: Array<TriggerRoute> = []
  for (const [at, route] of routes.entries()) {
    const path = `routes[${at}]`
    const stored = before.find(({ id }) => id === route.id)
    if (route.id !== undefined && (stored === undefined || checked.some(({ id }) => id === route.id)))
      return yield* invalid(`${path}.id`, "NOT_FOUND", "must be the id of one of the trigger's routes, or be absent")
    const environment = yield* checkEnvironment(tx, caller, route.environment, stored, path)
    checked.push({
      id: stored?.id ?? (nextId("rte") satisfies RouteId),
      workflowId: yield* checkWorkflow(tx, caller, customerId, route.workflowId, stored, path),
      environment,
      filter: route.filter ?? null,
      headers: lowerCaseNames(route.headers ?? {}),
      payload: route.payload ?? null
    })
  }
  return checked
})

/** Fails unless the workspace has a secret with this name. */
export const checkSecretName = Effect.fnUntraced(function* (tx: Tx, { spaceId }: Principal, name: string | undefined) {
  if (name !== undefined && (yield* tx.secrets.count({ spaceId, name, deletedAt: null })) === 0)
    return yield* invalid("webhook.verify.secretName", "NOT_FOUND", "names no secret of the workspace: store it first")
})

/** The event in the connector's newest published version; fails if it is not there, or takes no arguments but gets some. */
export const checkEvent = Effect.fnUntraced(function* (
  { find, slugs }: Pick<Connectors["Type"], "find" | "slugs">,
  caller: Principal,
  { args, connector, event }: AppEventChange
): Effect.fn.Return<EventDefinition, ValidationFailed | Unavailable> {
  const found = Option.getOrUndefined(yield* find(caller.organisationId, connector))
  if (found === undefined)
    return yield* invalid(
      "appEvent.connector",
      "NOT_FOUND",
      `names no connector with a published version.${didYouMean(connector, yield* slugs(caller.organisationId))}`
    )
  const definition = found.events.find(({ id }) => id === event)
  if (definition === undefined) {
    const ids = found.events.map(({ id }) => id)
    return yield* invalid(
      "appEvent.event",
      "NOT_FOUND",
      ids.length === 0
        ? "the connector has no events"
        : `must be an event of the connector.${didYouMean(event, ids)} It has ${ids.slice(0, 20).join(", ")}`
    )
  }
  if (definition.delivery === "poll" && Object.keys(args ?? {}).length > 0)
    return yield* invalid(
      "appEvent.args",
      "NOT_ALLOWED",
      "must be absent or empty: the event is polled, once for all triggers"
    )
  return definition
})

/** The settings of an app event, if its connection, or at least one of the connector's, is active. */
export const checkAppEvent = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId | null,
  input: AppEventChange,
  { delivery }: Pick<EventDefinition, "delivery">
): Effect.fn.Return<AppEventSettings, Failure> {
  const { connector, connectionId } = input
  if (connectionId === null || connectionId === undefined) {
    const customers = customerId ?? (caller.customers === "all" ? undefined : [...caller.customers])
    const active = yield* tx.connections.count({
      connector,
      status: "active",
      ...(customers === undefined ? {} : { customerId: customers })
    })
    return active === 0 ? yield* connectionRequired(connector) : appEventSettings(input, null, delivery)
  }
  const connection = yield* findConnection(tx, caller, connectionId).pipe(
    Effect.catchTag("NotFound", () => invalid("appEvent.connectionId", "NOT_FOUND", "names no connection"))
  )
  if (connection.connector !== connector || (customerId !== null && connection.customerId !== customerId))
    return yield* invalid(
      "appEvent.connectionId",
      "INVALID_VALUE",
      "must be a connection of the trigger's customer to the trigger's connector"
    )
  return connection.status === "active"
    ? appEventSettings(input, connection.id, delivery)
    : yield* connectionRequired(connector)
})

const connectionRequired = (connector: string) =>
  new ConnectionRequired({ connector, message: `there is no active connection to ${connector}: connect it first` })

const checkEnvironment = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  input: string | undefined,
  stored: TriggerRoute | undefined,
  path: string
): Effect.fn.Return<string, Failure> {
  const slug = (input ?? stored?.environment ?? caller.organisation.defaultEnvironment).toLowerCase()
  if (slug !== stored?.environment) yield* findEnvironment(tx, caller, slug, `${path}.environment`)
  const outside = outOfScope(caller, "environment", slug)
  return outside === undefined ? slug : yield* outside
})

const checkWorkflow = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: CustomerId | null,
  input: string,
  stored: TriggerRoute | undefined,
  path: string
): Effect.fn.Return<WorkflowId, Failure> {
  const id = input as WorkflowId // unchecked text from the request
  yield* refuseWith(outOfScope(caller, "workflow", id))
  if (stored?.workflowId === id) return id
  const found = Option.getOrUndefined(yield* tx.workflows.find({ id, spaceId: caller.spaceId, deletedAt: null }))
  if (found === undefined || (found.customerId !== null && found.customerId !== customerId))
    return yield* invalid(
      `${path}.workflowId`,
      "NOT_FOUND",
      "names no workflow of the workspace that the trigger's customer may run"
    )
  return found.status === "archived"
    ? yield* invalid(`${path}.workflowId`, "INVALID_VALUE", "names an archived workflow: publish it again first")
    : id
})

const lowerCaseNames = (headers: Trigger["routes"][number]["headers"]) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
