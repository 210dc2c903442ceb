/** Checks the records of the unified API's answers against the schemas that `GET /models` shows. */
import { type Schema, Validator } from "@cfworker/json-schema"
import { isObject, type Json, type JsonObject } from "../../../src/domain/Json.js"
import { modelSchemas } from "../../../src/domain/model/ModelSchema.js"
import { findUnifiedEntity } from "../../../src/domain/unified/Entities.js"

const validators = new Map<string, Validator>()

const validatorOf = (category: string, entity: string): Validator | undefined => {
  const model = findUnifiedEntity(category, entity)
  if (model === undefined) return undefined
  const known = validators.get(model.name)
  if (known !== undefined) return known
  const schema: JsonObject = modelSchemas(model).read
  const made = new Validator(schema as Schema, "2020-12", false)
  validators.set(model.name, made)
  return made
}

/** How a record of an answer violates the schema of its model; `undefined` if none does, or if it has no records. */
export const recordViolation = (
  target: string,
  { body, status }: { readonly status: number; readonly body: unknown }
): string | undefined => {
  const [path = ""] = target.split("?")
  const [, category, entity] = /^\/api\/v1\/unified\/([\w-]+)\/([\w-]+)(?:\/[^/]+)?$/.exec(path) ?? []
  if (category === undefined || entity === undefined || status < 200 || status > 201) return undefined
  const data: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "data") : undefined
  const validator = validatorOf(category, entity)
  if (validator === undefined || data === undefined) return undefined
  for (const record of Array.isArray(data) ? data : [data]) {
    if (!isObject(record as Json)) return `${target}: a record is no object`
    const { errors, valid } = validator.validate(record)
    if (!valid)
      return `${target}: ${errors.map(({ error, instanceLocation }) => `${instanceLocation}: ${error}`).join("; ")}`
  }
  return undefined
}
