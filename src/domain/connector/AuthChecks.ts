/** Finds mistakes in the base URL and in auth methods. */
import type { JsonObject } from "../Json.js"
import type { AuthMethod, CredentialField, Injection } from "./AuthMethod.js"
import {
  duplicateMistakes,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  type RootCheck,
  templateMistakes,
  mistakeUnless,
  mistakeAt
} from "../expression/Checks.js"
import { schemaPatternMistake } from "../expression/Pattern.js"
import type { ConnectorDefinition } from "./Definition.js"
import { headerMistakes } from "./VerificationChecks.js"
import { payloadNames, signerNames } from "./request/Signing.js"
import { cachedTemplate } from "../expression/Template.js"
import { parseUrl } from "../Url.js"

/** The members of `connection.config`: those of its schema, and those set while connecting. */
export const configNames = (definition: ConnectorDefinition): ReadonlySet<string> | "any" => {
  const properties = definition.connectionConfig?.["properties"]
  const declared = isObject(properties) ? Object.keys(properties) : []
  if (definition.connectionConfig !== undefined && !isObject(properties)) return "any"
  const learned = definition.auth.flatMap((method) =>
    method.type === "oauth2" ? [...Object.keys(method.callbackConfig), ...Object.keys(method.tokenConfig)] : []
  )
  return new Set([...declared, ...learned, ...Object.keys(definition.test?.config ?? {})])
}

/** Checks that a path is `connection.config.NAME` with a known name. */
export const configRoot = (definition: ConnectorDefinition): RootCheck => {
  const names = configNames(definition)
  return ([root, config, name]) => {
    if (root !== "connection" || config !== "config") return `"${String(root)}" is not known here`
    if (names === "any" || name === undefined || names.has(String(name))) return undefined
    return `connectionConfig has no property "${String(name)}"`
  }
}

