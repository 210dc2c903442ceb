/** What of a saved trigger is valid, but does not do what it seems to. Contract: trigger record. */
import { Effect, Option } from "effect"
import { didYouMean } from "../../../domain/ClosestName.js"
import type { Detail } from "../../../domain/Failure.js"
import { isNeverEmitted, outboundEventTypes, startsTriggers } from "../../../domain/delivery/OutboundEvent.js"
import type { TriggerView } from "../../../domain/trigger/TriggerView.js"
import type { Connectors } from "../../ports/connection/Connectors.js"
import type { Principal } from "../Caller.js"

const noSingleResult: Detail = {
  path: "webhook.respond",
  code: "SEVERAL_ROUTES",
  message: "a delivery that several routes match is answered 202, with no run's result: give each its own trigger"
}

const neverEmitted = (message: string): Detail => ({ path: "event.type", code: "NEVER_EMITTED", message })

const startingTypes = Object.keys(outboundEventTypes).filter(startsTriggers)

const ofService = (type: string) =>
  neverEmitted(
    Object.hasOwn(outboundEventTypes, type)
      ? "events of this type are for webhook endpoints and start no trigger, since the run that they start would emit them again"
      : `no event of this type starts triggers, unless you inject it: docs/events.md lists the service's types.${didYouMean(type, startingTypes)}`
  )

const ofConnector = (slug: string) =>
  neverEmitted(
    `events of the connector ${slug} start triggers of the type app_event; one of this type hears what POST /api/v1/events injects`
  )

/** The warnings of a trigger for events of this type, whether it is saved itself or described by a flow. */
export const eventWarnings = Effect.fnUntraced(function* (
  { find }: Pick<Connectors["Type"], "find">,
  { organisationId }: Pick<Principal, "organisationId">,
  type: string
): Effect.fn.Return<ReadonlyArray<Detail>> {
  if (isNeverEmitted(type)) return [ofService(type)]
  const slug = /^([^.*]+)\./.exec(type)?.[1]
  if (slug === undefined) return []
  // The trigger may be saved already: a database that went away since takes a warning, and not the answer.
  const isOfConnector = Option.isSome(yield* Effect.orElseSucceed(find(organisationId, slug), Option.none))
  return isOfConnector ? [ofConnector(slug)] : []
})

/** The warnings of a trigger that was saved. */
export const triggerWarnings = (
  connectors: Pick<Connectors["Type"], "find">,
  caller: Principal,
  { event, routes, webhook }: Pick<TriggerView, "event" | "routes" | "webhook">
): Effect.Effect<ReadonlyArray<Detail>> =>
  Effect.map(event === null ? Effect.succeed([]) : eventWarnings(connectors, caller, event.type), (warnings) => [
    ...warnings,
    ...(webhook?.respond === "result" && routes.length > 1 ? [noSingleResult] : [])
  ])
