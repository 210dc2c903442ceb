/** Finds mistakes in actions: in requests, responses, pagination and schemas. */
import { Either } from "effect"
import type { Json, JsonObject } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { configRoot } from "./AuthChecks.js"
import { patternMistake } from "../expression/Pattern.js"
import { headerMistakes } from "./VerificationChecks.js"
import { ownOrigin } from "./request/BaseUrl.js"
import {
  conditionMistakes,
  mistakeAt,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  type RootCheck,
  templateMistakes,
  templatesIn,
  mistakeUnless
} from "../expression/Checks.js"
import type { ConnectorDefinition } from "./Definition.js"
import { scanItemPath } from "../mapping/ItemPath.js"
import { isDotSegment, isHeaderName } from "./request/ValueEncoding.js"
import { templatePaths } from "../expression/Template.js"
import { parseTemplate } from "../expression/Parsing.js"

/** Finds the mistakes in a JSON Schema. */
export type SchemaMistakes = (schema: JsonObject) => Mistakes

/** The form of an action's name. */
export const actionNamePattern = /^[A-Za-z][A-Za-z0-9_]{0,127}$/

/** The mistakes in one action. `path`: its place in the definition. */
export const actionMistakes = (
  definition: ConnectorDefinition,
  action: ActionDefinition,
  path: string,
  findSchemaMistakes: SchemaMistakes
): Mistakes => [
  ...mistakeUnless(
    actionNamePattern.test(action.name),
    `${path}.name`,
    "INVALID_VALUE",
    "must be a letter and up to 127 letters, digits and _"
  ),
  ...requestMistakes(definition, action, `${path}.request`),
  ...responseMistakes(action, `${path}.response`),
  ...pageMistakes(action, `${path}.pagination`),
  ...prefixMistakes(`${path}.inputSchema`, findSchemaMistakes(action.inputSchema)),
  ...prefixMistakes(`${path}.outputSchema`, findSchemaMistakes(action.outputSchema)),
  ...(action.idempotency?.header === undefined
    ? []
    : headerMistakes(action.idempotency.header, `${path}.idempotency.header`))
]

/** Prefixes the paths of a part's mistakes with the place of the part. */
export const prefixMistakes = (path: string, mistakes: Mistakes): Mistakes =>
  mistakes.map((one) => ({ ...one, path: one.path === "" ? path : `${path}.${one.path}` }))

/** Checks that a request's template begins with a known name. */
const requestRoots = (definition: ConnectorDefinition): RootCheck => {
  const config = configRoot(definition)
  return (path) => {
    const [root] = path
    if (root === "args" || root === "idempotencyKey") return undefined
    return root === "connection"
      ? config(path)
      : `"${String(root)}" is not known here: use args, connection.config or idempotencyKey`
  }
}

const requestMistakes = (definition: ConnectorDefinition, action: ActionDefinition, path: string): Mistakes => {
  const { request } = action
  const roots = requestRoots(definition)
  const mail = request.method === "SEND" || request.method === "VERIFY"
  return [
    ...mistakeUnless(
      mail === (definition.transport === "smtp"),
      `${path}.method`,
      "INVALID_VALUE",
      mail ? "SEND and VERIFY are methods of the transport smtp" : "the transport smtp has the methods SEND and VERIFY"
    ),
    ...urlPathMistakes(request.path, `${path}.path`, roots),
    ...templatesIn(`${path}.query`, request.query, roots),
    ...templatesIn(`${path}.headers`, request.headers, roots),
    ...(typeof request.headers === "string"
      ? []
      : Object.keys(request.headers).flatMap((name) => headerMistakes(name, `${path}.headers`))),
    ...templatesIn(`${path}.cookies`, request.cookies ?? {}, roots),
    ...Object.keys(request.cookies ?? {}).flatMap((name) =>
      mistakeUnless(isHeaderName(name), `${path}.cookies`, "INVALID_VALUE", `"${name}" is not the name of a cookie`)
    ),
    ...templatesIn(`${path}.body`, request.body, roots),
    ...mistakesInEach(`${path}.increments`, request.increments ?? [], (one, at) => pathMistakes(at, one)),
    ...mistakeUnless(
      request.body === null || (request.method !== "GET" && request.method !== "HEAD"),
      `${path}.body`,
      "NOT_ALLOWED",
      `a ${request.method} request has no body`
    )
  ]
}

