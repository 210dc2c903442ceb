/**
 * A workflow in step form as data: its trigger, steps and answers. This is the form of the document; `Checks.ts` finds the
 * other mistakes in it. Specification: Workflow (step form); contract: workflow record.
 */
import { Schema } from "effect"
import { Json, JsonObject } from "../Json.js"
import { Mapping } from "../mapping/Mapping.js"
import { Retry } from "../run/Execution.js"
import { Condition } from "../expression/Condition.js"

/** The form of a step's name, which is a part of expressions and paths. */
export const stepNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** Most steps of a flow, steps inside of each other, and branches of a gate. Contract: limits left open. */
export const flowLimits = { steps: 200, nesting: 10, branches: 20 } as const

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))

const StepName = Schema.String.pipe(
  Schema.pattern(stepNamePattern, {
    message: () => "must be a letter or underscore and up to 63 letters, digits and underscores"
  })
)

/** What happens after a step has failed for good. */
export const OnError = Schema.Literal("halt", "continue")
export type OnError = typeof OnError.Type

/** One step. The members of `config` depend on its type: `StepTypes.ts`. */
export const FlowStep = Schema.Struct({
  name: StepName,
  type: Schema.String,
  description: optional(text(1_000)),
  connector: optional(
    text(64).annotations({
      description: "A connector's slug; `unified` or `cdm`: common records, whichever system has them."
    })
  ),
  action: optional(
    text(128).annotations({ description: "An action of the connector; of common records, such as `crm.contact.list`." })
  ),
  actionVersion: optional(Schema.Int.pipe(Schema.positive())),
  connection: optional(text(128)),
  mapping: optional(Mapping),
  input: optional(JsonObject),
  config: optional(JsonObject),
  dependsOn: optional(Schema.Array(StepName).pipe(Schema.maxItems(flowLimits.steps))),
  when: optional(Schema.NullOr(Condition)),
  onError: optional(OnError),
  retry: optional(Schema.partialWith(Retry, { exact: true })),
  timeoutMs: optional(Schema.Int.pipe(Schema.between(1, 36 * 3_600_000)))
}).annotations({ identifier: "FlowStep" })
export type FlowStep = typeof FlowStep.Type

/** What starts a flow. Contract: workflow record. */
export const FlowTrigger = Schema.Struct({
  type: Schema.Literal("webhook", "cron", "manual", "event"),
  source: optional(text(64)),
  event: optional(text(128)),
  cron: optional(text(200)),
  timezone: optional(text(64))
}).annotations({ identifier: "FlowTrigger" })
export type FlowTrigger = typeof FlowTrigger.Type

const Answer = Schema.Struct({
  status: optional(Schema.Int.pipe(Schema.between(200, 599))),
  body: optional(Json)
})

/** What a caller of the flow is answered; by default the output of the last step. */
export const FlowResponse = Schema.Struct({ success: optional(Answer), error: optional(Answer) }).annotations({
  identifier: "FlowResponse"
})
export type FlowResponse = typeof FlowResponse.Type

/** How surface B checks a caller's own token before the flow starts. Contract: surface B. */
export const CustomAuth = Schema.Struct({
  type: Schema.Literal("bearer", "header", "workflow"),
  secretName: optional(text(64)),
  workflowId: optional(text(64))
}).annotations({ identifier: "CustomAuth" })
export type CustomAuth = typeof CustomAuth.Type

/** The document of a workflow in step form. `requestSchema` is stored as the workflow's input contract. */
export const FlowSpec = Schema.Struct({
  trigger: optional(Schema.NullOr(FlowTrigger)),
  steps: Schema.Array(FlowStep),
  requestSchema: optional(Schema.NullOr(JsonObject)),
  response: optional(Schema.NullOr(FlowResponse)),
  customAuth: optional(Schema.NullOr(CustomAuth))
}).annotations({ identifier: "FlowSpec" })
export type FlowSpec = typeof FlowSpec.Type
