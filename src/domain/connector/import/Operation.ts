/** Imports one operation of an OpenAPI document as an action, with parameters and body as one object of arguments. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { encodeHeader } from "../request/ValueEncoding.js"
import { importBody } from "./ImportedBody.js"
import { type OpenApiDocument, listAt, objectAt, textAt, UniqueNames } from "./OpenApiDocument.js"
import type { SchemaConversion } from "./SchemaConversion.js"
import { Either } from "effect"

interface Parameter {
  readonly in: string
  readonly name: string
  readonly argument: string
  readonly required: boolean
  readonly schema: JsonObject
  readonly style: string | undefined
}

/** The operation's place in the document. */
export interface OperationPlace {
  readonly method: string
  readonly path: string
  readonly name: string
  /** Parameters of the path item, which all its operations have. */
  readonly shared: ReadonlyArray<Json>
  /** The operation's own base URL; `undefined`: the connector's. */
  readonly base: string | undefined
}

/** The action as in a definition. */
export const importOperation = (
  document: OpenApiDocument,
  { convert }: SchemaConversion,
  operation: JsonObject,
  place: OperationPlace
): JsonObject => {
  const usedNames = new UniqueNames(["body"])
  const parameters = parametersOf(document, convert, operation, place, usedNames)
  const body = ["GET", "HEAD"].includes(place.method)
    ? undefined
    : importBody(document, convert, operation, place.shared)
  const { idempotency, rest } = splitIdempotencyKey(parameters)
  const query = rest.filter((one) => one.in === "query")
  const styles = query.flatMap(({ name, style }) => (style === undefined ? [] : [[name, style] as const]))
  const headers = headersOf(rest)
  const required = [
    ...rest.filter((one) => one.required).map(({ argument }) => argument),
    ...(body?.required === true ? ["body"] : [])
  ]
  const title = textAt(operation, "summary")?.trim().slice(0, 200)
  const description = textAt(operation, "description")?.trim().slice(0, 1_000)
  return {
    name: place.name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    readOnly: ["GET", "HEAD", "OPTIONS"].includes(place.method),
    request: {
      method: place.method,
      path: `${place.base ?? ""}${pathOf(place.path, rest)}`,
      ...(query.length === 0
        ? {}
        : { query: Object.fromEntries(query.map((one) => [one.name, argumentTemplate(one.argument)])) }),
      ...(styles.length === 0 ? {} : { queryStyles: Object.fromEntries(styles) }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(body === undefined ? {} : { body: "{{args.body}}", ...body.form })
    },
    ...(idempotency === undefined ? {} : { idempotency: { header: idempotency } }),
    response: { type: successAnswer(document, operation).type },
    inputSchema: {
      type: "object",
      properties: Object.fromEntries([
        ...rest.map((one): [string, Json] => [one.argument, one.schema]),
        ...(body === undefined ? [] : [["body", body.schema] satisfies [string, Json]])
      ]),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false
    },
    outputSchema: convert(successAnswer(document, operation).schema)
  }
}

/** A unique action name, from the operation's id or else its method and path. */
export const actionName = (operation: JsonObject, method: string, path: string, usedNames: UniqueNames): string => {
  const own = textAt(operation, "operationId")
  const words = (own ?? `${method.toLowerCase()} ${path.replace(/\{([^}]*)\}/g, "by $1")}`)
    .normalize("NFKD")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
  const name = words.map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join("")
  const plain = /^[A-Za-z]/.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : `call${name}`
  return usedNames.take(plain, 120)
}

// --- Parameters ---

const parametersOf = (
  document: OpenApiDocument,
  convert: SchemaConversion["convert"],
  operation: JsonObject,
  place: OperationPlace,
  usedNames: UniqueNames
): ReadonlyArray<Parameter> => {
  const all = new Map<string, JsonObject>()
  for (const given of [...place.shared, ...listAt(operation, "parameters")]) {
    const parameter = document.part(given)
    const name = textAt(parameter, "name")
    if (name !== undefined) all.set(`${textAt(parameter, "in") ?? ""} ${name}`, parameter)
  }
  for (const [, name = ""] of place.path.matchAll(/\{([^{}]+)\}/g)) {
    const plain = parameterName(name)
    if (!all.has(`path ${plain}`)) all.set(`path ${plain}`, { in: "path", name: plain, schema: { type: "string" } })
  }
  return [...all.values()].flatMap((parameter): ReadonlyArray<Parameter> => {
    const where = textAt(parameter, "in") ?? ""
    const name = textAt(parameter, "name") ?? ""
    if (!["path", "query", "header", "cookie"].includes(where) || (where === "header" && !isSettableHeader(name)))
      return []
    // Path parameters that the path does not have are left out.
    if (where === "path" && !placeNames(place.path).includes(name)) return []
    return [
      {
        in: where,
        name,
        argument: argumentOf(name, where, usedNames),
        required: where === "path" || parameter["required"] === true,
        schema: schemaOf(document, convert, parameter),
        style: where === "query" ? styleOf(document, parameter) : undefined
      }
    ]
  })
}

const argumentOf = (name: string, where: string, usedNames: UniqueNames): string => {
  return usedNames.take(usedNames.has(name) ? `${name}_${where}` : name, 200)
}

/** Some documents write `{id:[0-9]+}` or `{path*}`. */
const parameterName = (name: string) => name.split(":")[0]?.replace(/[*+?]$/, "") ?? name
const placeNames = (path: string) => [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => parameterName(name))

/** Whether a header parameter can be set by an argument, and not only by the sender or the credential. */
const isSettableHeader = (name: string): boolean =>
  !["accept", "content-type", "authorization", "content-length"].includes(name.toLowerCase()) &&
  Either.isRight(encodeHeader(name, "", ""))

const schemaOf = (document: OpenApiDocument, convert: SchemaConversion["convert"], parameter: JsonObject) => {
  const [media] = Object.values(objectAt(parameter, "content")).filter(isObject)
  const source = parameter["schema"] ?? media?.["schema"] ?? (document.generation === 2 ? parameter : {})
  const schema = convert(source)
  const description = textAt(parameter, "description")?.slice(0, 1_000)
  return description === undefined || schema["description"] !== undefined ? schema : { ...schema, description }
}

const formats: { readonly [format: string]: string } = { csv: "comma", ssv: "space", tsv: "space", pipes: "pipe" }
const styles: { readonly [style: string]: string } = {
  spaceDelimited: "space",
  pipeDelimited: "pipe",
  deepObject: "brackets"
}

/** The style of a list; `undefined` for repeated parameters and other values. */
const styleOf = (document: OpenApiDocument, parameter: JsonObject): string | undefined => {
  if (Object.keys(objectAt(parameter, "content")).length > 0) return "json"
  const source = document.generation === 2 ? parameter : document.part(parameter["schema"])
  const style = textAt(parameter, "style")
  if (style !== undefined && Object.hasOwn(styles, style)) return styles[style]
  if (source["type"] !== "array") return undefined
  if (document.generation === 2) {
    const format = textAt(parameter, "collectionFormat") ?? "csv"
    return Object.hasOwn(formats, format) ? formats[format] : undefined
  }
  return parameter["explode"] === false ? "comma" : undefined
}

/** Separates the header of the idempotency key, which the service sets itself. */
const splitIdempotencyKey = (parameters: ReadonlyArray<Parameter>) => {
  const key = parameters.find((one) => one.in === "header" && /^(?:x-)?idempotency-key$/i.test(one.name))
  return { idempotency: key?.name, rest: parameters.filter((one) => one !== key) }
}

const headersOf = (parameters: ReadonlyArray<Parameter>): JsonObject => {
  const headers = parameters.filter((one) => one.in === "header")
  const cookies = parameters.filter((one) => one.in === "cookie" && one.required)
  return {
    ...Object.fromEntries(headers.map((one) => [one.name, argumentTemplate(one.argument)])),
    ...(cookies.length === 0
      ? {}
      : { Cookie: cookies.map((one) => `${one.name}=${argumentTemplate(one.argument)}`).join("; ") })
  }
}

// --- Path ---

/** The template of an argument with any name. */
const argumentTemplate = (argument: string): string =>
  /^[A-Za-z_$][\w$-]*$/.test(argument) ? `{{args.${argument}}}` : `{{args[${JSON.stringify(argument)}]}}`

const pathOf = (path: string, parameters: ReadonlyArray<Parameter>): string => {
  const arguments_ = new Map(parameters.filter((one) => one.in === "path").map((one) => [one.name, one.argument]))
  const [plain = ""] = path.split("#")
  const parts = plain.split(/\{([^{}]+)\}/)
  const text = parts
    .map((part, at) => {
      if (at % 2 === 0) return encodeURI(part.toWellFormed().replace(/[{}]/g, "")).replace(/%25/g, "%")
      const name = parameterName(part)
      return argumentTemplate(arguments_.get(name) ?? name)
    })
    .join("")
  return text.startsWith("/") ? text : `/${text}`
}

/** The type and schema of an action's answer. */
export interface SuccessAnswer {
  /** `response.type` of the action. */
  readonly type: "json" | "text" | "base64" | "auto"
  readonly schema: Json | undefined
}

/** The answer of the operation's first success status. */
export const successAnswer = (document: OpenApiDocument, operation: JsonObject): SuccessAnswer => {
  const responses = objectAt(operation, "responses")
  const status = Object.keys(responses)
    .filter((one) => /^2(?:\d\d|XX)$/i.test(one))
    .sort()
    .at(0)
  if (status === undefined) return { type: "auto", schema: undefined }
  const response = document.part(responses[status])
  if (document.generation === 2) {
    const produces = [...listAt(operation, "produces"), ...listAt(document.root, "produces")].map(String)
    const { schema } = response
    return { type: isObject(schema) && schema["type"] === "file" ? "base64" : typeOf(produces), schema }
  }
  const content = objectAt(response, "content")
  const types = Object.keys(content)
  const json = types.find(isJson)
  return { type: typeOf(types), schema: json === undefined ? undefined : objectAt(content, json)["schema"] }
}

const isJson = (type: string) => /^(?:application|text)\/(?:[\w.+-]*\+)?json\b/i.test(type)

const typeOf = (types: ReadonlyArray<string>): SuccessAnswer["type"] => {
  if (types.every(isJson)) return "json"
  if (types.some(isJson) || types.some((type) => type.includes("*"))) return "auto"
  return types.every((type) => /^text\/|[/+]xml\b/i.test(type)) ? "text" : "base64"
}
