/** Checks the steps of a flow against the organisation's connectors, and compiles them in a computing worker. */
import { Clock, Effect, Option } from "effect"
import { possibleSlugs } from "../../../domain/connector/Binding.js"
import { findAction } from "../../../domain/connector/Definition.js"
import type { FlowUses, KnownConnector } from "../../../domain/flow/Checks.js"
import { type Detail, NotFound, refuseWith, ValidationFailed } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import { Computations, type ComputationTable, type TooCostly, tooCostlyDetail } from "../../ports/Computations.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import type { Principal } from "../Caller.js"
import { makeFlowPeople } from "./FlowPeople.js"
import { makeFlowReferences } from "./FlowReferences.js"
import { codeRefusal } from "./WorkflowAuthor.js"

/** The refusal of steps with these mistakes. */
export const stepsRefusal = (mistakes: ReadonlyArray<Detail>): ValidationFailed => {
  const details = mistakes.map((one) => ({ ...one, path: `spec.${one.path}` }))
  const isCycle = details.every(({ code }) => code === "CYCLE_DETECTED")
  const [first] = details
  return new ValidationFailed({
    code: isCycle ? "CYCLE_DETECTED" : "VALIDATION_FAILED",
    message: first === undefined ? "spec: is not a flow" : `${first.path}: ${first.message}`,
    details
  })
}

const costlySteps = (error: TooCostly) => Effect.fail(stepsRefusal([{ ...tooCostlyDetail("steps", error) }]))

/** `isCompared`: with the order of the first generation. `isStored`: saved before, by somebody who was allowed to write code. */
export interface FlowOptions {
  readonly isCompared?: boolean
  readonly isStored?: boolean
}

const noReferences = { mistakes: [], warnings: [] }

/** Makes the functions that compile steps, and one step for its test; both fail with all mistakes in the flow. */
export const makeFlowCompiler = Effect.gen(function* () {
  const { compute } = yield* Computations
  const connectors = yield* Connectors
  const warnOfPeople = yield* makeFlowPeople
  const checkReferences = yield* makeFlowReferences

  /** The connector that a flow names, with the versions of its actions that can be called. */
  const findKnown = Effect.fnUntraced(function* (organisation: OrganisationId, name: string, uses: FlowUses) {
    for (const slug of possibleSlugs(name)) {
      const found = yield* connectors.find(organisation, slug)
      if (Option.isNone(found)) continue
      const actions: Record<string, KnownConnector["actions"][string]> = {}
      for (const { action, connector, version } of uses.actions) {
        const newest = connector === name ? findAction(found.value, action) : undefined
        if (newest === undefined) continue
        const versions = new Set([newest.version, ...(actions[action]?.versions ?? [])])
        if (version !== null && !versions.has(version)) {
          const pinned = yield* connectors.withAction(organisation, slug, { name: action, version, bound: false })
          if (Option.isSome(pinned)) versions.add(version)
        }
        actions[action] = { versions: [...versions], readOnly: newest.readOnly === true }
      }
      return { kind: found.value.kind, actions } satisfies KnownConnector
    }
    return undefined
  })

  const findAll = Effect.fnUntraced(function* (organisation: OrganisationId, uses: FlowUses) {
    const known: Record<string, KnownConnector> = {}
    for (const name of new Set(uses.actions.map(({ connector }) => connector))) {
      const found = yield* findKnown(organisation, name, uses)
      if (found !== undefined) known[name] = found
    }
    return known
  })

  const usesOf = (organisation: OrganisationId, spec: JsonObject) =>
    Effect.catchTag(compute("readFlow", organisation, spec), "TooCostly", costlySteps)

  const compileFlow = Effect.fnUntraced(function* (
    caller: Principal,
    spec: JsonObject,
    name: string,
    { isCompared = false, isStored = false }: FlowOptions
  ) {
    const { organisationId } = caller
    const uses = yield* usesOf(organisationId, spec)
    yield* refuseWith(uses.hasCode && !isStored ? codeRefusal(caller) : undefined)
    const at = yield* Clock.currentTimeMillis
    const request = { at, name, spec, isCompared, connectors: yield* findAll(organisationId, uses) }
    const compiled = yield* Effect.catchTag(compute("compileFlow", organisationId, request), "TooCostly", costlySteps)
    // Of stored content its reader may not reach what its author did.
    const references = isStored ? noReferences : yield* checkReferences(caller, spec, uses)
    if (!compiled.ok) return yield* stepsRefusal([...compiled.mistakes, ...references.mistakes])
    if (references.mistakes.length > 0) return yield* stepsRefusal(references.mistakes)
    const warnings = [
      ...compiled.value.warnings,
      ...(yield* warnOfPeople(organisationId, uses)),
      ...references.warnings
    ]
    return { ...compiled.value, warnings }
  })

  /** `step`: the name of one step. Fails with `NotFound` if the flow has no such step. */
  const compileStep = Effect.fnUntraced(function* (
    { organisationId }: Principal,
    {
      spec,
      ...request
    }: Pick<ComputationTable["compileStep"]["input"], "name" | "step" | "isRehearsed"> & {
      readonly spec: JsonObject
    }
  ) {
    const connectors = yield* findAll(organisationId, yield* usesOf(organisationId, spec))
    const compiled = yield* Effect.catchTag(
      compute("compileStep", organisationId, { ...request, spec, connectors }),
      "TooCostly",
      costlySteps
    )
    if (compiled.ok) return compiled.value
    if (compiled.mistakes.some(({ code, path }) => code === "UNKNOWN_STEP" && path === "steps"))
      return yield* new NotFound({ what: "step" })
    return yield* stepsRefusal(compiled.mistakes)
  })

  return { compileFlow, compileStep }
})
