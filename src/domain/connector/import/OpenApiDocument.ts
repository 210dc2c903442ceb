/** An OpenAPI document as it is read: references within it are followed, cycles and strangers end as nothing. */
import { isObject, type Json, type JsonObject } from "../../Json.js"

/** OpenAPI 3.0 and 3.1 are `3`, Swagger 2 is `2`. */
export interface OpenApiDocument {
  readonly root: JsonObject
  readonly generation: 2 | 3
  /** What a part is, behind as many references as there are; an empty object where it is none. */
  readonly part: (value: Json | undefined) => JsonObject
  /** What a reference names: `undefined` for one that leads out of the document or nowhere. */
  readonly at: (reference: string) => Json | undefined
  /** Notes something that the definition cannot take over. The same is noted once, and no more than a reader reads. */
  readonly warn: (path: string, message: string) => void
  readonly warnings: () => ReadonlyArray<ImportWarning>
}

/** What an import left out or replaced, and what follows from it. `path`: where the document has it. */
export interface ImportWarning {
  readonly path: string
  readonly message: string
}

const maxWarnings = 200

const maxReferences = 32

export const readDocument = (value: Json): OpenApiDocument | string => {
  if (!isObject(value)) return "is not an OpenAPI document: it is no object"
  const { openapi, swagger } = value
  const three = typeof openapi === "string" && /^3\.[01](\.|$)/.test(openapi)
  if (!three && String(swagger) !== "2.0") {
    return "is not an OpenAPI document of version 3.0 or 3.1, nor a Swagger document of version 2.0"
  }
  const warnings = new Map<string, ImportWarning>()
  const warn = (path: string, message: string) => {
    if (warnings.size < maxWarnings) warnings.set(`${path} ${message}`, { path: path.slice(0, 500), message })
  }
  const at = (reference: string) => {
    const found = followPointer(value, reference)
    if (found === undefined) warn(reference, reference.startsWith("#") ? danglingWarning : externalWarning)
    return found
  }
  const part = (given: Json | undefined): JsonObject => {
    let found = given
    for (let hop = 0; hop < maxReferences; hop++) {
      if (found === undefined || !isObject(found)) return {}
      const reference = found["$ref"]
      if (typeof reference !== "string") return found
      found = at(reference)
    }
    return {}
  }
  return { root: value, generation: three ? 3 : 2, part, at, warn, warnings: () => [...warnings.values()] }
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

/** Gives names that are all different: a name that was given already gets a number. Linear in the names given. */
export class UniqueNames {
  readonly #given: Set<string>
  /** The number to try next for a name that was wanted before. */
  readonly #next = new Map<string, number>()

  constructor(given: Iterable<string> = []) {
    this.#given = new Set(given)
  }

  has(name: string): boolean {
    return this.#given.has(name)
  }

  /** `wanted`, cut to `longest` characters, or the next free name that begins like it. */
  give(wanted: string, longest: number): string {
    const base = wanted.slice(0, longest)
    let name = base
    let n = this.#next.get(base) ?? 2
    if (this.#given.has(name)) {
      for (; name === base || this.#given.has(name); n++) name = `${base.slice(0, longest - `_${n}`.length)}_${n}`
      this.#next.set(base, n)
    }
    this.#given.add(name)
    return name
  }
}

export const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** Follows `#/components/schemas/Pet`. */
const followPointer = (root: JsonObject, reference: string): Json | undefined => {
  if (reference === "#") return root
  if (!reference.startsWith("#/")) return undefined
  let at: Json | undefined = root
  for (const part of reference.slice(2).split("/")) {
    const name = decodeOrKeep(part).replaceAll("~1", "/").replaceAll("~0", "~")
    if (isList(at)) at = /^\d{1,9}$/.test(name) ? at[Number(name)] : undefined
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
    if (at === undefined) return undefined
  }
  return at
}

const externalWarning =
  "leads to another document, which is not read: a schema there takes any value, and a parameter, body or path is left out. Import a document that has its references bundled."
const danglingWarning = "leads nowhere: a schema there takes any value, and a parameter, body or path is left out."

const decodeOrKeep = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
