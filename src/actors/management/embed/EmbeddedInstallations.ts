/**
 * Use cases of an embed session's installations: of the integrations of its widget, for its customer. Workflows and the form of
 * the settings are the widget's; what the form has no field for, and connections that the integration does not name, stay as
 * the organisation has set them. Contract: embed.
 */
import { Effect } from "effect"
import type { EmbeddedPerson } from "../../../domain/access/Caller.js"
import { type Failure, invalid, NotFound, refuseWith } from "../../../domain/Failure.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import {
  type ChangeInstallation,
  embeddedInstallation,
  type InstallIntegration,
  type OfferedIntegration
} from "../../../domain/organisation/EmbeddedInstallation.js"
import { type Installation, type InstallationView, sizeMistake } from "../../../domain/organisation/Installation.js"
import { closedForm, withFormValues } from "../../../domain/organisation/WidgetForm.js"
import { Computations } from "../../ports/Computations.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { checkConfig, findInstallation, installationListFilter, viewsOf } from "../organisation/InstallationRecords.js"
import { Installations } from "../organisation/Installations.js"
import { listQuery, Pages } from "../Pages.js"
import { embeddedOf, featuresOfSession } from "./SessionWidget.js"

export const EmbeddedInstallationList = listQuery({})
type EmbeddedInstallationList = typeof EmbeddedInstallationList.Type

type ConnectionIds = { readonly [connector: string]: string }

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const pages = yield* Pages
  const installations = yield* Installations
  const { compute } = yield* Computations

  const shown = ({ configSchema, connectors }: OfferedIntegration, view: InstallationView) => {
    const connections = Object.entries(view.connections).filter(([slug]) => connectors.includes(slug))
    return embeddedInstallation(configSchema, { ...view, connections: Object.fromEntries(connections) })
  }

  /** Newest first. */
  const list = (context: CallContext, params: EmbeddedInstallationList) =>
    read(context, function* (tx) {
      const { caller } = context
      const { customerId } = yield* embeddedOf(caller)
      const { integrations } = yield* featuresOfSession(tx, caller)
      const page = yield* pages.list(tx.installations, params, {
        where: {
          customerId,
          status: ["active", "paused"],
          integration: integrations.map(({ slug }) => slug)
        },
        only: installationListFilter(caller),
        searchIn: ["integration"] as const
      })
      const views = yield* viewsOf(tx, page.data)
      return {
        ...page,
        data: views.flatMap((view) =>
          integrations.filter(({ slug }) => slug === view.integration).map((one) => shown(one, view))
        )
      }
    })

  /** The integration of the session's widget. */
  const offeredBy = (tx: Tx, caller: Principal, integration: string) =>
    Effect.map(featuresOfSession(tx, caller), ({ integrations }) =>
      integrations.find(({ slug }) => slug === integration)
    )

  /** An installation of an integration of the widget; others are as good as absent. */
  const findOffered = (context: CallContext, id: string) =>
    read(context, function* (tx) {
      const { caller } = context
      const before = yield* findInstallation(tx, caller, id)
      const offered = yield* offeredBy(tx, caller, before.integration)
      if (offered === undefined || before.status === "uninstalled") return yield* new NotFound({ what: "installation" })
      return { before, offered }
    })

  /** Fails unless each belongs to a connector of the integration, and to the session's person or to no person. */
  const checkConnections = (
    context: CallContext,
    { userId }: Pick<EmbeddedPerson, "userId">,
    { connectors }: OfferedIntegration,
    sent: ConnectionIds,
    before: ConnectionIds
  ) =>
    read(context, function* (tx) {
      const foreign = Object.keys(sent).find((slug) => !connectors.includes(slug))
      if (foreign !== undefined)
        return yield* invalid(
          `connections.${foreign}`,
          "NOT_OFFERED",
          `is not one of the integration's connectors: ${connectors.join(", ")}`
        )
      for (const slug of Object.keys(sent)) yield* refuseWith(outOfScope(context.caller, "connector", slug))
      const added = Object.entries(sent).filter(([slug, id]) => before[slug] !== id)
      const found = yield* tx.connections.list({
        where: { id: added.map(([, id]) => id as ConnectionId) }, // unchecked text from the request
        limit: Math.max(1, added.length)
      })
      const others = added.find(([, id]) => {
        const person = found.find((one) => one.id === id)?.userId ?? null
        return person !== null && person !== userId
      })
      if (others !== undefined)
        return yield* invalid(`connections.${others[0]}`, "NOT_FOUND", "names no connection of this customer")
    })

  /** Fails unless the form of the integration allows the settings. */
  const checkSettings = (caller: Principal, { configSchema }: OfferedIntegration, config: JsonObject) =>
    checkConfig(compute, caller, closedForm(configSchema), config)

  const get = (context: CallContext, id: string) =>
    Effect.flatMap(findOffered(context, id), ({ offered }) =>
      Effect.map(installations.get(context, id), (view) => shown(offered, view))
    )

  const create = Effect.fnUntraced(function* (context: CallContext, input: InstallIntegration) {
    const { caller } = context
    const person = yield* embeddedOf(caller)
    const { config = {}, connections = {}, integration } = input
    const offered = yield* read(context, (tx) => offeredBy(tx, caller, integration))
    if (offered === undefined)
      return yield* invalid("integration", "NOT_OFFERED", "is not one of the integrations of this session's widget")
    yield* checkConnections(context, person, offered, connections, {})
    yield* checkSettings(caller, offered, config)
    const { configSchema, workflowIds } = offered
    const { customerId } = person
    return shown(offered, yield* installations.create(context, { ...input, customerId, workflowIds, configSchema }))
  })

  /** The parts that are sent, beside those that the session neither sees nor changes. */
  const mergedParts = (
    { configSchema, connectors }: OfferedIntegration,
    before: Pick<Installation, "config" | "connections">,
    { config, connections }: Pick<ChangeInstallation, "config" | "connections">
  ) => {
    const kept = Object.entries(before.connections).filter(([slug]) => !connectors.includes(slug))
    return {
      ...(config === undefined ? {} : { config: withFormValues(configSchema, before.config, config), configSchema }),
      ...(connections === undefined ? {} : { connections: { ...Object.fromEntries(kept), ...connections } })
    }
  }

  const change = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    input: ChangeInstallation
  ): Effect.fn.Return<ReturnType<typeof shown>, Failure> {
    const person = yield* embeddedOf(context.caller)
    const { before, offered } = yield* findOffered(context, id)
    if (input.connections !== undefined)
      yield* checkConnections(context, person, offered, input.connections, before.connections)
    if (input.config !== undefined) yield* checkSettings(context.caller, offered, input.config)
    const { config: _config, connections: _connections, version = before.version, ...rest } = input
    const parts = mergedParts(offered, before, input)
    // A form that allows more members keeps those of earlier requests, which together may be too many.
    const mistake = parts.config === undefined ? undefined : sizeMistake(parts.config)
    if (mistake !== undefined) return yield* invalid("config", "OUT_OF_RANGE", mistake)
    const changes = { ...rest, ...parts, version }
    return shown(offered, yield* installations.update(context, id, changes))
  })

  const uninstall = (context: CallContext, id: string) =>
    Effect.zipRight(findOffered(context, id), installations.uninstall(context, id))

  return { list, get, create, change, uninstall }
})

export class EmbeddedInstallations extends Effect.Service<EmbeddedInstallations>()("svc/EmbeddedInstallations", {
  effect: make
}) {}
