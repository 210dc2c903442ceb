/** An OpenAPI document as it is read: references within it are followed, cycles and strangers end as nothing. */
import { isObject, type Json, type JsonObject } from "../../Json.js"

/** OpenAPI 3.0 and 3.1 are `3`, Swagger 2 is `2`. */
export interface Document {
  readonly root: JsonObject
  readonly generation: 2 | 3
  /** What a part is, behind as many references as there are; an empty object where it is none. */
  readonly part: (value: Json | undefined) => JsonObject
  /** What a reference names: `undefined` for one that leads out of the document or nowhere. */
  readonly at: (reference: string) => Json | undefined
}

const mostReferences = 32

export const documentOf = (value: Json): Document | string => {
  if (!isObject(value)) return "is not an OpenAPI document: it is no object"
  const { openapi, swagger } = value
  const three = typeof openapi === "string" && /^3\.[01](\.|$)/.test(openapi)
  if (!three && String(swagger) !== "2.0") {
    return "is not an OpenAPI document of version 3.0 or 3.1, nor a Swagger document of version 2.0"
  }
  const at = (reference: string) => pointed(value, reference)
  const part = (given: Json | undefined): JsonObject => {
    let found = given
    for (let hop = 0; hop < mostReferences; hop++) {
      if (found === undefined || !isObject(found)) return {}
      const reference = found["$ref"]
      if (typeof reference !== "string") return found
      found = at(reference)
    }
    return {}
  }
  return { root: value, generation: three ? 3 : 2, part, at }
}

export const objectAt = (value: JsonObject, name: string): JsonObject => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return isObject(found) ? found : {}
}

export const listAt = (value: JsonObject, name: string): ReadonlyArray<Json> => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return isList(found) ? found : []
}

export const textAt = (value: JsonObject, name: string): string | undefined => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof found === "string" && found.trim() !== "" ? found : undefined
}

/** A name that is not among those taken, which it joins. */
export const uniqueName = (wanted: string, taken: Set<string>, longest: number): string => {
  let name = wanted.slice(0, longest)
  for (let n = 2; taken.has(name); n++) name = `${wanted.slice(0, longest - `_${n}`.length)}_${n}`
  taken.add(name)
  return name
}

export const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** Follows `#/components/schemas/Pet`. */
const pointed = (root: JsonObject, reference: string): Json | undefined => {
  if (reference === "#") return root
  if (!reference.startsWith("#/")) return undefined
  let at: Json | undefined = root
  for (const part of reference.slice(2).split("/")) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~")
    if (isList(at)) at = /^\d{1,9}$/.test(name) ? at[Number(name)] : undefined
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
    if (at === undefined) return undefined
  }
  return at
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
