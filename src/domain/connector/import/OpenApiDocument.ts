/** Reads an OpenAPI document: follows references within it, and collects warnings. Cyclic and external references resolve to nothing. */
import { isObject, type Json, type JsonObject, isList } from "../../Json.js"
import { answerItems } from "../../Limits.js"

/** A document. `generation`: 3 for OpenAPI 3.0 and 3.1, 2 for Swagger 2. */
export interface OpenApiDocument {
  readonly root: JsonObject
  readonly generation: 2 | 3
  /** The object at the end of a chain of references; empty if there is none. */
  readonly part: (value: Json | undefined) => JsonObject
  /** The target of a reference; `undefined` if it is external or missing. */
  readonly at: (reference: string) => Json | undefined
  /** Adds a warning about something that is not imported. Duplicates are dropped; those beyond a limit are counted. */
  readonly warn: (path: string, message: string) => void
  readonly warnings: () => ReadonlyArray<ImportWarning>
}

/** What an import left out or replaced, with the consequence. `path`: the place in the document. */
export interface ImportWarning {
  readonly path: string
  readonly message: string
}

const maxReferences = 32

/** The document of a value, or why it is not one. */
export const readDocument = (value: Json): OpenApiDocument | string => {
  if (!isObject(value)) return "is not an OpenAPI document: it is not an object"
  const { openapi, swagger } = value
  // YAML reads a version without quotes as a number: 2.0 is 2.
  const three = typeof openapi === "number" ? [3, 3.1].includes(openapi) : /^3\.[01](\.|$)/.test(textOf(openapi))
  if (!three && swagger !== 2 && swagger !== "2.0") {
    return "is not an OpenAPI document of version 3.0 or 3.1, nor a Swagger document of version 2.0"
  }
  const { list, warn } = makeWarningList()
  const at = (reference: string) => {
    const found = followPointer(value, reference)
    if (found === undefined) warn(reference, reference.startsWith("#") ? danglingWarning : externalWarning)
    return found
  }
  const part = (start: Json | undefined): JsonObject => {
    let found = start
    for (let hop = 0; hop < maxReferences; hop++) {
      if (found === undefined || !isObject(found)) return {}
      const reference = found["$ref"]
      if (typeof reference !== "string") return found
      found = at(reference)
    }
    return {}
  }
  return { root: value, generation: three ? 3 : 2, part, at, warn, warnings: list }
}

/** The warnings of one import. */
export interface WarningList {
  readonly warn: (path: string, message: string) => void
  readonly list: () => ReadonlyArray<ImportWarning>
}

/** Makes an empty list. Duplicates are dropped; those beyond a limit are counted. */
export const makeWarningList = (): WarningList => {
  const warnings = new Map<string, ImportWarning>()
  let omitted = 0
  return {
    warn: (path, message) => {
      const key = `${path} ${message}`
      if (warnings.has(key)) return
      if (warnings.size < answerItems.warnings) warnings.set(key, { path: path.slice(0, 500), message })
      else omitted++
    },
    list: () => {
      const message = `${omitted} more warnings are not listed: import parts of the document to see them.`
      return [...warnings.values(), ...(omitted === 0 ? [] : [{ path: "", message }])]
    }
  }
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "")

/** The member if it is an object, else an empty one. */
export const objectAt = (value: JsonObject, name: string): JsonObject => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return isObject(found) ? found : {}
}

/** The member if it is a list, else an empty one. */
export const listAt = (value: JsonObject, name: string): ReadonlyArray<Json> => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return isList(found) ? found : []
}

/** The member if it is a non-empty string. */
export const textAt = (value: JsonObject, name: string): string | undefined => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof found === "string" && found.trim() !== "" ? found : undefined
}

/** Three numbers of a version such as `1.2`, `v3` or `2024-01-05`; 1.0.0 for other text. */
export const versionOf = (value: Json | undefined): string => {
  // YAML reads `1.2` without quotes as a number.
  const text = typeof value === "number" || typeof value === "string" ? String(value) : ""
  const [, major, minor = "0", patch = "0"] = /(\d{1,9})(?:[.-](\d{1,9}))?(?:[.-](\d{1,9}))?/.exec(text) ?? []
  return major === undefined ? "1.0.0" : [major, minor, patch].map(Number).join(".")
}

/** Assigns unique names: a used name gets a number. Linear in the number of names. */
export class UniqueNames {
  readonly #used: Set<string>
  /** The next number to try for a name. */
  readonly #next = new Map<string, number>()

  constructor(used: Iterable<string> = []) {
    this.#used = new Set(used)
  }

  has(name: string): boolean {
    return this.#used.has(name)
  }

  /** `wanted` cut to `maxLength` characters, or the next free name with its beginning. */
  take(wanted: string, maxLength: number): string {
    const base = wanted.slice(0, maxLength)
    let name = base
    let n = this.#next.get(base) ?? 2
    if (this.#used.has(name)) {
      for (; name === base || this.#used.has(name); n++) name = `${base.slice(0, maxLength - `_${n}`.length)}_${n}`
      this.#next.set(base, n)
    }
    this.#used.add(name)
    return name
  }
}

/** Follows a JSON pointer such as `#/components/schemas/Pet`. */
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
  "refers to another document, which is not read: the schema takes any value; a parameter, body or path is left out. Import a document with bundled references."
const danglingWarning = "refers to nothing: the schema takes any value; a parameter, body or path is left out."

const decodeOrKeep = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
