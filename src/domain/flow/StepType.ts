/**
 * What a row of the table of step types says: the form of its settings, the expressions and steps inside of them, what it
 * needs, how it is drawn, traced and documented, and the call of the guest's flow library that runs it.
 */
import type { Schema } from "effect"
import type { Mistakes } from "../expression/Checks.js"
import type { Json, JsonObject } from "../Json.js"
import type { Condition } from "../expression/Condition.js"
import type { FlowStep } from "./Spec.js"

/** A list of steps inside of a step. */
export interface StepGroup {
  /** Its place in the step, such as `config.branches[0].steps`. */
  readonly path: string
  readonly steps: ReadonlyArray<FlowStep>
  /** The name of a branch, for the diagram. */
  readonly label?: string
  /** Names that only expressions inside of the group can use, such as `item`. Their presence makes the group a loop's body. */
  readonly variables: ReadonlyArray<string>
}

/** A place in a step where expressions stand. `group`: they can use the variables and steps of that group. */
export type ExpressionPlace = { readonly path: string; readonly group?: number } & (
  | { /** Each text in it is a template. */ readonly value: Json }
  | { readonly mapping: JsonObject }
  | { readonly condition: Condition; readonly roots?: ReadonlyArray<string> }
)

/** An action that a step calls: a connector's, or of common records where the connector is `unified` or `cdm`. */
export interface StepAction {
  readonly connector: string
  readonly action: string
  readonly version: number | undefined
  /** Places of the names, for mistakes. */
  readonly paths: { readonly connector: string; readonly action: string }
  /** It must be a read-only action. */
  readonly readOnly?: boolean
  /** The connector must be of this kind. */
  readonly kind?: string
}

/** A module of JavaScript in a step. */
export interface StepCode {
  readonly path: string
  readonly source: string
}

/** Writes the parts of a script that all step types share. */
export interface ScriptWriter {
  /** A value as a JavaScript expression. */
  readonly literal: (value: Json | undefined) => string
  /** A function that adds the steps of a group to a flow. */
  readonly group: (at: number) => string
  /** The arguments of the step: its mapping over its input, as an expression of `v`. */
  readonly args: string
  /** `svc.connector.<slug>.<action>`, or `svc.unified.<category>.<entity>.<verb>`. */
  readonly action: (action: StepAction) => string
  /** The step's code as an expression of a function `(input, ctx)`. */
  readonly code: (code: StepCode) => string
}

/** What the settings of one step mean. */
export interface StepShape {
  readonly groups: ReadonlyArray<StepGroup>
  /** Expressions beside those of `input`, `mapping` and `when`. */
  readonly expressions: ReadonlyArray<ExpressionPlace>
  /** Those of connectors, which are looked up. */
  readonly actions: ReadonlyArray<StepAction>
  readonly code?: StepCode
  /** People whom it names by address, id or role, with the places of the names. */
  readonly people?: ReadonlyArray<{ readonly path: string; readonly name: string }>
  /** Siblings that a branch may skip, with the places of their names: they wait for this step. */
  readonly skips?: ReadonlyArray<{ readonly path: string; readonly name: string }>
  /** It is not tried again: a `retry` of it does nothing. */
  readonly ignoresRetry?: true
  /** The time that it waits for, as it is written, if no expression gives it. */
  readonly until?: string
  /** It may take longer than a Standard run: the flow runs as Long. */
  readonly isLong: boolean
  readonly mistakes: Mistakes
  /** What the diagram shows. */
  readonly label: string
  /** Host calls that one run of the step makes at least, without its groups. */
  readonly calls: number
  /** The method of the flow library, its arguments after name and options, and further options. */
  readonly script: (writer: ScriptWriter) => {
    readonly method: string
    readonly args: ReadonlyArray<string>
    readonly options?: JsonObject
  }
}

/** What the tables of docs/flows.md say of a type, as Markdown. */
interface StepGuide {
  readonly config: string
  readonly output: string
  /** For each kind of step of the type: what is tried again, absent if nothing is, and what ends after its `timeoutMs`. */
  readonly limits: ReadonlyArray<{ readonly of: string; readonly retry?: string; readonly timeoutMs: string }>
}

/** A row of the table. */
export interface StepType {
  readonly type: string
  /** One sentence for the JSON Schema of flows. */
  readonly description: string
  readonly guide: StepGuide
  /**
   * Host calls that the trace shows as steps of this type, by the beginning of their names. `isWaiting`: an open one waits for
   * time or people. Absent: they are shown as actions.
   */
  readonly traced?: { readonly prefix: string; readonly isWaiting: boolean }
  /** The kind of its node in the diagram. */
  readonly node: string
  readonly config: Schema.Schema<any, any> // oxlint-disable-line typescript/no-explicit-any -- Each type has its own.
  /** The meaning of a step of this type. Left mistakes of form: with paths relative to the step. */
  readonly shapeOf: (step: FlowStep) => StepShape | { readonly issues: Mistakes }
}
