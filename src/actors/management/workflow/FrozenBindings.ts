/** Freezes a workflow's bindings for a published version: each with the action's current version. */
import { Effect, Option } from "effect"
import { type BoundAction, readBindings, freezeBinding, possibleSlugs } from "../../../domain/connector/Binding.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import { Connectors } from "../../ports/connection/Connectors.js"

export const makeFreezeBindings = Effect.map(Connectors, (connectors) => {
  /** The connector with this name in code. */
  const findNamed = Effect.fnUntraced(function* (organisation: OrganisationId, slugInCode: string) {
    for (const slug of possibleSlugs(slugInCode)) {
      const found = yield* connectors.findLatest(organisation, slug)
      if (Option.isSome(found)) return found.value
    }
    return undefined
  })

  const freeze = (organisation: OrganisationId, binding: BoundAction) =>
    Effect.map(findNamed(organisation, binding.connector), (definition) => ({ ...freezeBinding(binding, definition) }))

  return (organisation: OrganisationId, bindings: Json): Effect.Effect<Json, Unavailable> =>
    Effect.forEach(readBindings(bindings), (binding) => freeze(organisation, binding))
})
