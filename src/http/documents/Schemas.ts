/** Schemas as linters and generators of clients understand them. */
import { anyType, isObject, type Json, type JsonObject } from "../../domain/Json.js"

const isAnyType = (type: Json | undefined): boolean => Array.isArray(type) && type.length === anyType.length

/** Members that hold schemas by name. */
const named: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs"])
/** Members that hold values. */
const values: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "example", "required"])

/** The library names and describes what a bound says already. */
const isLibraryWords = (name: string, child: Json): boolean =>
  typeof child === "string" &&
  ((name === "title" && /^\w+(?:\(.*\))?$/s.test(child)) ||
    (name === "description" && /^an? (?:string|number|(?:positive )?(?:number|integer)|array of)\b/.test(child)))

const each = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, child]) => [name, readable(child)]))

/**
 * Generators of clients demand a member that has a default of whoever sends it: so the default is told in words.
 */
const toldDefault = ({ default: value, ...schema }: JsonObject): JsonObject => {
  if (value === undefined) return schema
  const { description } = schema
  const words = `Default: \`${JSON.stringify(value)}\`.`
  return { ...schema, description: typeof description === "string" ? `${description} ${words}` : words }
}

/**
 * A value of any type has no `type`, and an object with any members says so: generators take the library's forms of
 * both for an object without members.
 */
export const readable = (told: Json): Json => {
  if (Array.isArray(told)) return told.map(readable)
  if (!isObject(told)) return told
  const schema = toldDefault(Object.fromEntries(Object.entries(told).filter((member) => !isLibraryWords(...member))))
  const open = schema["type"] === "object" && schema["properties"] === undefined
  return {
    ...Object.fromEntries(
      Object.entries(schema)
        .filter(([name, child]) => !(name === "type" && isAnyType(child)))
        .map(([name, child]) => [
          name,
          values.has(name) ? child : named.has(name) && isObject(child) ? each(child) : readable(child)
        ])
    ),
    ...(open && schema["additionalProperties"] === undefined && schema["patternProperties"] === undefined
      ? { additionalProperties: true }
      : {})
  }
}
