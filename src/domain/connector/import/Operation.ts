/** Imports one operation of an OpenAPI document as an action, with parameters and body as one object of arguments. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import type { ListStyle } from "../Action.js"
import { encodeHeader, isHeaderName } from "../request/ValueEncoding.js"
import { importBody } from "./ImportedBody.js"
import { type OpenApiDocument, listAt, objectAt, textAt, UniqueNames } from "./OpenApiDocument.js"
import { checkCookieStyle, checkHeaderStyle, pathPrefixOf, queryStyleOf, type Report } from "./ParameterStyle.js"
import type { SchemaConversion } from "./SchemaConversion.js"
import { Either } from "effect"

interface Parameter {
  readonly in: string
  readonly name: string
  readonly argument: string
  readonly required: boolean
  readonly schema: JsonObject
  /** Of a list or an object in the query. */
  readonly style: ListStyle | undefined
  /** What precedes the value in the path. */
  readonly prefix: string
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
  const body = ["GET", "HEAD"].includes(place.method) ? undefined : importBody(document, convert, operation, place)
  const { idempotency, rest } = splitIdempotencyKey(parameters)
  const query = rest.filter((one) => one.in === "query")
  const styles = query.flatMap(({ name, style }) => (style === undefined ? [] : [[name, style] as const]))
  const headers = templatesOf(rest, "header")
  const cookies = templatesOf(rest, "cookie")
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
      ...(query.length === 0 ? {} : { query: templatesOf(rest, "query") }),
      ...(styles.length === 0 ? {} : { queryStyles: Object.fromEntries(styles) }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(Object.keys(cookies).length === 0 ? {} : { cookies }),
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
    const report: Report = (message) =>
      document.warn(
        `paths.${place.path}.${place.method.toLowerCase()}.parameters.${name}`,
        `the parameter "${name.slice(0, 200)}" ${message}.`
      )
    if (where === "cookie" && !isHeaderName(name)) {
      report("has a name that no cookie can have: it is left out")
      return []
    }
    if (where === "header") checkHeaderStyle(document, parameter, report)
    if (where === "cookie") checkCookieStyle(document, parameter, report)
    return [
      {
        in: where,
        name,
        argument: argumentOf(name, where, usedNames),
        required: where === "path" || parameter["required"] === true,
        schema: schemaOf(document, convert, parameter),
        style: where === "query" ? queryStyleOf(document, parameter, report) : undefined,
        prefix: where === "path" ? pathPrefixOf(document, parameter, report) : ""
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

/** Separates the header of the idempotency key, which the service sets itself. */
const splitIdempotencyKey = (parameters: ReadonlyArray<Parameter>) => {
  const key = parameters.find((one) => one.in === "header" && /^(?:x-)?idempotency-key$/i.test(one.name))
  return { idempotency: key?.name, rest: parameters.filter((one) => one !== key) }
}

/** The templates of the parameters in one place, by their names. */
const templatesOf = (parameters: ReadonlyArray<Parameter>, where: string): JsonObject =>
  Object.fromEntries(
    parameters.filter((one) => one.in === where).map((one) => [one.name, argumentTemplate(one.argument)])
  )

// --- Path ---

/** The template of an argument with any name. */
const argumentTemplate = (argument: string): string =>
  /^[A-Za-z_$][\w$-]*$/.test(argument) ? `{{args.${argument}}}` : `{{args[${JSON.stringify(argument)}]}}`

const pathOf = (path: string, parameters: ReadonlyArray<Parameter>): string => {
  const values = new Map(
    parameters
      .filter((one) => one.in === "path")
      .map((one) => [one.name, `${one.prefix}${argumentTemplate(one.argument)}`])
  )
  const [plain = ""] = path.split("#")
  const parts = plain.split(/\{([^{}]+)\}/)
  const text = parts
    .map((part, at) => {
      if (at % 2 === 0) return encodeURI(part.toWellFormed().replace(/[{}]/g, "")).replace(/%25/g, "%")
      const name = parameterName(part)
      return values.get(name) ?? argumentTemplate(name)
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
