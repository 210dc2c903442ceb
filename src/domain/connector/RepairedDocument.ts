/**
 * Replaces malformed parts of a document by placeholders, so that the rest can be checked and all mistakes are reported at
 * once. Mistakes of placeholders are not reported.
 */
import { isObject, type Json, type JsonObject, isList } from "../Json.js"

/** A document in which malformed parts are replaced. */
export interface RepairedDocument {
  readonly document: JsonObject
  /** Whether a mistake of the repaired document is one of the original. */
  readonly isOriginal: (mistake: { readonly path: string; readonly code: string }) => boolean
}

/** Replaces the parts at `broken`: paths of names and indexes. Unknown members need no repair. `undefined`: not repairable. */
export const repairDocument = (
  document: Json,
  broken: ReadonlyArray<ReadonlyArray<PropertyKey>>
): RepairedDocument | undefined => {
  if (!isObject(document)) return undefined
  const result: { [name: string]: Json } = { ...placeholders, ...document }
  const replaced: Array<string> = []
  let namesLost = false
  for (const [root, place] of broken) {
    if (typeof root !== "string") return undefined
    const list = result[root]
    const placeholderOf = Object.hasOwn(elementPlaceholders, root) ? elementPlaceholders[root] : undefined
    if (placeholderOf !== undefined && typeof place === "number" && list !== undefined && isList(list)) {
      const original = list[place]
      const element = original !== undefined && isObject(original) ? original : {}
      result[root] = list.map((other, at) => (at === place ? placeholderOf(element, at) : other))
      replaced.push(`${root}[${place}]`)
      namesLost ||= root === "auth" || typeof (element["name"] ?? element["id"]) !== "string"
    } else {
      const placeholder = Object.hasOwn(placeholders, root) ? placeholders[root] : undefined
      if (placeholder === undefined) delete result[root]
      else result[root] = placeholder
      replaced.push(root)
      namesLost ||= root !== "version" && root !== "name"
    }
  }
  return {
    document: result,
    isOriginal: ({ code, path }) =>
      !(namesLost && code === "UNKNOWN_NAME") &&
      !replaced.some((place) => path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`))
  }
}

const placeholders: JsonObject = {
  svcConnector: 1,
  slug: "neutral",
  name: "Neutral",
  kind: "custom",
  version: "0.0.0",
  baseUrl: "https://neutral.invalid",
  auth: [{ id: "neutral", type: "none" }],
  actions: []
}

const nameOrPlaceholder = (one: JsonObject, member: string, at: number): string => {
  const name = one[member]
  return typeof name === "string" ? name : `neutral${at}`
}

/** The placeholder of an element, which keeps its name so that references to it stay valid. */
const elementPlaceholders: { readonly [list: string]: (one: JsonObject, at: number) => JsonObject } = {
  actions: (one, at) => ({ name: nameOrPlaceholder(one, "name", at), request: { method: "GET", path: "/" } }),
  auth: (one, at) => ({ id: nameOrPlaceholder(one, "id", at), type: "none" }),
  events: (one, at) => ({ id: nameOrPlaceholder(one, "id", at), delivery: "poll" }),
  webhooks: (one, at) => ({ id: nameOrPlaceholder(one, "id", at), type: "app" }),
  entities: (one, at) => ({ name: nameOrPlaceholder(one, "name", at) })
}
