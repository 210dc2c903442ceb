/** Rewrites JSON schemas into forms that OpenAPI linters and client generators understand. */
import { anyType, isObject, type Json, type JsonObject } from "../../domain/Json.js"

const isAnyType = (type: Json | undefined): boolean => Array.isArray(type) && type.length === anyType.length

/** Members whose value is a map of schemas. */
const schemaMaps: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs"])
/** Members whose value is not a schema. */
const valueMembers: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "example", "required"])

/** Whether the library generated a title or description that only repeats the type. */
const isLibraryWords = (name: string, child: Json): boolean =>
  typeof child === "string" &&
  ((name === "title" && /^\w+(?:\(.*\))?$/s.test(child)) ||
    (name === "description" && /^an? (?:string|number|(?:positive )?(?:number|integer)|array of)\b/.test(child)))

const portableSchemas = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, child]) => [name, portableSchema(child)]))

/** Moves a default into the description, since client generators make a member with a default required. */
const describeDefault = ({ default: value, ...schema }: JsonObject): JsonObject => {
  if (value === undefined) return schema
  const { description } = schema
  const words = `Default: \`${JSON.stringify(value)}\`.`
  return { ...schema, description: typeof description === "string" ? `${description} ${words}` : words }
}

/**
 * Drops `type` from schemas of any value and adds `additionalProperties` to open objects: client generators read the
 * library's form of both as an object without members.
 */
export const portableSchema = (source: Json): Json => {
  if (Array.isArray(source)) return source.map(portableSchema)
  if (!isObject(source)) return source
  const schema = describeDefault(
    Object.fromEntries(Object.entries(source).filter((member) => !isLibraryWords(...member)))
  )
  const open = schema["type"] === "object" && schema["properties"] === undefined
  return {
    ...Object.fromEntries(
      Object.entries(schema)
        .filter(([name, child]) => !(name === "type" && isAnyType(child)))
        .map(([name, child]) => [
          name,
          valueMembers.has(name)
            ? child
            : schemaMaps.has(name) && isObject(child)
              ? portableSchemas(child)
              : portableSchema(child)
        ])
    ),
    ...(open && schema["additionalProperties"] === undefined && schema["patternProperties"] === undefined
      ? { additionalProperties: true }
      : {})
  }
}
