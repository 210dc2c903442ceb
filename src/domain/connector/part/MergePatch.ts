/** JSON merge patches (RFC 7396): a document that says which members of another one change. */
import { isObject, type Json, type JsonObject } from "../../Json.js"

/**
 * The object with the changes of a merge patch: a member with the value null is removed, an object is merged, and any other
 * value, also a list, replaces the member. No member of a patch sets a prototype.
 */
export const mergePatch = (target: JsonObject, patch: JsonObject): JsonObject => {
  const members = new Map(Object.entries(target))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name)
    else members.set(name, isObject(value) ? mergePatch(objectOr(members.get(name)), value) : value)
  }
  return Object.fromEntries(members)
}

/** What an object is merged with: it replaces a value of another kind. */
const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
