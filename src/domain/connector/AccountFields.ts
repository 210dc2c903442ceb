/** The fields that an account has of an entity, as the provider describes them. Contract: connector record, discover. */
import { Schema } from "effect"
import type { Condition } from "../expression/Condition.js"
import { meetsCondition } from "../expression/ConditionEvaluation.js"
import { isList } from "../expression/List.js"
import { valueAt } from "../expression/Path.js"
import type { StepBudget } from "../expression/StepBudget.js"
import type { Json } from "../Json.js"
import { NullableText } from "../Scalars.js"
import type { EntityDefinition } from "./Entity.js"

/** A field of the account. */
const AccountField = Schema.Struct({
  name: Schema.String,
  title: NullableText,
  type: NullableText.annotations({ description: "as the provider names it" }),
  required: Schema.Boolean.annotations({ description: "whether creating a record needs it" }),
  readOnly: Schema.Boolean,
  custom: Schema.Boolean.annotations({ description: "whether the account has defined it" })
}).annotations({ identifier: "AccountField" })

/** An entity as the account has it. */
export const AccountEntity = Schema.Struct({
  fields: Schema.Array(AccountField),
  createRequires: Schema.Array(Schema.String).annotations({ description: "the fields that creating a record needs" }),
  isComplete: Schema.Boolean.annotations({ description: "false: the account has more fields than are shown" })
}).annotations({ identifier: "AccountEntity" })
export type AccountEntity = typeof AccountEntity.Type

/** The most fields of an entity that are shown, and the most characters of their texts. */
export const maxAccountFields = 2_000
const maxCharacters = 200

/** Reads the fields in the results of an entity's `describe` action. */
export const accountEntity = (
  describe: NonNullable<EntityDefinition["describe"]>,
  results: ReadonlyArray<Json>,
  budget: StepBudget
): AccountEntity => {
  // A definition's conditions on fields have no patterns.
  const evaluation = { patterns: () => undefined, budget }
  const meets = (condition: Condition | undefined, item: Json) =>
    condition !== undefined && meetsCondition(condition, item, evaluation)
  const fields: Array<typeof AccountField.Type> = []
  const items = results.flatMap((result): ReadonlyArray<Json> => {
    const found = valueAt(result, describe.items)
    return found !== undefined && isList(found) ? found : []
  })
  for (const item of items.slice(0, maxAccountFields)) {
    const name = textAt(item, describe.name)
    if (name === null) continue
    const readOnly = meets(describe.readOnly, item)
    fields.push({
      name,
      title: textAt(item, describe.title),
      type: textAt(item, describe.type),
      required: !readOnly && meets(describe.required, item),
      readOnly,
      custom: meets(describe.custom, item)
    })
    if (budget.isExceeded) break
  }
  return {
    fields,
    createRequires: fields.flatMap(({ name, required }) => (required ? [name] : [])),
    isComplete: items.length <= maxAccountFields && !budget.isExceeded
  }
}

const textAt = (item: Json, path: string | undefined): string | null => {
  const found = path === undefined ? null : (valueAt(item, path) ?? null)
  return found === null || typeof found === "object" ? null : String(found).slice(0, maxCharacters)
}
