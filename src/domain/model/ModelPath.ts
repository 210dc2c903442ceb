/** Finds the type at a path into a common record. */
import { closestName } from "../ClosestName.js"
import type { Path } from "../expression/Path.js"
import type { ItemPath } from "../mapping/ItemPath.js"
import type { ModelField, FieldType, Model } from "./FieldType.js"

/** Beyond this index no map sets an item. */
export const maxIndex = 99

/** A type, or why there is none at the path. */
export type FoundType = { readonly type: FieldType } | { readonly mistake: string }

/** The type of the value at a path; below members with any content it is any value. */
export const typeAt = (model: Model, path: ItemPath): FoundType => {
  let at: FoundType = { type: { kind: "object", fields: model.fields } }
  for (const [index, part] of path.entries()) {
    if (index > 0) at = itemOf(at, "[*]")
    at = below(model, at, part)
    if ("mistake" in at) return at
  }
  return at
}

const below = (model: Model, from: FoundType, path: Path): FoundType => {
  let at = from
  for (const segment of path) {
    if ("mistake" in at) return at
    const { type } = at
    if (typeof segment === "number") {
      at =
        segment < 0
          ? { mistake: "counts from the end of a list, which a common record cannot" }
          : segment > maxIndex
            ? { mistake: `is beyond the index ${maxIndex}, which a map does not fill` }
            : itemOf(at, `[${segment}]`)
    } else if (type.kind === "object") {
      const field: ModelField | undefined = Object.hasOwn(type.fields, segment) ? type.fields[segment] : undefined
      if (field === undefined) return { mistake: unknownMember(model.name, segment, Object.keys(type.fields)) }
      at = { type: field.type }
    } else if (type.kind === "json" || type.kind === "any") {
      at = { type: { kind: "any" } }
    } else {
      return { mistake: `${model.name}: "${segment}" would be a member of a ${kindText(type)}` }
    }
  }
  return at
}

/** What a record that lacks a member is told. */
export const unknownMember = (model: string, name: string, members: ReadonlyArray<string>): string =>
  `${model} has no member "${name.slice(0, 60)}"${memberHint(name, members)}`

/** What to put behind a refusal of a name: the closest member, else all of them. */
export const memberHint = (name: string, members: ReadonlyArray<string>): string => {
  const near = closestName(name, members)
  return near === undefined ? `; it has ${members.join(", ")}` : `: did you mean ${near}?`
}

const itemOf = (from: FoundType, segment: string): FoundType => {
  if ("mistake" in from) return from
  const { type } = from
  if (type.kind === "list") return { type: type.of }
  if (type.kind === "any" || type.kind === "json") return { type: { kind: "any" } }
  return { mistake: `${segment} stands behind a ${kindText(type)}, which is no list` }
}

/** What people call values of the type. */
export const kindText = (type: FieldType): string => {
  switch (type.kind) {
    case "list":
      return "list"
    case "object":
    case "json":
      return "object"
    case "enum":
      return `word of ${type.values.join(", ")}`
    case "money":
      return "decimal amount such as 12.50"
    case "dateTime":
      return "time such as 2026-01-31T12:00:00Z"
    case "currency":
      return "currency such as EUR"
    case "country":
      return "country such as DE"
    case "email":
      return "e-mail address"
    case "phone":
      return "phone number"
    case "integer":
      return "whole number"
    case "share":
      return "number from 0 to 1"
    case "number":
      return "number"
    case "boolean":
      return "boolean"
    case "any":
      return "value"
    case "text":
      return "text"
  }
}
