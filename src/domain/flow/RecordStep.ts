/** Steps that read or write common records: their connector is `unified` or `cdm`, their action such as `crm.contact.list`. */
import type { JsonObject } from "../Json.js"
import type { Mistakes } from "../expression/Checks.js"
import { memberPath } from "../expression/Path.js"
import { targetPath } from "../mapping/MappingEvaluation.js"
import {
  argumentMistake,
  isRecordService,
  neededArguments,
  readRecordCall,
  type RecordCall
} from "../unified/RecordCall.js"
import type { StepAction } from "./StepType.js"

/** What a step gives a call of records, with its places in the step. */
export interface RecordStep extends StepAction {
  readonly input: { readonly path: string; readonly value: JsonObject | undefined }
  readonly mapping: { readonly path: string; readonly value: JsonObject | undefined }
  /** The place of `version`. */
  readonly versionPath: string
}

/** Whether an action of a step is a call of records, which no connector is looked up for. */
export const isRecordAction = ({ connector }: Pick<StepAction, "connector">): boolean => isRecordService(connector)

/** The arguments that a step sets, with the places where it does. */
const givenArguments = ({ input, mapping }: RecordStep): ReadonlyArray<readonly [name: string, path: string]> => [
  ...Object.keys(input.value ?? {}).map((name) => [name, memberPath(input.path, name)] as const),
  ...Object.keys(mapping.value ?? {}).flatMap((target) => {
    const path = targetPath(target)
    const [name] = typeof path === "string" ? [] : path
    return typeof name === "string" ? [[name, memberPath(mapping.path, target)] as const] : []
  })
]

const argumentMistakes = (step: RecordStep, call: RecordCall): Mistakes => {
  const given = givenArguments(step)
  const names = new Set(given.map(([name]) => name))
  return [
    ...given.flatMap(([name, path]) => {
      const message = argumentMistake(call, name)
      return message === undefined ? [] : [{ path, code: "UNKNOWN_NAME", message }]
    }),
    ...neededArguments(call)
      .filter((some) => !some.some((name) => names.has(name)))
      .map((some) => ({
        path: memberPath(step.input.path, some[0] ?? ""),
        code: "REQUIRED",
        message: `${call.action} needs ${some.length === 1 ? "it" : `one of ${some.join(", ")}`}, in input or mapping`
      }))
  ]
}

/** Mistakes in a call of records: its name, and its arguments as far as they are known before it runs. */
export const recordMistakes = (step: RecordStep): Mistakes => {
  const { action, connector, paths, readOnly, version, versionPath } = step
  if (!isRecordService(connector)) return []
  const mistake = (path: string, code: string, message: string) => ({ path, code, message })
  const call = readRecordCall(connector, action)
  return [
    ...(version === undefined ? [] : [mistake(versionPath, "NOT_ALLOWED", `records of ${connector} have no versions`)]),
    ...(typeof call === "string"
      ? [mistake(paths.action, "UNKNOWN_NAME", call)]
      : !call.model.verbs.includes(call.verb)
        ? [mistake(paths.action, "UNKNOWN_NAME", `${call.model.name} has ${call.model.verbs.join(", ")}`)]
        : readOnly === true && call.verb !== "list" && call.verb !== "get"
          ? [mistake(paths.action, "INVALID_VALUE", "must be an action that only reads: list or get")]
          : argumentMistakes(step, call))
  ]
}
