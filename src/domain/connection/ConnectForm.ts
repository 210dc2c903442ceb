/** The form in which a person enters what connects an account: its fields for configuration and credential. */
import { isObject, type Json, type JsonObject } from "../Json.js"
import type { AuthMethod } from "../connector/AuthMethod.js"
import type { ConnectorDefinition } from "../connector/Definition.js"

/** One field of the form. */
export interface ConnectField {
  /** `config.subdomain`, `credential.apiKey`. */
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly secret: boolean
  readonly required: boolean
  readonly options: ReadonlyArray<string> | null
  readonly type: "string" | "number" | "integer" | "boolean"
  /** The value before anything is entered. */
  readonly initial: string | null
  readonly min: number | null
  readonly max: number | null
  /** The form of the text by the JSON schema, for error messages. */
  readonly form: { readonly pattern: string | null; readonly format: string | null }
}

const textOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

const typeOf = (schema: JsonObject): ConnectField["type"] => {
  const type = schema["type"]
  return type === "number" || type === "integer" || type === "boolean" ? type : "string"
}

const numberOf = (value: Json | undefined): number | null => (typeof value === "number" ? value : null)

/** Whether a part of a definition uses a member of the connection's config; `needed`: it has no fallback value. */
const useOf = (part: unknown, name: string): "needed" | "used" | "unused" => {
  const text = JSON.stringify(part).replace(/\s+/g, "")
  const place = `connection.config.${name}`
  if (text.includes(`{{${place}}}`)) return "needed"
  for (let at = text.indexOf(place); at >= 0; at = text.indexOf(place, at + 1))
    if (!/[\w-]/.test(text.charAt(at + place.length))) return "used"
  return "unused"
}

/** Whether only other auth methods than the chosen one use a member; the form then leaves it out. */
const isOthersOnly = (definition: ConnectorDefinition, method: AuthMethod, name: string): boolean => {
  const { auth, connectionConfig: _schema, ...rest } = definition
  const others = auth.filter(({ id }) => id !== method.id)
  return useOf(others, name) !== "unused" && useOf(method, name) === "unused" && useOf(rest, name) === "unused"
}

const configFields = (
  definition: ConnectorDefinition,
  method: AuthMethod,
  given: JsonObject
): ReadonlyArray<ConnectField> => {
  const { connectionConfig = {} } = definition
  const properties = connectionConfig["properties"]
  const required = connectionConfig["required"]
  if (!isObject(properties)) return []
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (Object.hasOwn(given, name) || !isObject(schema)) return []
    const isRequired = Array.isArray(required) && required.includes(name)
    if (!isRequired && isOthersOnly(definition, method, name)) return []
    const hasDefault = schema["default"] !== undefined
    const values = schema["enum"]
    return [
      {
        name: `config.${name}`,
        title: textOf(schema["title"]) ?? name,
        description: textOf(schema["description"]),
        secret: false,
        required: isRequired || (!hasDefault && useOf(method, name) === "needed"),
        options: Array.isArray(values) ? values.map(String) : null,
        type: typeOf(schema),
        initial: schema["default"] === undefined || schema["default"] === null ? null : String(schema["default"]),
        min: numberOf(schema["minimum"]),
        max: numberOf(schema["maximum"]),
        form: { pattern: textOf(schema["pattern"]), format: textOf(schema["format"]) }
      }
    ]
  })
}

const credentialFields = (method: AuthMethod): ReadonlyArray<ConnectField> => {
  if (method.type === "none" || (method.type === "oauth2" && method.grant === "authorization_code")) return []
  return method.fields.map(({ description, name, required, secret, title }) => ({
    name: `credential.${name}`,
    title: title ?? name,
    description: description ?? null,
    secret,
    required,
    options: null,
    type: "string",
    initial: null,
    min: null,
    max: null,
    form: { pattern: null, format: null }
  }))
}

/** The fields to fill in. Without any, an OAuth method redirects to the provider at once. `given`: config set already. */
export const connectFields = (
  definition: ConnectorDefinition,
  method: AuthMethod,
  given: JsonObject
): ReadonlyArray<ConnectField> => [...configFields(definition, method, given), ...credentialFields(method)]
