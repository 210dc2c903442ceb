/** Renders a JSON schema of the OpenAPI document as words and nested lists. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"

const prefix = "#/components/schemas/"

/** The page that lists the schemas; each has its own below it. */
export const schemasPath = "/docs/schemas"
export const pathOfSchema = (name: string): string => `${schemasPath}/${name}`

const link = (ref: string): Markup => {
  const name = ref.slice(prefix.length)
  return html`<a href="${pathOfSchema(name)}"><code>${name}</code></a>`
}

const bounds: ReadonlyArray<readonly [member: string, words: (value: string) => string]> = [
  ["minimum", (value) => `at least ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["minLength", (value) => `at least ${value} characters`],
  ["maxLength", (value) => `at most ${value} characters`],
  ["minItems", (value) => `at least ${value} items`],
  ["maxItems", (value) => `at most ${value} items`],
  ["pattern", (value) => `matches ${value}`],
  ["format", (value) => value],
  ["default", (value) => `default ${value}`]
]

const typeWords = ({ const: only, enum: values, type }: JsonObject): string => {
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ")
  const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === "string")
  return types.join(" or ")
}

const combiningMembers = ["anyOf", "oneOf", "allOf", "properties", "items"]

/** Whether the schema allows any value, since no member restricts it. */
const isOpen = (schema: JsonObject): boolean =>
  ["type", "enum", "const", ...combiningMembers].every((member) => schema[member] === undefined)

/** Type, bounds and description on one line. */
const schemaLine = (schema: JsonObject): Markup => {
  const words = [
    isOpen(schema) ? "any JSON value" : typeWords(schema),
    ...bounds.flatMap(([member, say]) => {
      const value = schema[member]
      return value === undefined ? [] : [say(typeof value === "string" ? value : JSON.stringify(value))]
    })
  ].filter((part) => part !== "")
  const { description } = schema
  const suffix = typeof description === "string" && description !== "" ? `: ${description}` : ""
  return html`<em>${words.join(", ")}</em>${suffix}`
}

const propertiesOf = (schema: JsonObject): Markup => {
  const { additionalProperties, properties, required } = schema
  const names = Array.isArray(required) ? required : []
  const rows =
    properties !== undefined && isObject(properties)
      ? Object.entries(properties).map(
          ([name, child]) =>
            html`<li><code>${name}</code>${names.includes(name) ? " (required) " : " "}${schemaMarkup(child)}</li>`
        )
      : []
  const more =
    additionalProperties !== undefined && isObject(additionalProperties)
      ? [html`<li>any other member: ${schemaMarkup(additionalProperties)}</li>`]
      : []
  const all = [...rows, ...more]
  return all.length === 0
    ? html``
    : html`<ul>
        ${all}
      </ul>`
}

const choice = (title: string, schemas: ReadonlyArray<Json>): Markup =>
  html`${title}
    <ul>
      ${schemas.map((schema) => html`<li>${schemaMarkup(schema)}</li>`)}
    </ul>`

/** Recurses without a limit, since the documents are the service's own. */
export const schemaMarkup = (schema: Json): Markup => {
  if (!isObject(schema)) return html``
  const { $ref, allOf, anyOf, items, oneOf } = schema
  if (typeof $ref === "string") return link($ref)
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  return html`${schemaLine(schema)} ${items === undefined ? html`` : html`of ${schemaMarkup(items)}`}
  ${propertiesOf(schema)} ${choices === undefined ? html`` : choice("one of", choices)}
  ${Array.isArray(allOf) ? choice("all of", allOf) : html``}`
}
