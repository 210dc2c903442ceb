/**
 * How the values of parameters and of a form's members are written: the styles of OpenAPI 3 and the collection formats of
 * Swagger 2 as styles of a definition. What a definition cannot express is reported with the name of the parameter.
 */
import { isList, type Json, type JsonObject } from "../../Json.js"
import type { ListStyle } from "../Action.js"
import { listAt, objectAt, type OpenApiDocument, textAt } from "./OpenApiDocument.js"

/** Reports what is sent in another way than the document says. `message` follows the name of the parameter: "is a list in JSON …". */
export type Report = (message: string) => void

/** The style of a query parameter; `undefined`: scalars only, or a list that is repeated. */
export const queryStyleOf = (
  document: OpenApiDocument,
  parameter: JsonObject,
  report: Report
): ListStyle | undefined => {
  if (document.generation === 2) return collectionStyle(parameter, report)
  if (hasContent(parameter)) return "json"
  return styleOf(parameter, kindsOf(document, parameter["schema"]), report)
}

/**
 * The style of a member of a form in `application/x-www-form-urlencoded`; `undefined`: scalars only, or a list that is
 * repeated. `encoding`: the document's for this member.
 */
export const formStyleOf = (
  document: OpenApiDocument,
  schema: Json | undefined,
  encoding: JsonObject,
  report: Report
): ListStyle | undefined => {
  const kinds = kindsOf(document, schema)
  if (["style", "explode", "allowReserved"].some((name) => encoding[name] !== undefined))
    return styleOf(encoding, kinds, report)
  const type = textAt(encoding, "contentType")
  if (type !== undefined ? /[/+]json\b/i.test(type) : kinds.has("object")) return "json"
  if (kinds.has("array") && hasNestedItems(document, schema))
    report("is a list of objects or lists, which the document has in JSON: it is sent as name[member]=value")
  return undefined
}

/** What precedes a parameter's value in the path: `.` for the style label, `;id=` for matrix. */
export const pathPrefixOf = (document: OpenApiDocument, parameter: JsonObject, report: Report): string => {
  if (document.generation === 2) {
    onlyCommas(parameter, report)
    return ""
  }
  const style = textAt(parameter, "style") ?? "simple"
  const kinds = kindsOf(document, schemaOf(parameter))
  if (kinds.has("object")) report("is an object in the path, which is not supported: a call with one is refused")
  if (kinds.has("array") && hasContent(parameter)) report("is a list in JSON: it is sent joined by commas")
  if (kinds.has("array") && parameter["explode"] === true && style !== "simple")
    report(`is an exploded list in the style ${style}: it is sent joined by commas`)
  if (style === "label") return "."
  if (style === "matrix") return `;${encodeURIComponent((textAt(parameter, "name") ?? "").toWellFormed())}=`
  if (style !== "simple")
    report(`has the style ${style.slice(0, 40)}, which is not one of a path: it is sent as simple`)
  return ""
}

/** Reports a header's list or object that is not sent as the document says. */
export const checkHeaderStyle = (document: OpenApiDocument, parameter: JsonObject, report: Report): void => {
  if (document.generation === 2) return onlyCommas(parameter, report)
  const kinds = kindsOf(document, schemaOf(parameter))
  if (kinds.has("array") && hasContent(parameter)) report("is a list in JSON: it is sent joined by commas")
  if (kinds.has("object") && !hasContent(parameter)) report("is an object in a header: it is sent as JSON")
}

/** Reports a cookie's list or object that is not sent as the document says. */
export const checkCookieStyle = (document: OpenApiDocument, parameter: JsonObject, report: Report): void => {
  const kinds = kindsOf(document, schemaOf(parameter))
  if (kinds.has("array") && (hasContent(parameter) || parameter["explode"] !== false))
    report("is a list in a cookie: it is sent joined by commas")
  if (kinds.has("object") && !hasContent(parameter)) report("is an object in a cookie: it is sent as JSON")
}

