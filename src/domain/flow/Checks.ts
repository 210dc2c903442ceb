/**
 * Checks a document as a flow, and reports all mistakes with their paths: unknown names, references out of scope, cycles,
 * limits. What a flow uses of connectors is looked up by the caller. Contract: workflow record.
 */
import { Either } from "effect"
import { detailsOf } from "../Issues.js"
import { isObject, type Json, type JsonObject } from "../Json.js"
import { guest } from "../Limits.js"
import { mappingReferences } from "../mapping/MappingChecks.js"
import { templateReferences } from "../expression/References.js"
import { decodeStrict } from "../SchemaIssues.js"
import { camelSlug } from "../connector/Binding.js"
import { type Ordering, orderOf } from "./Dependencies.js"
import { type Flow, flowOf, isLoopBody, ownersOf } from "./Flow.js"
import { presentGeneration } from "./Generation.js"
import { scheduleMistakes } from "../trigger/Schedule.js"
import { eventTypeMistakes } from "../trigger/TriggerChecks.js"
import { customAuthMistakes } from "./CustomAuth.js"
import { describedTrigger } from "./FlowTrigger.js"
import { FlowSpec, type FlowTrigger } from "./Spec.js"
import { stepTypes } from "./StepTypes.js"
import type { Mistakes } from "../expression/Checks.js"
import type { StepType } from "./StepType.js"

/** What the check needs to know of a connector: its kind, and its actions' versions. */
export interface KnownConnector {
  readonly kind: string
  readonly actions: {
    readonly [name: string]: { readonly versions: ReadonlyArray<number>; readonly readOnly: boolean }
  }
}

/** The connectors that a flow names, by the names that it uses; absent: there is no such connector. */
export type KnownConnectors = { readonly [name: string]: KnownConnector }

/** A flow without mistakes. */
export interface CheckedFlow extends Omit<Ordering, "mistakes"> {
  readonly flow: Flow
  /** It waits for people or time: its version runs as Long. */
  readonly isLong: boolean
}

const decode = decodeStrict(FlowSpec)

/** What a document uses, to be looked up before it is checked. */
export interface FlowUses {
  readonly actions: ReadonlyArray<{
    readonly connector: string
    readonly action: string
    readonly version: number | null
  }>
  /** People whom steps ask. */
  readonly people: ReadonlyArray<{ readonly path: string; readonly name: string }>
  /** What starts it. */
  readonly trigger: FlowTrigger | null
  /** It has code, which not every organisation may write. */
  readonly hasCode: boolean
}

/** Whether the settings of any step hold code. The document may be a flow with mistakes. */
const holdsCode = (document: Json): boolean => {
  const open: Array<Json> = [document]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== "object" || one === null) continue
    if (isObject(one) && isObject(one["config"] ?? null) && Object.hasOwn(one["config"] as JsonObject, "code"))
      return true
    for (const inner of Object.values(one)) open.push(inner)
  }
  return false
}

/** What a document of any form uses; of one whose form is wrong, whether it has code. */
export const flowUses = (document: Json, types = stepTypes): FlowUses =>
  Either.match(
    Either.flatMap(decode(document), (spec) => flowOf(spec, types)),
    {
      onLeft: () => ({ actions: [], people: [], trigger: null, hasCode: holdsCode(document) }),
      onRight: ({ nodes, spec: { trigger = null } }) => ({
        trigger,
        actions: nodes.flatMap(({ shape }) =>
          shape.actions.map(({ action, connector, version = null }) => ({ connector, action, version }))
        ),
        people: nodes.flatMap(({ path, shape }) =>
          (shape.people ?? []).map((one) => ({ ...one, path: `${path}.${one.path}` }))
        ),
        hasCode: nodes.some(({ shape }) => shape.code !== undefined)
      })
    }
  )

/** A flow is as large as a workflow's code may be. */
const tooLarge = (document: Json): boolean => JSON.stringify(document).length > guest.sourceBytes

/**
 * Left: all mistakes, never empty. `connectors`: `undefined` does not look names up. `further`: mistakes in what only the
 * caller can read, such as patterns and code. `generation`: whose order the steps have.
 */