/** The mistakes in the base URL. */
export const baseMistakes = (definition: ConnectorDefinition): Mistakes => {
  const [first] = cachedTemplate(definition.baseUrl)
  const schemes = definition.transport === "smtp" ? /^smtps?:\/\// : /^https:\/\/./
  const isExpression = first?._tag === "Expression"
  return [
    ...templateMistakes("baseUrl", definition.baseUrl, configRoot(definition)),
    ...mistakeUnless(
      isExpression || schemes.test(definition.baseUrl),
      "baseUrl",
      "INVALID_URL",
      definition.transport === "smtp"
        ? "must begin with smtp:// or smtps://, or be the connection's config"
        : "must begin with https://, or be the connection's config"
    ),
    ...mistakeUnless(
      isExpression || definition.baseUrl.includes("{{") || parseUrl(definition.baseUrl) !== undefined,
      "baseUrl",
      "INVALID_URL",
      "is not a URL"
    ),
    ...mistakeUnless(
      !/[?#]/.test(definition.baseUrl.replace(/\{\{.*?\}\}/g, "")),
      "baseUrl",
      "INVALID_URL",
      "has a query or a fragment"
    )
  ]
}

/** The mistakes in all auth methods. */
export const authMistakes = (definition: ConnectorDefinition): Mistakes => [
  ...mistakeUnless(definition.auth.length > 0, "auth", "REQUIRED", "needs at least one method; the type none suffices"),
  ...duplicateMistakes(
    "auth",
    "id",
    definition.auth.map(({ id }) => id)
  ),
  ...mistakeUnless(
    definition.auth.filter((one) => one.default).length <= 1,
    "auth",
    "DUPLICATE",
    "has more than one default method"
  ),
  ...mistakesInEach("auth", definition.auth, (method, path) => methodMistakes(definition, method, path))
]

const methodMistakes = (definition: ConnectorDefinition, method: AuthMethod, path: string): Mistakes => [
  ...mistakeUnless(
    /^[A-Za-z][\w-]{0,63}$/.test(method.id),
    `${path}.id`,
    "INVALID_VALUE",
    "must be a letter and up to 63 letters, digits, - and _"
  ),
  ...mistakesInEach(`${path}.inject`, method.inject, (one, at) => injectionMistakes(definition, method, one, at)),
  ...("fields" in method ? fieldMistakes(method.fields, `${path}.fields`) : []),
  ...kindMistakes(definition, method, path)
]

const kindMistakes = (definition: ConnectorDefinition, method: AuthMethod, path: string): Mistakes => {
  switch (method.type) {
    case "oauth2":
      return oauthMistakes(definition, method, path)
    case "api_key":
      return mistakeUnless(method.fields.length > 0, `${path}.fields`, "REQUIRED", "needs at least one field")
    case "custom":
      return [
        ...mistakeUnless(
          method.sign === undefined || signerNames.includes(method.sign),
          `${path}.sign`,
          "UNKNOWN_NAME",
          `must be one of ${signerNames.join(", ")}`
        ),
        ...(method.sign === undefined ? [] : signingMistakes(method, path))
      ]
    default:
      return []
  }
}

const signingMistakes = (method: Extract<AuthMethod, { type: "custom" }>, path: string): Mistakes => {
  const named = [...method.signing.payload.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
  return [
    ...named
      .filter((name) => !payloadNames.includes(name))
      .flatMap((name) =>
        mistakeAt(
          `${path}.signing.payload`,
          "UNKNOWN_NAME",
          `there is no {${name}}: use ${payloadNames.map((one) => `{${one}}`).join(", ")}`
        )
      ),
    ...(method.sign === "hook:digest"
      ? []
      : templateMistakes(`${path}.signing.key`, method.signing.key, credentialRoot(method))),
    ...mistakesInEach(
      `${path}.signing`,
      [method.signing.header, method.signing.timestampHeader ?? "x", method.signing.nonceHeader ?? "x"],
      (name) => headerMistakes(name, `${path}.signing`)
    )
  ]
}

const oauthMistakes = (
  definition: ConnectorDefinition,
  method: Extract<AuthMethod, { type: "oauth2" }>,
  path: string
): Mistakes => [
  ...mistakeUnless(
    method.grant !== "authorization_code" || method.authorizationUrl !== undefined,
    `${path}.authorizationUrl`,
    "REQUIRED",
    "is required by the grant authorization_code"
  ),
  ...(["authorizationUrl", "tokenUrl", "revocationUrl"] as const).flatMap((name) => {
    const url = method[name]
    if (url === undefined) return []
    const at = `${path}.${name}`
    return [
      ...templateMistakes(at, url, configRoot(definition)),
      ...mistakeUnless(/^(?:https:\/\/|\{\{)/.test(url), at, "INVALID_URL", "must begin with https://")
    ]
  }),
  ...mistakeUnless(
    method.clientSecret === undefined || method.clientId !== undefined,
    `${path}.clientId`,
    "REQUIRED",
    "is required beside clientSecret"
  ),
  ...Object.entries(method.tokenConfig).flatMap(([name, text]) => pathMistakes(`${path}.tokenConfig.${name}`, text))
]

/** Members of a credential that a method has without declaring them as fields. */
const implicitMembers: { readonly [type in AuthMethod["type"]]: ReadonlyArray<string> } = {
  oauth2: ["accessToken", "clientId", "idToken", "tokenType"],
  api_key: [],
  basic: ["basic"],
  custom: [],
  none: []
}

const credentialRoot =
  (method: AuthMethod): RootCheck =>
  ([root, name]) => {
    if (root !== "credential") return `"${String(root)}" is not known here`
    const fields = "fields" in method ? method.fields.map((field) => field.name) : []
    return [...fields, ...implicitMembers[method.type]].includes(String(name))
      ? undefined
      : `the method has no field "${String(name)}"`
  }

const injectionMistakes = (definition: ConnectorDefinition, method: AuthMethod, injection: Injection, path: string) => {
  const [config, credential] = [configRoot(definition), credentialRoot(method)]
  return [
    ...templateMistakes(`${path}.value`, injection.value, (one) =>
      one[0] === "connection" ? config(one) : credential(one)
    ),
    ...templateMistakes(`${path}.name`, injection.name, config),
    ...(injection.in === "header" && !injection.name.includes("{{")
      ? headerMistakes(injection.name, `${path}.name`)
      : []),
    ...mistakeUnless(injection.name !== "", `${path}.name`, "REQUIRED", "is required")
  ]
}

const fieldMistakes = (fields: ReadonlyArray<CredentialField>, path: string): Mistakes => [
  ...duplicateMistakes(
    path,
    "name",
    fields.map(({ name }) => name)
  ),
  ...mistakesInEach(path, fields, ({ name, pattern }, at) => {
    const why = pattern === undefined ? undefined : schemaPatternMistake(pattern)
    return [
      ...mistakeUnless(
        /^[A-Za-z]\w{0,63}$/.test(name),
        `${at}.name`,
        "INVALID_VALUE",
        "must be a letter and up to 63 letters, digits and _"
      ),
      ...(why === undefined ? [] : mistakeAt(`${at}.pattern`, "INVALID_PATTERN", why))
    ]
  })
]

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
