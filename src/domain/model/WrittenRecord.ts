/**
 * Checks what a caller writes against a model: nothing is dropped silently. Contract: unified API; the codes are those of
 * details.
 */
import { memberPath, type Path, setMember } from "../expression/Path.js"
import { isList } from "../expression/List.js"
import { mistakeAt, type Mistakes } from "../expression/Checks.js"
import type { Json, JsonObject } from "../Json.js"
import { isObject } from "../Json.js"
import type { ItemPath } from "../mapping/ItemPath.js"
import { readValue } from "./Coercion.js"
import type { ModelFields, FieldType, Model } from "./FieldType.js"
import { kindText, memberHint } from "./ModelPath.js"

/** The record in the form of the model, and what is wrong with it. */
export interface CheckedRecord {
  readonly value: JsonObject
  readonly mistakes: Mistakes
}

/** What a record is checked for. */
export interface WriteRules {
  readonly model: Model
  /** `update`: members may be absent, and null clears one. */
  readonly verb: "create" | "update"
  /** The common members that the connector can write. */
  readonly writable: ReadonlyArray<ItemPath>
  /** The connector, as messages name it. */
  readonly connector: string
  /** Members that every record of the connector has as they are here, so that sending them back changes nothing. */
  readonly constants: ReadonlyArray<{ readonly path: Path; readonly value: Json }>
}

/** The most mistakes that are told at once. */
const maxMistakes = 50
/** The most values of a record that is written. */
const maxValues = 20_000

/** What is left to look at: a caller chooses how many values and mistakes a record has. */
interface Budget {
  values: number
  readonly mistakes: Array<Mistakes[number]>
}

const isSpent = ({ mistakes, values }: Budget): boolean => values < 0 || mistakes.length >= maxMistakes

/** Checks a record that is to be created, or the changes of one. */
export const checkWritten = (rules: WriteRules, body: JsonObject): CheckedRecord => {
  const { model, verb } = rules
  const budget: Budget = { values: maxValues, mistakes: [] }
  const value = checkMembers(rules, model.fields, body, [], "", budget)
  const tooMany = budget.values < 0 ? mistakeAt("$", "OUT_OF_RANGE", `has more than ${maxValues} values`) : []
  const has = (name: string) => Object.hasOwn(body, name) && body[name] !== null && body[name] !== ""
  const lacks = Object.entries(model.fields).filter(
    ([name, field]) =>
      field.isRequired &&
      !field.isReadOnly &&
      (verb === "create" ? !has(name) : Object.hasOwn(body, name) && !has(name))
  )
  return {
    value,
    mistakes: [
      ...tooMany,
      ...budget.mistakes,
      ...lacks
        .filter(([name]) => verb === "update" || rules.writable.some(([path]) => path?.[0] === name))
        .flatMap(([name, { type }]) => mistakeAt(name, "REQUIRED", `is required: a ${kindText(type)}`)),
      ...(verb === "update"
        ? []
        : model.anyOf.flatMap((names) =>
            names.some(has)
              ? []
              : mistakeAt(names[0] ?? "", "REQUIRED", `is required, or ${names.slice(1).join(" or ")}`)
          ))
    ].slice(0, maxMistakes)
  }
}

const checkMembers = (
  rules: WriteRules,
  fields: ModelFields,
  body: JsonObject,
  path: Path,
  place: string,
  budget: Budget
): JsonObject => {
  const value = {}
  for (const name of Object.keys(body)) {
    if (isSpent(budget)) break
    const at = memberPath(place, name)
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) {
      budget.mistakes.push(
        ...mistakeAt(at, "UNKNOWN_FIELD", `is no member of ${rules.model.name}${memberHint(name, Object.keys(fields))}`)
      )
    } else if (field.isReadOnly) {
      budget.mistakes.push(...mistakeAt(at, "READ_ONLY", "is set by the provider"))
    } else {
      setMember(value, name, checkValue(rules, field.type, body[name] ?? null, [...path, name], at, budget))
    }
  }
  return value
}

const checkValue = (rules: WriteRules, type: FieldType, value: Json, path: Path, at: string, budget: Budget): Json => {
  budget.values -= 1
  if (type.kind === "object" && isObject(value)) return checkMembers(rules, type.fields, value, path, at, budget)
  if (type.kind === "list" && isList(value) && type.of.kind !== "any") {
    const items: Array<Json> = []
    for (const [index, item] of value.entries()) {
      if (isSpent(budget)) break
      items.push(checkValue(rules, type.of, item, [...path, index], `${at}[${index}]`, budget))
    }
    return items
  }
  const read = readValue(type, value)
  if ("mistake" in read) {
    const code = read.code === "UNMAPPED_ENUM" ? "INVALID_VALUE" : read.code
    budget.mistakes.push(...mistakeAt(at, code, `must be a ${kindText(type)}`))
    return null
  }
  if (!rules.writable.some((target) => covers(target, path)) && !isConstant(rules, path, read.value))
    budget.mistakes.push(
      ...mistakeAt(at, "UNSUPPORTED", `cannot be written at ${rules.connector}: leave it out, or map it`)
    )
  return read.value
}

const isConstant = ({ constants }: WriteRules, path: Path, value: Json): boolean =>
  constants.some((one) => one.value === value && one.path.map(String).join("\n") === path.map(String).join("\n"))

/** Whether a pair that reads `target` also reads what is at `path`, or below or above it. */
const covers = (target: ItemPath, path: Path): boolean => {
  let at = 0
  for (const [level, part] of target.entries()) {
    if (level > 0) {
      if (at >= path.length) return true
      if (typeof path[at] !== "number") return false
      at += 1
    }
    for (const segment of part) {
      if (at >= path.length) return true
      if (String(path[at]) !== String(segment)) return false
      at += 1
    }
  }
  return true
}