const urlPathMistakes = (text: string, path: string, roots: RootCheck): Mistakes => {
  const origin = ownOrigin(text)
  const plain = text.slice(origin?.length ?? 0).replace(/\{\{.*?\}\}/g, "x")
  return [
    ...templateMistakes(path, text, roots),
    ...mistakeUnless(
      !text.startsWith("http://") && (plain === "" || plain.startsWith("/") || plain.startsWith("?")),
      path,
      "INVALID_PATH",
      "must begin with / or with https:// and a host in plain text"
    ),
    ...mistakeUnless(!plain.includes("#"), path, "INVALID_PATH", "has a fragment"),
    ...mistakeUnless(
      !(plain.split("?")[0] ?? "").split(/[/\\]/).some(isDotSegment),
      path,
      "INVALID_PATH",
      'has "." or ".." as a part'
    ),
    ...mistakeUnless(!/\s/.test(plain), path, "INVALID_PATH", "has white space")
  ]
}

const responseMistakes = ({ response }: ActionDefinition, path: string): Mistakes => [
  ...(typeof response.map === "string"
    ? pathMistakes(`${path}.map`, response.map)
    : templatesIn(`${path}.map`, response.map, ([root]) =>
        ["body", "status", "headers", "args"].includes(String(root))
          ? undefined
          : `"${String(root)}" is not known here: use body, status, headers or args`
      )),
  ...conditionMistakes(`${path}.errorWhen`, response.errorWhen, patternMistake),
  ...pathMistakes(`${path}.errorMessage`, response.errorMessage),
  ...pathMistakes(`${path}.errorCode`, response.errorCode)
]

const pageMistakes = (action: ActionDefinition, path: string): Mistakes => {
  const { pagination } = action
  if (pagination === undefined) return []
  const param = pagination.param ?? (pagination.type === "cursor" ? undefined : pagination.type)
  const followed = pagination.type === "link" && pagination.param === undefined
  return [
    ...(["next", "hasMore", "total", "totalPages"] as const).flatMap((name) =>
      pathMistakes(`${path}.${name}`, pagination[name])
    ),
    ...itemsMistakes(pagination.items, `${path}.items`),
    ...mistakeUnless(
      pagination.type !== "cursor" || pagination.next !== undefined || pagination.nextHeader !== undefined,
      `${path}.next`,
      "REQUIRED",
      "is required by the type cursor"
    ),
    ...mistakeUnless(param !== undefined || followed, `${path}.param`, "REQUIRED", "is required by the type cursor"),
    ...mistakeUnless(
      param === undefined || followed || readsArgument(action, param),
      `${path}.param`,
      "UNUSED",
      `the request never reads args.${param}, so every page would be the first`
    )
  ]
}

const itemsMistakes = (items: string | undefined, path: string): Mistakes => {
  const scanned = items === undefined ? undefined : scanItemPath(items)
  return scanned !== undefined && "mistake" in scanned
    ? mistakeAt(path, "INVALID_PATH", `"${items ?? ""}" ${scanned.mistake}`)
    : []
}

/** Whether any template of the request reads the argument, by its name or as part of `args`. */
const readsArgument = ({ request }: ActionDefinition, name: string): boolean =>
  stringsIn([request.path, request.query, request.headers, request.cookies ?? {}, request.body]).some((text) =>
    Either.match(parseTemplate(text), {
      onLeft: () => false,
      onRight: (parts) =>
        templatePaths(parts).some(([root, member]) => root === "args" && (member === undefined || member === name))
    })
  )

const stringsIn = (value: Json): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/** The mistakes in all actions. */
export const actionsMistakes = (definition: ConnectorDefinition, findSchemaMistakes: SchemaMistakes): Mistakes =>
  mistakesInEach("actions", definition.actions, (action, path) =>
    actionMistakes(definition, action, path, findSchemaMistakes)
  )
