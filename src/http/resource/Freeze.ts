/** A workflow's bindings as they are published: with the versions that the actions have now. */
import { Effect, Option } from "effect"
import { Connectors } from "../../actors/ports/Connectors.js"
import { type BoundAction, bindingsOf, frozen, slugsOf } from "../../domain/connector/Binding.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"

export const makeFreeze = Effect.gen(function* () {
  const connectors = yield* Connectors

  /** The connector that a name in code stands for. */
  const named = Effect.fnUntraced(function* (
    organisation: OrganisationId,
    written: string
  ): Effect.fn.Return<ConnectorDefinition | undefined, Unavailable> {
    for (const slug of slugsOf(written)) {
      const found = yield* connectors.current(organisation, slug)
      if (Option.isSome(found)) return found.value
    }
    return undefined
  })

  const freeze = (organisation: OrganisationId, binding: BoundAction) =>
    Effect.map(named(organisation, binding.connector), (definition) => ({ ...frozen(binding, definition) }))

  return (organisation: OrganisationId, stored: Json): Effect.Effect<Json, Unavailable> =>
    Effect.forEach(bindingsOf(stored), (binding) => freeze(organisation, binding))
})
