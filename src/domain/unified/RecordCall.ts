/**
 * Names of calls of common records in workflows, such as `unified.crm.contact.list` and `cdm.order.get`, and the arguments of
 * their verbs. Code and steps read them here. Contract: runtime calls.
 */
import { cdmEntities } from "../cdm/Entities.js"
import { didYouMean } from "../ClosestName.js"
import { allVerbs, type Model, type Verb } from "../model/FieldType.js"
import { findUnifiedEntity, kebabOf, unifiedEntities } from "./Entities.js"

/** A call's model and verb, and its action as fixtures and steps name it: `crm.contact.list`. */
export interface RecordCall {
  readonly model: Model
  readonly verb: Verb
  readonly action: string
}

/** The services whose calls read and write common records; steps name them as their connector. */
export const recordServices = ["unified", "cdm"] as const
export type RecordService = (typeof recordServices)[number]

/** Whether calls of a service read and write common records. */
export const isRecordService = (name: string): name is RecordService => recordServices.some((one) => one === name)

const cdmNames = new Map(
  Object.values(cdmEntities).map((model) => [model.name.slice(3, 4).toLowerCase() + model.name.slice(4), model])
)

const modelNames: Readonly<Record<RecordService, ReadonlyArray<string>>> = {
  unified: unifiedEntities.map(({ name }) => name),
  cdm: [...cdmNames.keys()]
}

const forms: Readonly<Record<RecordService, string>> = {
  unified: "<category>.<entity>.<verb>",
  cdm: "<entity>.<verb>"
}

/** The call that an action names, or what is wrong with the name. */
export const readRecordCall = (service: RecordService, action: string): RecordCall | string => {
  const parts = action.split(".")
  const verb = allVerbs.find((one) => one === parts.at(-1))
  if (verb === undefined || parts.length !== (service === "cdm" ? 2 : 3))
    return `write ${forms[service]}, with one of ${allVerbs.join(", ")}`
  const [one = "", other = ""] = parts
  const model = service === "cdm" ? cdmNames.get(one) : findUnifiedEntity(one, other)
  if (model !== undefined) return { model, verb, action }
  const names = modelNames[service]
  const asked = service === "cdm" ? one : `${kebabOf(one)}.${kebabOf(other)}`
  return `there is no ${asked}.${didYouMean(asked, names)} There are ${names.join(", ")}`
}

/** All calls of a service, as steps name them. */
export const recordActions = (service: RecordService): ReadonlyArray<string> =>
  modelNames[service].flatMap((name) =>
    ((service === "cdm" ? cdmNames.get(name) : unifiedEntities.find((one) => one.name === name))?.verbs ?? []).map(
      (verb) => `${name}.${verb}`
    )
  )

// --- Arguments ---

const shown = ["fields", "includeRaw", "strict"]

/** The names of the arguments that a call takes. */
export const recordArguments = ({ model, verb }: Pick<RecordCall, "model" | "verb">): ReadonlyArray<string> => {
  const members = Object.keys(model.fields).filter((name) => model.fields[name]?.isReadOnly === false)
  switch (verb) {
    case "list":
      return ["pageSize", "cursor", "modifiedAfter", "createdAfter", ...shown]
    case "get":
      return ["id", ...shown]
    case "create":
      return [...members, "remoteFields"]
    case "update":
      return ["id", ...members, "remoteFields"]
    case "delete":
      return ["id"]
  }
}

/** What is wrong with the name of an argument; `undefined` if the call takes it. */
export const argumentMistake = (call: RecordCall, name: string): string | undefined => {
  const known = recordArguments(call)
  if (known.includes(name)) return undefined
  const isReadOnly = call.verb !== "list" && call.verb !== "get" && Object.hasOwn(call.model.fields, name)
  return isReadOnly && call.verb !== "delete"
    ? `only the provider sets "${name}" of ${call.model.name}`
    : `${call.action} has no argument "${name.slice(0, 60)}".${didYouMean(name, known)} It has ${known.join(", ")}`
}

/** Lists of arguments of each of which a call needs at least one. */
export const neededArguments = ({ model, verb }: RecordCall): ReadonlyArray<ReadonlyArray<string>> => {
  if (verb === "list") return []
  if (verb !== "create") return [["id"]]
  const required = Object.entries(model.fields).filter(([, field]) => field.isRequired && !field.isReadOnly)
  return [...required.map(([name]) => [name]), ...model.anyOf]
}
