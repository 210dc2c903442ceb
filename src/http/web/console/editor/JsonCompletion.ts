/** Completes JSON by the schema of its text; in flows also connectors and their actions. */
import type { Completion, CompletionSource } from "@codemirror/autocomplete"
import { syntaxTree } from "@codemirror/language"
import type { Text } from "@codemirror/state"
import { type JsonNode, nameOfProperty, propertyOf, textOfNode, valueOfProperty } from "./JsonText.js"
import type { EditorKnowledge, JsonSchema } from "./Knowledge.js"

const matchesConst = (condition: JsonSchema, object: JsonNode, text: Text): boolean =>
  Object.entries(condition.properties ?? {}).every(([name, { const: wanted }]) => {
    const property = propertyOf(object, name, text)
    const value = property === undefined ? undefined : valueOfProperty(property)
    return value !== undefined && textOfNode(value, text) === String(wanted)
  })

/** The schemas that a value has, with references and alternatives resolved; of conditional ones those that apply to it. */
const alternativesOf = (
  schema: JsonSchema,
  root: JsonSchema,
  node: JsonNode | undefined,
  text: Text,
  depth = 0
): ReadonlyArray<JsonSchema> => {
  if (depth > 8) return []
  const within = (one: JsonSchema) => alternativesOf(one, root, node, text, depth + 1)
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  const referred = schema.$ref === undefined ? undefined : root.$defs?.[schema.$ref.replace("#/$defs/", "")]
  const isConditional = schema.if !== undefined && schema.then !== undefined
  const applies = isConditional && node !== undefined && matchesConst(schema.if ?? {}, node, text)
  return [
    ...(isConditional ? [] : [schema]),
    ...(applies && schema.then !== undefined ? within(schema.then) : []),
    ...(referred === undefined ? [] : within(referred)),
    ...parts.flatMap(within)
  ]
}

/** The schemas of a node, from the root of the text to it. */
const schemasAt = (node: JsonNode, root: JsonSchema, text: Text): ReadonlyArray<JsonSchema> => {
  const { parent } = node
  if (parent === null || parent.name === "JsonText") return alternativesOf(root, root, node, text)
  if (parent.name === "Property") {
    const object = parent.parent
    const name = nameOfProperty(parent, text)
    if (object === null || name === undefined) return []
    return schemasAt(object, root, text).flatMap(({ additionalProperties, properties }) => {
      const own = properties?.[name]
      const other = typeof additionalProperties === "object" ? additionalProperties : undefined
      const found = own ?? other
      return found === undefined ? [] : alternativesOf(found, root, node, text)
    })
  }
  if (parent.name === "Array")
    return schemasAt(parent, root, text).flatMap(({ items }) =>
      items === undefined ? [] : alternativesOf(items, root, node, text)
    )
  return []
}

const startOfValue = ({ type, ...schema }: JsonSchema): string => {
  if (type === "object" || schema.properties !== undefined) return "{}"
  if (type === "array" || schema.items !== undefined) return "[]"
  return type === "string" || schema.enum !== undefined ? '""' : ""
}

const namesOf = (schemas: ReadonlyArray<JsonSchema>, object: JsonNode, text: Text): ReadonlyArray<Completion> => {
  const taken = new Set(object.getChildren("Property").map((property) => nameOfProperty(property, text)))
  const found = new Map<string, Completion>()
  for (const { properties = {}, required = [] } of schemas)
    for (const [name, schema] of Object.entries(properties))
      if (!taken.has(name) && !found.has(name))
        found.set(name, {
          label: name,
          type: "property",
          ...(required.includes(name) ? { detail: "required", boost: 1 } : {}),
          ...(schema.description === undefined ? {} : { info: schema.description }),
          apply: `"${name}": ${startOfValue(schema)}`
        })
  return [...found.values()]
}

