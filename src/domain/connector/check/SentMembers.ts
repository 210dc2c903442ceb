/** The members of the body that an action sends, and where its arguments stand in it. */
import type { Path } from "../../expression/Path.js"
import { cachedTemplate, templatePaths } from "../../expression/Template.js"
import { isList, isObject, type Json, type JsonObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import { listAt, objectAt } from "../import/OpenApiDocument.js"
import type { SchemaStep } from "./SchemaMembers.js"

/** A member of the body. `schema`: of the argument that it is, if it is one. */
export interface SentMember {
  readonly path: ReadonlyArray<SchemaStep>
  readonly isAlwaysSent: boolean
  readonly schema: JsonObject | undefined
}

/** Levels of an argument's schema that are followed. */
const maxDepth = 8
/** Members of one body that are compared. */
const maxMembers = 2_000

/** The members that an action can send in its body, in the order of the definition. */
export const sentMembers = (action: ActionDefinition, schemas: JsonObject): ReadonlyArray<SentMember> => {
  const members: Array<SentMember> = []
  const add = (path: ReadonlyArray<SchemaStep>, isAlwaysSent: boolean, schema: JsonObject | undefined) => {
    const plain = joined(action, path)
    if (plain.length > 0 && members.length < maxMembers) members.push({ path: plain, isAlwaysSent, schema })
  }
  const addSchema = (
    path: ReadonlyArray<SchemaStep>,
    isAlwaysSent: boolean,
    schema: Json | undefined,
    depth: number
  ) => {
    const found = resolve(schema, schemas)
    if (!isObject(found)) return add(path, isAlwaysSent, undefined)
    if (depth > maxDepth) return
    // A list that is joined with others is no value of its own.
    const isJoined = action.request.joinLists === true && path.at(-1) === null && isObject(found["items"])
    if (!isJoined) add(path, isAlwaysSent, found)
    const required = listAt(found, "required")
    for (const [name, below] of Object.entries(objectAt(found, "properties")))
      addSchema([...path, name], isAlwaysSent && required.includes(name), below, depth + 1)
    if (isObject(found["items"])) addSchema([...path, null], false, found["items"], depth + 1)
  }
  const walk = (value: Json, path: ReadonlyArray<SchemaStep>) => {
    if (typeof value === "string") {
      const argument = onlyArgument(value)
      if (argument !== undefined)
        return addSchema(path, argument.isRequired(action), argument.schema(action, schemas), 0)
      return add(path, isAlwaysValue(value, action), undefined)
    }
    if (value === null) return
    if (isList(value)) {
      add(path, true, undefined)
      return value.forEach((item) => walk(item, [...path, null]))
    }
    if (!isObject(value)) return add(path, true, undefined)
    if (path.length > 0)
      add(
        path,
        Object.values(value).some((one) => typeof one !== "string"),
        undefined
      )
    for (const [name, below] of Object.entries(value)) walk(below, [...path, name])
  }
  walk(action.request.body, [])
  return members
}

/** The places in the body of the value at a path into the arguments. */
export const placesOfArgument = (
  action: ActionDefinition,
  argument: ReadonlyArray<SchemaStep>
): ReadonlyArray<ReadonlyArray<SchemaStep>> => {
  const places: Array<ReadonlyArray<SchemaStep>> = []
  const walk = (value: Json, at: ReadonlyArray<SchemaStep>) => {
    if (typeof value === "string") {
      for (const read of argumentPaths(value))
        if (overlap(read, argument)) places.push(joined(action, [...at, ...argument.slice(read.length)]))
    } else if (isList(value)) for (const item of value) walk(item, [...at, null])
    else if (isObject(value)) for (const [name, below] of Object.entries(value)) walk(below, [...at, name])
  }
  walk(action.request.body, [])
  return places
}

/** The paths below `args` that a template reads. */
const argumentPaths = (text: string): ReadonlyArray<ReadonlyArray<SchemaStep>> =>
  templatePaths(cachedTemplate(text)).flatMap(([root, ...below]) =>
    root === "args" ? [below.map((segment) => (typeof segment === "number" ? null : segment))] : []
  )

/** Whether one path begins with the other. */
const overlap = (read: ReadonlyArray<SchemaStep>, argument: ReadonlyArray<SchemaStep>): boolean =>
  read.slice(0, argument.length).every((step, at) => step === argument[at])

/** Where lists of a list are joined, an item is one of the inner list. */
const joined = ({ request }: ActionDefinition, path: ReadonlyArray<SchemaStep>): ReadonlyArray<SchemaStep> =>
  request.joinLists === true ? path.filter((step, at) => step !== null || path[at - 1] !== null) : path

/** The argument that a text is as a whole. */
const onlyArgument = (text: string) => {
  const [part, more] = cachedTemplate(text)
  if (part?._tag !== "Expression" || more !== undefined) return undefined
  const [operand, alternative] = part.operands
  if (operand?._tag !== "Path" || operand.path[0] !== "args") return undefined
  const below = operand.path.slice(1)
  return {
    isRequired: (action: ActionDefinition) => alternative !== undefined || isRequiredArgument(action, below),
    schema: (action: ActionDefinition, schemas: JsonObject) => argumentSchema(action.inputSchema, below, schemas)
  }
}

/** Whether a template always has a value: it has text or an alternative, or its argument is required. */
export const isAlwaysValue = (text: string, action: ActionDefinition): boolean =>
  cachedTemplate(text).some(
    (part) =>
      part._tag === "Text" ||
      part.operands.some(
        (operand) =>
          operand._tag === "Literal" || operand.path[0] !== "args" || isRequiredArgument(action, operand.path.slice(1))
      )
  )

const isRequiredArgument = ({ inputSchema }: ActionDefinition, below: Path): boolean =>
  below.length === 0 || listAt(inputSchema, "required").includes(String(below[0]))

/** The schema of an argument; `undefined` if the action's schema has none. */
export const argumentSchema = (schema: JsonObject, path: Path, schemas: JsonObject): Json | undefined => {
  let at: Json | undefined = schema
  for (const segment of path) {
    const found = resolve(at, schemas)
    if (!isObject(found)) return undefined
    const properties = objectAt(found, "properties")
    at =
      typeof segment === "number"
        ? found["items"]
        : Object.hasOwn(properties, segment)
          ? properties[segment]
          : undefined
  }
  return at
}

const resolve = (schema: Json | undefined, schemas: JsonObject): Json | undefined => {
  const reference = isObject(schema) ? schema["$ref"] : undefined
  if (typeof reference !== "string" || !reference.startsWith("#/$defs/")) return schema
  const name = reference.slice("#/$defs/".length)
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined
}

/** The place of steps as text: `lines[*].sku`. */
export const textOfSteps = (path: ReadonlyArray<SchemaStep>): string =>
  path.reduce<string>((text, step) => (step === null ? `${text}[*]` : text === "" ? step : `${text}.${step}`), "")