/** The style of a list of Swagger 2 in the query or a form; `undefined`: scalars only, or a list that is repeated. */
export const collectionStyle = (parameter: JsonObject, report: Report): ListStyle | undefined => {
  if (parameter["type"] !== "array") return undefined
  if (objectAt(parameter, "items")["type"] === "array") report("is a list of lists: the inner ones are sent as JSON")
  const format = textAt(parameter, "collectionFormat") ?? "csv"
  if (format === "multi") return undefined
  if (Object.hasOwn(formats, format)) return formats[format]
  report(`has the unknown collectionFormat ${format.slice(0, 40)}: it is sent joined by commas`)
  return "comma"
}

/** The types of the values that a schema takes, also in its branches; empty if it does not say. */
export const kindsOf = (document: OpenApiDocument, schema: Json | undefined): ReadonlySet<string> => {
  const kinds = new Set<string>()
  for (const part of branchesOf(document, schema)) {
    const { type } = part
    for (const one of isList(type) ? type : [type]) if (typeof one === "string") kinds.add(one)
    if (type !== undefined) continue
    if (part["properties"] !== undefined || part["additionalProperties"] !== undefined) kinds.add("object")
    else if (part["items"] !== undefined) kinds.add("array")
  }
  return kinds
}

/** A schema with its branches: those of `allOf`, `anyOf` and `oneOf`. */
export const branchesOf = (document: OpenApiDocument, schema: Json | undefined): ReadonlyArray<JsonObject> => {
  const waiting: Array<Json | undefined> = [schema]
  const found: Array<JsonObject> = []
  for (let at = 0; at < waiting.length && at < mostBranches; at++) {
    const part = document.part(waiting[at])
    found.push(part)
    for (const name of ["allOf", "anyOf", "oneOf"]) waiting.push(...listAt(part, name).slice(0, mostBranches))
  }
  return found
}

const mostBranches = 64

const formats: { readonly [format: string]: ListStyle } = { csv: "comma", ssv: "space", tsv: "tab", pipes: "pipe" }

const delimited: { readonly [style: string]: ListStyle } = { spaceDelimited: "space", pipeDelimited: "pipe" }

/** The style that `style` and `explode` of OpenAPI 3 say. */
const styleOf = (
  { explode, style = "form" }: JsonObject,
  kinds: ReadonlySet<string>,
  report: Report
): ListStyle | undefined => {
  if (style === "deepObject") return "brackets"
  const joint = typeof style === "string" && Object.hasOwn(delimited, style) ? delimited[style] : undefined
  if (joint === undefined && style !== "form")
    report(`has the unknown style ${String(style).slice(0, 40)}: it is sent in the style form`)
  const isExploded = joint === undefined ? explode !== false : explode === true
  if (isExploded) return kinds.has("object") ? "members" : undefined
  if (kinds.has("object")) report("is an object whose members are joined in one text: it is sent as name[member]=value")
  return kinds.has("array") || kinds.size === 0 ? (joint ?? "comma") : undefined
}

const onlyCommas = (parameter: JsonObject, report: Report): void => {
  const style = collectionStyle(parameter, report)
  if (parameter["type"] === "array" && style !== "comma")
    report(
      `has the collectionFormat ${String(parameter["collectionFormat"]).slice(0, 40)}: it is sent joined by commas`
    )
}

const hasNestedItems = (document: OpenApiDocument, schema: Json | undefined): boolean =>
  branchesOf(document, schema).some((part) => {
    const kinds = kindsOf(document, part["items"])
    return kinds.has("object") || kinds.has("array")
  })

const hasContent = (parameter: JsonObject): boolean => Object.keys(objectAt(parameter, "content")).length > 0

/** The schema of a parameter, also of one that has a media type. */
const schemaOf = (parameter: JsonObject): Json | undefined => {
  const [media] = Object.keys(objectAt(parameter, "content"))
  return (
    parameter["schema"] ?? (media === undefined ? undefined : objectAt(objectAt(parameter, "content"), media)["schema"])
  )
}
