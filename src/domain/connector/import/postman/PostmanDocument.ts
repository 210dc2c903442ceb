/** Reads a Postman collection v2.1: its requests in the order of the document, with their places and folders. */
import { Either } from "effect"
import { isList, isObject, type Json, type JsonObject } from "../../../Json.js"
import { listAt, objectAt, textAt } from "../OpenApiDocument.js"

/** Why a document is not a collection that can be imported. `at`: the place in it. */
export interface CollectionMistake {
  readonly at: string
  readonly message: string
}

/** A request of a collection. */
export interface CollectionItem {
  /** `item[2].item[0]`. */
  readonly place: string
  readonly name: string
  /** The name of the innermost folder. */
  readonly folder: string | undefined
  readonly item: JsonObject
  readonly request: JsonObject
  /** The auth of the request or of the innermost folder that has one, below the collection's. */
  readonly auth: JsonObject | undefined
}

/** The requests of a collection, and the places of folders and requests with scripts. */
export interface CollectionItems {
  readonly requests: ReadonlyArray<CollectionItem>
  readonly scripts: ReadonlyArray<string>
  /** Places of items that are neither a request nor a folder. */
  readonly empty: ReadonlyArray<string>
}

/** Folders within one another; a document nests at most 64 levels, of which a folder takes two. */
const maxFolders = 32

/** The collection in a document. */
export const readCollection = (value: Json): Either.Either<JsonObject, CollectionMistake> => {
  const outer = isObject(value) ? value : {}
  // Postman's API answers with the collection in a member.
  const isWrapped = !Object.hasOwn(outer, "info") && isObject(outer["collection"])
  const root = isWrapped ? objectAt(outer, "collection") : outer
  const place = isWrapped ? "collection." : ""
  const schema = textAt(objectAt(root, "info"), "schema") ?? ""
  if (/\/collection\/v2\.1\.\d+\//.test(schema)) return Either.right(root)
  const [, version] = /\/collection\/v(\d{1,3}(?:\.\d{1,3}){0,2})/.exec(schema) ?? []
  const older = version ?? (Object.hasOwn(root, "requests") ? "1" : undefined)
  return Either.left(
    older === undefined
      ? {
          at: schema === "" && !isObject(root["info"]) ? "" : `${place}info.schema`,
          message: "is not a Postman collection of version 2.1: export the collection as Collection v2.1"
        }
      : {
          at: version === undefined ? "" : `${place}info.schema`,
          message: `is a Postman collection of version ${older}, which is not supported: export it as Collection v2.1`
        }
  )
}

/** A folder whose items are to be read. */
interface OpenFolder {
  readonly items: ReadonlyArray<Json>
  readonly prefix: string
  readonly depth: number
  readonly folder: string | undefined
  readonly auth: JsonObject | undefined
  next: number
}

/** All requests of a collection. */
export const collectItems = (root: JsonObject): Either.Either<CollectionItems, CollectionMistake> => {
  const requests: Array<CollectionItem> = []
  const scripts: Array<string> = hasScript(root) ? [""] : []
  const empty: Array<string> = []
  // A stack of its own, since the depth is the document's choice.
  const open: Array<OpenFolder> = [
    { items: listAt(root, "item"), prefix: "", depth: 0, folder: undefined, auth: undefined, next: 0 }
  ]
  for (let current = open.at(-1); current !== undefined; current = open.at(-1)) {
    const item = current.items[current.next]
    const place = `${current.prefix}item[${current.next}]`
    if (current.next++ >= current.items.length) {
      open.pop()
      continue
    }
    if (!isObject(item)) {
      empty.push(place)
      continue
    }
    if (hasScript(item)) scripts.push(place)
    const name = textAt(item, "name")?.trim()
    const items = Object.hasOwn(item, "item") ? item["item"] : undefined
    if (isList(items)) {
      if (current.depth >= maxFolders)
        return Either.left({ at: place, message: `is a folder within ${maxFolders} others: move it to a higher one` })
      const auth = authOf(item) ?? current.auth
      open.push({ items, prefix: `${place}.`, depth: current.depth + 1, folder: name ?? current.folder, auth, next: 0 })
      continue
    }
    const request = requestOf(item)
    if (request === undefined) empty.push(place)
    else
      requests.push({
        place,
        name: name ?? "",
        folder: current.folder,
        item,
        request,
        auth: authOf(request) ?? current.auth
      })
  }
  return Either.right({ requests, scripts, empty })
}

/** The request of an item, which may be its URL alone. */
const requestOf = (item: JsonObject): JsonObject | undefined => {
  const request = Object.hasOwn(item, "request") ? item["request"] : undefined
  if (typeof request === "string") return { method: "GET", url: request }
  return isObject(request) ? request : undefined
}

const authOf = (part: JsonObject): JsonObject | undefined =>
  textAt(objectAt(part, "auth"), "type") === undefined ? undefined : objectAt(part, "auth")

const hasScript = (part: JsonObject): boolean =>
  listAt(part, "event").some((event) => {
    const { exec } = isObject(event) ? objectAt(event, "script") : {}
    return [exec].flat().some((line) => typeof line === "string" && line.trim() !== "")
  })

/** A description, which may be an object with its content. */
export const descriptionOf = (part: JsonObject, longest: number): string | undefined => {
  const text = textAt(part, "description") ?? textAt(objectAt(part, "description"), "content")
  return text?.trim().slice(0, longest).toWellFormed()
}