/** Slugs for `connector`, actions of the connector beside it for `action`. */
const ofConnectors = (
  name: string | undefined,
  object: JsonNode | null | undefined,
  { connectors = [] }: EditorKnowledge,
  text: Text
): ReadonlyArray<Completion> => {
  if (name === "connector") return connectors.map(({ name: detail, slug }) => ({ label: `"${slug}"`, detail }))
  if (name !== "action" || object === null || object === undefined) return []
  const beside = propertyOf(object, "connector", text)
  const value = beside === undefined ? undefined : valueOfProperty(beside)
  const slug = value === undefined ? undefined : textOfNode(value, text)
  return (connectors.find((one) => one.slug === slug)?.actions ?? []).map((action) => ({
    label: `"${action.name}"`,
    ...(action.title === undefined ? {} : { detail: action.title })
  }))
}

/** Arguments of a step's action, for the members of its `input` and `mapping`. */
const argumentsOf = (object: JsonNode, { connectors = [] }: EditorKnowledge, text: Text): ReadonlyArray<JsonSchema> => {
  const property = object.parent
  const step = property?.parent
  if (property?.name !== "Property" || step === null || step === undefined) return []
  if (!["input", "mapping"].includes(nameOfProperty(property, text) ?? "")) return []
  const texts = ["connector", "action"].map((name) => {
    const found = propertyOf(step, name, text)
    const value = found === undefined ? undefined : valueOfProperty(found)
    return value === undefined ? "" : textOfNode(value, text)
  })
  const action = connectors.find(({ slug }) => slug === texts[0])?.actions.find(({ name }) => name === texts[1])
  return action?.inputSchema === undefined ? [] : [action.inputSchema]
}

const valuesOf = (schemas: ReadonlyArray<JsonSchema>): ReadonlyArray<Completion> =>
  schemas.flatMap(({ const: only, enum: values = [], type }) => [
    ...(only === undefined ? [] : [{ label: JSON.stringify(only), type: "enum" }]),
    ...values.map((value) => ({ label: JSON.stringify(value), type: "enum" })),
    ...(type === "boolean" ? ["true", "false"].map((label) => ({ label, type: "keyword" })) : [])
  ])

/** The property in which a place is. */
const propertyAround = (node: JsonNode): JsonNode | undefined => {
  if (node.name === "Property") return node
  return node.parent?.name === "Property" ? node.parent : undefined
}

/** Values of a property. */
const valuesAt = (property: JsonNode, known: EditorKnowledge, text: Text): ReadonlyArray<Completion> => {
  const isKnown = known.schema !== undefined && property.parent !== null
  const schemas = isKnown ? schemasAt(valueOfProperty(property) ?? property, known.schema ?? {}, text) : []
  return [...ofConnectors(nameOfProperty(property, text), property.parent, known, text), ...valuesOf(schemas)]
}

/** Names of members that an object may get. */
const namesAt = (object: JsonNode, known: EditorKnowledge, text: Text): ReadonlyArray<Completion> => {
  const schemas = known.schema === undefined ? [] : schemasAt(object, known.schema, text)
  return namesOf([...argumentsOf(object, known, text), ...schemas], object, text)
}

/** `knowledge` is asked at each completion, since what is known may be loaded later. */
export const jsonCompletion =
  (knowledge: () => EditorKnowledge): CompletionSource =>
  ({ explicit, pos, state }) => {
    const text = state.doc
    const inner = syntaxTree(state).resolveInner(pos, -1)
    const word = /"?[\w$-]*"?$/.exec(text.sliceString(text.lineAt(pos).from, pos))?.[0] ?? ""
    if (word === "" && !explicit) return null
    const from = pos - word.length
    const property = propertyAround(inner)
    const isBehindColon = property !== undefined && text.sliceString(property.from, from).includes(":")
    const object = property?.parent ?? (inner.name === "Object" ? inner : inner.parent)
    const namesIn = object?.name === "Object" ? namesAt(object, knowledge(), text) : []
    const options = isBehindColon ? valuesAt(property, knowledge(), text) : namesIn
    // A quote that the editor has added behind is replaced, too.
    const to = word.startsWith('"') && text.sliceString(pos, pos + 1) === '"' ? pos + 1 : pos
    return options.length === 0 ? null : { from, to, options, validFor: /^"?[\w$-]*"?$/ }
  }