export const checkFlow = (
  document: Json,
  connectors: KnownConnectors | undefined,
  types: ReadonlyArray<StepType> = stepTypes,
  further: (flow: Flow) => Mistakes = () => [],
  generation = presentGeneration
): Either.Either<CheckedFlow, Mistakes> => {
  if (tooLarge(document)) {
    const message = `is larger than ${guest.sourceBytes / 1024} KiB: move data into the input, a secret or svc.db`
    return Either.left([{ path: "steps", code: "SOURCE_TOO_LARGE", message }])
  }
  return Either.flatMap(
    Either.mapLeft(decode(document), (issues) => detailsOf(issues, "is not a member of this part")),
    (spec) =>
      Either.flatMap(flowOf(spec, types), (flow) => {
        const { mistakes, ...ordering } = orderOf(flow, generation)
        const own = [
          ...mistakes,
          ...(connectors === undefined ? [] : actionMistakes(flow, connectors)),
          ...responseMistakes(flow),
          ...triggerMistakes(spec),
          ...customAuthMistakes(spec)
        ]
        const named = new Set(own.map(({ path }) => path))
        const all = [...own, ...further(flow).filter(({ path }) => !named.has(path))]
        return all.length > 0
          ? Either.left(all)
          : Either.right({ flow, ...ordering, isLong: flow.nodes.some(({ shape }) => shape.isLong) })
      })
  )
}

/** Mistakes in the names of connectors and actions. */
const actionMistakes = ({ nodes }: Flow, connectors: KnownConnectors): Mistakes =>
  nodes.flatMap(({ path, shape }) =>
    shape.actions.flatMap(({ action, connector, kind, paths, readOnly, version }): Mistakes => {
      const known = Object.hasOwn(connectors, connector) ? connectors[connector] : undefined
      const mistake = (at: string, code: string, message: string) => [{ path: `${path}.${at}`, code, message }]
      if (known === undefined) return mistake(paths.connector, "UNKNOWN_NAME", `there is no connector "${connector}"`)
      if (kind !== undefined && known.kind !== kind)
        return mistake(
          paths.connector,
          "INVALID_VALUE",
          `must be a connector of kind ${kind}, and "${connector}" is of kind ${known.kind}`
        )
      const found = Object.hasOwn(known.actions, action) ? known.actions[action] : undefined
      if (found === undefined)
        return mistake(paths.action, "UNKNOWN_NAME", `the connector "${connector}" has no action "${action}"`)
      if (readOnly === true && !found.readOnly)
        return mistake(
          paths.action,
          "INVALID_VALUE",
          `must be an action that only reads, which "${action}" is not marked as`
        )
      return version === undefined || found.versions.includes(version)
        ? []
        : mistake("actionVersion", "UNKNOWN_NAME", `must be one of ${found.versions.join(", ")}`)
    })
  )

/** Mistakes in what the answers read: anything but steps of loops; the error's answer also `error`. */
const responseMistakes = ({ byName, spec }: Flow): Mistakes =>
  (["success", "error"] as const).flatMap((outcome) => {
    const body = spec.response?.[outcome]?.body
    if (body === undefined) return []
    const at = `response.${outcome}.body`
    const { mistakes, references } = isObject(body) ? mappingReferences(body, at) : templateReferences(body, at)
    const roots = ["input", "trigger", "steps", ...(outcome === "error" ? ["error"] : [])]
    return [
      ...mistakes,
      ...references.flatMap(({ at, path: [root, name] }): Mistakes => {
        if (!roots.includes(String(root)))
          return [
            {
              path: at,
              code: "UNKNOWN_NAME",
              message: `"${String(root)}" cannot be read here: there are ${roots.join(", ")}`
            }
          ]
        if (root !== "steps") return []
        const found = byName.get(String(name))
        if (found === undefined)
          return [{ path: at, code: "UNKNOWN_STEP", message: `there is no step "${String(name)}"` }]
        return [found, ...ownersOf(found.list)].some((one) => isLoopBody(one.list))
          ? [
              {
                path: at,
                code: "OUT_OF_SCOPE",
                message: `"${String(name)}" runs in a loop, whose results are read instead`
              }
            ]
          : []
      })
    ]
  })

const required = (path: string): Mistakes => [{ path, code: "REQUIRED", message: "is required" }]

const triggerMistakes = ({ trigger }: FlowSpec): Mistakes => {
  const described = describedTrigger(trigger)
  switch (trigger?.type) {
    case "cron":
      if (trigger.cron === undefined) return required("trigger.cron")
      // Any time will do: a cron expression that never fires from then on never does.
      return described?.settings.schedule ? scheduleMistakes(described.settings.schedule, 0, "trigger") : []
    case "event":
      if (trigger.event === undefined) return required("trigger.event")
      return trigger.source === undefined ? eventTypeMistakes(trigger.event, "trigger.event") : []
    default:
      return []
  }
}

/** The connector's name in code: `svc.connector.<name>`. */
export const nameInCode = camelSlug
