/** The variables of a Postman collection, and the values in it that are secret: they are removed before anything is read. */
import { makeScrubber } from "../../../access/Redaction.js"
import { isSecretMember, redacted } from "../../../access/SecretNames.js"
import { isList, isObject, type Json, type JsonObject } from "../../../Json.js"
import { listAt, objectAt, textAt } from "../OpenApiDocument.js"
import type { CollectionItem } from "./PostmanDocument.js"

/** Gives the value of a variable; `undefined`: it has none, is secret, or refers to itself. */
export type VariableValue = (name: string) => string | undefined

/** Characters of a value that is used; longer ones are content, not addresses. */
const longestValue = 2_000
/** Variables in the value of a variable, one in the other. */
const maxHops = 8

/** A reference to a variable. */
export const reference = /\{\{\s*([^{}]*?)\s*\}\}/g

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : undefined

const variablesOf = (root: JsonObject) =>
  listAt(root, "variable").flatMap((one) => {
    if (!isObject(one) || one["disabled"] === true) return []
    const name = textAt(one, "key") ?? textAt(one, "id")
    const value = textOf(one["value"])
    return name === undefined || value === undefined
      ? []
      : [{ name: name.trim(), value, isSecret: isSecret(one, name) }]
  })

const isSecret = (variable: JsonObject, name: string) => variable["type"] === "secret" || isSecretMember(name)

/** Reads the collection's variables. `hidden`: names of those that credentials read. */
export const makeVariables = (root: JsonObject, hidden: ReadonlySet<string>): VariableValue => {
  const values = new Map(
    variablesOf(root).flatMap(({ isSecret, name, value }) => (isSecret || hidden.has(name) ? [] : [[name, value]]))
  )
  const read = (name: string, hops: number): string | undefined => {
    const value = values.get(name)
    if (value === undefined || value.trim() === "" || hops > maxHops) return undefined
    if (value.length > longestValue || value.includes(redacted)) return undefined
    return fill(value, (inner) => read(inner, hops + 1))
  }
  return (name) => read(name, 0)
}

/** The text with the values of its variables; `undefined` if one has none, or the text becomes too long. */
export const fill = (text: string, valueOf: VariableValue): string | undefined => {
  let isComplete = true
  let length = text.length
  const filled = text.replace(reference, (_whole, name: string) => {
    const value = isComplete ? valueOf(name) : undefined
    length += value?.length ?? 0
    isComplete &&= value !== undefined && length <= longestValue
    return isComplete ? (value ?? "") : ""
  })
  return isComplete && !/[{}]/.test(filled) ? filled : undefined
}

// --- Secrets ---

/** Members of Postman's auth that have a credential; others have addresses, names and choices. */
const isCredential = (member: string): boolean =>
  /secret|password|token|key|value|assertion/i.test(member) && !/url|name|type|prefix|^key$|^addTokenTo$/i.test(member)

/** The attributes of an auth, which version 2.1 has as a list. */
export const authAttributes = (auth: JsonObject): ReadonlyMap<string, string> => {
  const type = textAt(auth, "type") ?? ""
  const given = Object.hasOwn(auth, type) ? auth[type] : undefined
  const pairs = isList(given)
    ? given.filter(isObject).map((one) => [textAt(one, "key") ?? "", one["value"]] as const)
    : isObject(given)
      ? Object.entries(given)
      : []
  return new Map(
    pairs.flatMap(([name, value]) => {
      const text = textOf(value)
      return text === undefined ? [] : [[name, text] as const]
    })
  )
}

/** The secrets of a collection. */
export interface CollectionSecrets {
  /** Names of the variables that credentials read. */
  readonly names: ReadonlySet<string>
  readonly has: (value: string) => boolean
  /** The collection without the values that can be told from words. */
  readonly scrub: (root: JsonObject) => JsonObject
}

/** Finds the secrets of a collection: credentials in its auths, and secret variables. */
export const findSecrets = (root: JsonObject, requests: ReadonlyArray<CollectionItem>): CollectionSecrets => {
  const auths = new Set([objectAt(root, "auth"), ...requests.flatMap(({ auth }) => (auth === undefined ? [] : [auth]))])
  const credentials = [...auths].flatMap((auth) =>
    [...authAttributes(auth)].flatMap(([name, value]) => (isCredential(name) ? [value] : []))
  )
  const names = new Set(credentials.flatMap((value) => [...value.matchAll(reference)].map(([, name = ""]) => name)))
  const variables = variablesOf(root).flatMap(({ isSecret, name, value }) =>
    isSecret || names.has(name) ? [value] : []
  )
  const values = new Set([...credentials, ...variables].filter((value) => !value.includes("{{") && value.trim() !== ""))
  const scrubber = makeScrubber([...values].filter(isDistinct))
  return {
    names,
    has: (value) => values.has(value),
    scrub: (collection) => {
      const scrubbed = scrubber.scrubJson(collection)
      return isObject(scrubbed) ? scrubbed : {}
    }
  }
}

/** Whether a value cannot be mistaken for a word of the document, such as `password` or `user-name`. */
const isDistinct = (value: string): boolean => value.length >= 16 || (value.length >= 8 && /[^a-z_\s-]/i.test(value))
