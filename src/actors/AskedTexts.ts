/** Finds where the workflows of triggers ask for integers beyond 2^53 as text. Call it only for values that may have some. */
import { Effect, Option } from "effect"
import { type AskedText, askedTexts, everyText, mostContracts } from "../domain/AskedTexts.js"
import type { Unavailable } from "../domain/Failure.js"
import type { JsonObject } from "../domain/Json.js"
import type { Trigger, TriggerRoute } from "../domain/trigger/Trigger.js"
import { Runnables } from "./ports/run/Runnables.js"

const lookUpsAtOnce = 4

/** The routes of triggers to different workflows and environments, as many as contracts are looked at. */
const routesOf = (triggers: ReadonlyArray<Trigger>): ReadonlyArray<TriggerRoute> => {
  const found = new Map<string, TriggerRoute>()
  for (const { routes } of triggers)
    for (const route of routes) {
      if (found.size >= mostContracts) return [...found.values()]
      found.set(`${route.workflowId} ${route.environment}`, route)
    }
  return [...found.values()]
}

/** Makes the function that says where triggers ask for integers beyond 2^53 as text; `undefined`: nowhere. */
export const makeAskedTexts = Effect.map(Runnables, (runnables) => {
  const contractOf = ({ customerId, organisationId }: Trigger, { environment, workflowId }: TriggerRoute) =>
    runnables.inEnvironment(organisationId, workflowId, environment, customerId).pipe(
      Effect.map(({ inputContract }) => Option.fromNullable(inputContract)),
      // Its run will not start either.
      Effect.catchTags({ NotFound: () => Effect.succeedNone, WorkflowUnavailable: () => Effect.succeedNone })
    )

  return Effect.fnUntraced(function* (
    triggers: ReadonlyArray<Trigger>,
    /** Leads from the body to the payload of an event, as a schema. */
    wrap: (contract: JsonObject) => JsonObject = (contract) => contract
  ): Effect.fn.Return<AskedText | undefined, Unavailable> {
    const [first] = triggers
    if (first === undefined) return undefined
    if (triggers.some(({ webhook }) => webhook?.bigIntegers === "text")) return everyText
    const contracts = yield* Effect.forEach(routesOf(triggers), (route) => contractOf(first, route), {
      concurrency: lookUpsAtOnce
    })
    return askedTexts(contracts.flatMap((found) => (Option.isNone(found) ? [] : [wrap(found.value)])))
  })
})
