/** The words of conditions, for completions. */
import type { JsonSchema } from "../../editor/Knowledge.js"

const list: JsonSchema = { type: "array", items: { $ref: "#/$defs/Condition" } }

export const conditionSchema: JsonSchema = {
  $ref: "#/$defs/Condition",
  $defs: {
    Condition: {
      type: "object",
      properties: {
        path: { type: "string", description: "a path into the payload, such as order.total" },
        op: {
          enum: [
            "eq",
            "neq",
            "gt",
            "gte",
            "lt",
            "lte",
            "in",
            "nin",
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "exists"
          ]
        },
        value: { description: "what the value at the path is compared with" },
        all: { ...list, description: "all of these conditions" },
        any: { ...list, description: "one of these conditions" },
        not: { $ref: "#/$defs/Condition", description: "not this condition" }
      }
    }
  }
}
