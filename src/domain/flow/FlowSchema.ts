/** The JSON Schema of `*.flow.json` files, with which editors complete and check them. */
import { JSONSchema, type Schema } from "effect"
import { membersOf, withoutTitles } from "../connector/FileSchema.js"
import type { Json, JsonObject } from "../Json.js"
import { fileMembers, generationDescription } from "./FlowFile.js"
import { presentGeneration } from "./Generation.js"
import { FlowSpec } from "./Spec.js"
import type { StepType } from "./StepType.js"
import { stepTypes } from "./StepTypes.js"

/** A schema, and the parts that it refers to. */
const schemaOf = (schema: Schema.Schema.AnyNoContext) => {
  // The library's schema is plain JSON.
  const made: Json = JSON.parse(JSON.stringify(JSONSchema.make(schema, { target: "jsonSchema2020-12" })))
  const { $defs: parts = {}, $schema: dialect = "", ...root } = membersOf(withoutTitles(made))
  return { dialect, root, parts: membersOf(parts) }
}

/** A step whose settings have the form of its type. */
const stepSchema = (
  step: JsonObject,
  types: ReadonlyArray<StepType>,
  configs: ReadonlyArray<JsonObject>
): JsonObject => ({
  ...step,
  properties: {
    ...membersOf(step["properties"] ?? {}),
    type: {
      type: "string",
      enum: types.map(({ type }) => type),
      description: types.map(({ description, type }) => `${type}: ${description}`).join(" ")
    }
  },
  allOf: types.map(({ type }, at) => {
    const config = configs[at] ?? {}
    const { required } = config
    return {
      if: { properties: { type: { const: type } } },
      then: {
        properties: { config },
        ...(Array.isArray(required) && required.length > 0 ? { required: ["config"] } : {})
      }
    }
  })
})

/** The JSON Schema of a flow. It checks the form; what steps read and call is checked when a flow is saved. */
export const flowSchema = (types: ReadonlyArray<StepType> = stepTypes): JsonObject => {
  const { dialect, parts } = schemaOf(FlowSpec)
  const configs = types.map(({ config }) => schemaOf(config))
  const {
    FlowSpec: spec = {},
    FlowStep: step = {},
    ...others
  } = Object.assign({}, ...configs.map((one) => one.parts), parts)
  const members = [
    ...Object.entries(fileMembers).map(([name, description]) => [name, { type: "string", description }]),
    ["generation", { type: "integer", minimum: 1, maximum: presentGeneration, description: generationDescription }]
  ]
  return {
    $schema: dialect,
    $id: "urn:svc:flow:1",
    title: "Flow",
    description: "A workflow in steps: the `spec` of a workflow, and a *.flow.json file of svc. See docs/flows.md.",
    ...membersOf(spec),
    properties: { ...Object.fromEntries(members), ...membersOf(membersOf(spec)["properties"] ?? {}) },
    $defs: {
      ...others,
      FlowStep: stepSchema(
        membersOf(step),
        types,
        configs.map(({ root }) => root)
      )
    }
  }
}
