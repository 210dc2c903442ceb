/**
 * The parts of a connector definition that are changed one at a time: actions, auth methods and webhooks. Each list is read
 * and changed by the same functions, which leave the other members as they are. What they give is validated as a whole.
 */
import { Either } from "effect"
import { closestName } from "../../ClosestName.js"
import { Conflict, invalid, NotFound, type ValidationFailed } from "../../Failure.js"
import { isList, isObject, type Json, type JsonObject } from "../../Json.js"
import { mergePatch } from "./MergePatch.js"

/** A kind of part: the definition's member with the list, the member that tells its items apart, and what it is called. */
export interface PartKind {
  readonly list: "actions" | "auth" | "webhooks"
  readonly key: "name" | "id"
  readonly noun: string
}

export const actionPart: PartKind = { list: "actions", key: "name", noun: "action" }
export const authMethodPart: PartKind = { list: "auth", key: "id", noun: "auth method" }
export const webhookPart: PartKind = { list: "webhooks", key: "id", noun: "webhook" }

/** A definition with a changed part, or why the part cannot be changed so. */
export type PartChange<E> = Either.Either<JsonObject, E>

/** The parts of this kind, in the order of the definition. */
export const partsOf = (definition: JsonObject, { list }: PartKind): ReadonlyArray<JsonObject> => {
  const parts = definition[list]
  return isList(parts) ? parts.filter(isObject) : []
}

/** The part with this key. Left: there is none; the failure names the closest key. */
export const findPart = (definition: JsonObject, kind: PartKind, key: string): Either.Either<JsonObject, NotFound> =>
  Either.map(findPlace(definition, kind, key), ({ part }) => part)

/** Adds a part as the last one. Left: its key is taken. */
export const addPart = (definition: JsonObject, kind: PartKind, part: JsonObject): PartChange<Conflict> => {
  const key = part[kind.key]
  return typeof key === "string" && Either.isRight(findPlace(definition, kind, key))
    ? Either.left(
        new Conflict({ code: "CONFLICT", message: `the connector has the ${kind.noun} ${key}: change that one` })
      )
    : Either.right(withParts(definition, kind, [...partsOf(definition, kind), part]))
}

/** Replaces the part with the same key, or adds the part as the last one. */
export const putPart = (definition: JsonObject, kind: PartKind, part: JsonObject): JsonObject => {
  const key = part[kind.key]
  return Either.getOrElse(
    Either.flatMap(findPlace(definition, kind, typeof key === "string" ? key : ""), ({ at }) =>
      Either.right(withPart(definition, kind, at, part))
    ),
    () => withParts(definition, kind, [...partsOf(definition, kind), part])
  )
}

/** Replaces the part with this key. Left: there is none, or the new part has another key. */
export const replacePart = (
  definition: JsonObject,
  kind: PartKind,
  key: string,
  replace: (part: JsonObject) => JsonObject
): PartChange<NotFound | ValidationFailed> =>
  Either.flatMap(findPlace(definition, kind, key), ({ at, part }) => {
    const changed = replace(part)
    return changed[kind.key] === key
      ? Either.right(withPart(definition, kind, at, changed))
      : Either.left(
          invalid(
            `${kind.list}[${at}].${kind.key}`,
            "IMMUTABLE_FIELD",
            `must be ${key}, as in the path: create another ${kind.noun} to give it another name`,
            "IMMUTABLE_FIELD"
          )
        )
  })

/** Changes the part with this key by a merge patch. Left: there is none, or the patch changes its key. */
export const patchPart = (
  definition: JsonObject,
  kind: PartKind,
  key: string,
  patch: JsonObject
): PartChange<NotFound | ValidationFailed> => replacePart(definition, kind, key, (part) => mergePatch(part, patch))

/** Removes the part with this key. */
export const removePart = (definition: JsonObject, kind: PartKind, key: string): PartChange<NotFound> =>
  Either.map(findPlace(definition, kind, key), ({ part }) =>
    withParts(
      definition,
      kind,
      partsOf(definition, kind).filter((one) => one !== part)
    )
  )

/** Makes the auth method with this id the only default one. */
export const setDefaultMethod = (definition: JsonObject, id: string): PartChange<NotFound> =>
  Either.map(findPlace(definition, authMethodPart, id), ({ part }) =>
    withParts(
      definition,
      authMethodPart,
      partsOf(definition, authMethodPart).map((one) => ({ ...one, default: one === part }))
    )
  )

const findPlace = (
  definition: JsonObject,
  kind: PartKind,
  key: string
): Either.Either<{ readonly at: number; readonly part: JsonObject }, NotFound> => {
  const parts = partsOf(definition, kind)
  const at = parts.findIndex((part) => part[kind.key] === key)
  const part = parts[at]
  return part === undefined
    ? Either.left(new NotFound({ what: kind.noun, meant: closestName(key, keysOf(parts, kind)) }))
    : Either.right({ at, part })
}

const keysOf = (parts: ReadonlyArray<JsonObject>, { key }: PartKind): ReadonlyArray<string> =>
  parts.map((part) => part[key]).filter((one): one is string => typeof one === "string")

const withParts = (definition: JsonObject, { list }: PartKind, parts: ReadonlyArray<Json>): JsonObject => ({
  ...definition,
  [list]: parts
})

const withPart = (definition: JsonObject, kind: PartKind, at: number, part: JsonObject): JsonObject =>
  withParts(definition, kind, partsOf(definition, kind).with(at, part))
