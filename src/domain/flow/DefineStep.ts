/** Makes a row of the table of step types from the schema of its settings. */
import { Either, type Schema } from "effect"
import { detailsOf } from "../Issues.js"
import { decodeStrict } from "../SchemaIssues.js"
import type { FlowStep } from "./Spec.js"
import type { StepShape, StepType } from "./StepType.js"

const none: ReadonlyArray<never> = []

/** The parts of a shape that most types leave at their defaults. */
type Meaning = Partial<Omit<StepShape, "script" | "label">> & Pick<StepShape, "script" | "label">

/** A row whose settings have this schema. `meaning`: of a step with valid settings. */
export const defineStep = <C, I>({
  meaning,
  ...row
}: Omit<StepType, "config" | "shapeOf"> & {
  readonly config: Schema.Schema<C, I>
  readonly meaning: (step: FlowStep, config: C) => Meaning
}): StepType => {
  const decode = decodeStrict(row.config)
  return {
    ...row,
    shapeOf: (step) =>
      Either.match(decode(step.config ?? {}), {
        onLeft: (issues) => ({
          issues: detailsOf(issues, `is not a setting of a step of type ${row.type}`).map((detail) => ({
            ...detail,
            path: detail.path === "" ? "config" : `config.${detail.path}`
          }))
        }),
        onRight: (decoded): StepShape => ({
          groups: none,
          expressions: none,
          actions: none,
          isLong: false,
          mistakes: none,
          calls: 0,
          ...meaning(step, decoded)
        })
      })
  }
}
