/** The words of JSON schema that contracts use, for completions. */
import type { JsonSchema } from "../../editor/Knowledge.js"

const schema: JsonSchema = { $ref: "#/$defs/Schema" }

export const jsonSchemaWords: JsonSchema = {
  ...schema,
  $defs: {
    Schema: {
      type: "object",
      properties: {
        type: { enum: ["object", "array", "string", "number", "integer", "boolean", "null"] },
        properties: { type: "object", additionalProperties: schema, description: "the members of an object" },
        required: { type: "array", items: { type: "string" }, description: "members that must be there" },
        additionalProperties: { type: "boolean", description: "false: no other members" },
        items: { ...schema, description: "the items of an array" },
        enum: { type: "array", description: "the only values" },
        const: { description: "the only value" },
        description: { type: "string" },
        default: {},
        format: { enum: ["date-time", "date", "email", "uri", "uuid"] },
        pattern: { type: "string" },
        minLength: { type: "integer" },
        maxLength: { type: "integer" },
        minimum: { type: "number" },
        maximum: { type: "number" },
        minItems: { type: "integer" },
        maxItems: { type: "integer" },
        anyOf: { type: "array", items: schema },
        oneOf: { type: "array", items: schema },
        allOf: { type: "array", items: schema }
      }
    }
  }
}
