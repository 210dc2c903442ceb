/**
 * What an embed session may start: the workflows of its widget's actions, and those of the integrations of its widget that
 * its customer has installed. Contract: embed.
 */
import { Effect } from "effect"
import type { EmbeddedPerson } from "../../../domain/access/Caller.js"
import { type Failure, InvalidState, NotFound } from "../../../domain/Failure.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import { type Installation, installationOfEvent, ownConnections } from "../../../domain/organisation/Installation.js"
import type { WidgetFeatures } from "../../../domain/organisation/Widget.js"
import { closedForm } from "../../../domain/organisation/WidgetForm.js"
import type { Tx } from "../../ports/Records.js"
import type { CustomerContext } from "../access/CustomerContext.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { embeddedOf, featuresOfSession } from "./SessionWidget.js"

/** How a workflow is started: with which input, connections and settings. */
export interface OfferedStart extends Pick<CustomerContext, "connections" | "installation"> {
  /** JSON Schema of the input. */
  readonly form: JsonObject
}

/** The installations of the session's customer that its widget offers; `workflow`: those that list it. */
export const offeredInstallations = (
  tx: Tx,
  { customerId }: Pick<EmbeddedPerson, "customerId">,
  { integrations }: WidgetFeatures,
  {
    limit,
    statuses = ["active", "paused"],
    workflow
  }: {
    readonly limit: number
    readonly statuses?: ReadonlyArray<"active" | "paused">
    readonly workflow?: WorkflowId
  }
): Effect.Effect<ReadonlyArray<Installation>, Failure> =>
  integrations.length === 0
    ? Effect.succeed([])
    : tx.installations.list({
        where: { customerId, status: statuses, integration: integrations.map(({ slug }) => slug) },
        ...(workflow === undefined ? {} : { some: [{ member: "workflowIds", part: "items", among: [workflow] }] }),
        limit
      })

/** One form, or any of several. */
const anyOf = (forms: ReadonlyArray<JsonObject>): JsonObject => {
  const [first = closedForm(null), ...others] = forms
  return others.length === 0 ? first : { anyOf: forms }
}

const make = Effect.gen(function* () {
  const { read } = yield* Changes

  /**
   * How the session starts the workflow. The active installation that lists it gives the run its connections and settings.
   * Fails with `NotFound` if the workflow is not offered; with `InvalidState` if what lists it is paused, or several do.
   */
  const find = (context: CallContext, workflow: WorkflowId): Effect.Effect<OfferedStart, Failure> =>
    read(context, function* (tx) {
      const embedded = yield* embeddedOf(context.caller)
      context.customerId = embedded.customerId
      const features = yield* featuresOfSession(tx, context.caller)
      const actions = features.actions.filter(({ workflowId }) => workflowId === workflow)
      const listing = (status: "active" | "paused", limit: number) =>
        offeredInstallations(tx, embedded, features, { limit, statuses: [status], workflow })
      const active = yield* listing("active", 2)
      const found = active.length > 0 ? active : yield* listing("paused", 1)
      if (actions.length === 0 && found.length === 0) return yield* new NotFound({ what: "workflow" })
      const chosen = installationOfEvent(found, null)
      if (chosen !== null && "code" in chosen)
        return yield* new InvalidState({
          state: active.length > 0 ? "ambiguous" : "paused",
          message:
            active.length > 0
              ? "several integrations that are installed run this workflow: pause all but one"
              : "the integration is paused: switch it on first"
        })
      return {
        form: anyOf(actions.map(({ inputSchema }) => closedForm(inputSchema))),
        installation: chosen === null ? null : { id: chosen.id, config: chosen.config },
        connections: chosen === null ? null : ownConnections(chosen)
      }
    })

  return { find }
})

export class OfferedStarts extends Effect.Service<OfferedStarts>()("svc/OfferedStarts", { effect: make }) {}
