/**
 * A document that is no definition, made into one that can be checked further: so that a mistake of form in one place
 * does not hide what is wrong elsewhere. What was put in its place is never told of.
 */
import { isObject, type Json, type JsonObject } from "../Json.js"
import { isList } from "./ValueEncoding.js"

export interface RepairedDocument {
  readonly document: JsonObject
  /** Whether a mistake of the repaired document is one of the document itself. */
  readonly isOriginal: (mistake: { readonly path: string; readonly code: string }) => boolean
}

/** `broken`: where the form is wrong, as paths of names and places. Members that are not known need no repair. */
export const repairDocument = (
  document: Json,
  broken: ReadonlyArray<ReadonlyArray<PropertyKey>>
): RepairedDocument | undefined => {
  if (!isObject(document)) return undefined
  const made: { [name: string]: Json } = { ...placeholders, ...document }
  const replaced: Array<string> = []
  let namesLost = false
  for (const [root, place] of broken) {
    if (typeof root !== "string") return undefined
    const list = made[root]
    const element = Object.hasOwn(elementPlaceholders, root) ? elementPlaceholders[root] : undefined
    if (element !== undefined && typeof place === "number" && list !== undefined && isList(list)) {
      const one = list[place]
      const old = one !== undefined && isObject(one) ? one : {}
      made[root] = list.map((other, at) => (at === place ? element(old, at) : other))
      replaced.push(`${root}[${place}]`)
      namesLost ||= root === "auth" || typeof (old["name"] ?? old["id"]) !== "string"
    } else {
      const instead = Object.hasOwn(placeholders, root) ? placeholders[root] : undefined
      if (instead === undefined) delete made[root]
      else made[root] = instead
      replaced.push(root)
      namesLost ||= root !== "version" && root !== "name"
    }
  }
  return {
    document: made,
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

/** What stands in for an element: it keeps the name that others know it by. */
const elementPlaceholders: { readonly [list: string]: (one: JsonObject, at: number) => JsonObject } = {
  actions: (one, at) => ({ name: nameOrPlaceholder(one, "name", at), request: { method: "GET", path: "/" } }),
  auth: (one, at) => ({ id: nameOrPlaceholder(one, "id", at), type: "none" }),
  events: (one, at) => ({ id: nameOrPlaceholder(one, "id", at), delivery: "poll" }),
  webhooks: (one, at) => ({ id: nameOrPlaceholder(one, "id", at), type: "app" }),
  entities: (one, at) => ({ name: nameOrPlaceholder(one, "name", at) })
}
