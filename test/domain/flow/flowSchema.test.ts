/** The JSON Schema of flows accepts what saving accepts, and refuses mistakes of form. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { readFileSync } from "node:fs"
import { checkFlow, type KnownConnectors } from "../../../src/domain/flow/Checks.js"
import { defineStep } from "../../../src/domain/flow/DefineStep.js"
import { flowOfFile } from "../../../src/domain/flow/FlowFile.js"
import { flowSchema } from "../../../src/domain/flow/FlowSchema.js"
import { stepTypes } from "../../../src/domain/flow/StepTypes.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { compileSchema, findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"
import { naiveTypes } from "../../support/naiveSteps.js"
import { randomFlow } from "../../support/randomFlows.js"

const schema = flowSchema()
const violations = compileSchema(schema)

const action = { versions: [1, 2], readOnly: true }
const connectors: KnownConnectors = {
  crm: { kind: "crm", actions: { find: action, look: action, send: action } },
  openai: { kind: "ai", actions: { createChatCompletion: action } }
}
const isSaved = (spec: unknown) => Either.isRight(checkFlow(spec as Json, connectors))

const when = { path: "input.a", op: "eq", value: 1 }
const steps = [...naiveTypes.values()].flatMap(({ complete }) => complete)
const spec: JsonObject = {
  trigger: { type: "cron", cron: "0 0 * * *", timezone: "UTC" },
  steps,
  requestSchema: { type: "object" },
  response: { success: { status: 201, body: {} }, error: { status: 500, body: "{{error.message}}" } },
  customAuth: null
}

/** The document with a step, or a member of the first step of its type. */
const withStep = (step: JsonObject): Json => ({ ...spec, steps: [...steps, { name: "more", ...step }] })

describe("the schema of a flow", () => {
  it("is a schema itself, and the one in docs", () => {
    assert.deepStrictEqual(findSchemaMistakes(schema), [])
    assert.deepStrictEqual(JSON.parse(readFileSync("docs/flow.schema.json", "utf8")), schema)
  })

  it("has an example of each type in the reference", () => {
    assert.sameMembers(
      [...naiveTypes.keys()],
      stepTypes.map(({ type }) => type)
    )
  })

  it("accepts a flow with every member, and each of 500 random ones", () => {
    assert.deepStrictEqual(violations(spec), [])
    assert.isTrue(isSaved(spec))
    for (let seed = 0; seed < 500; seed++) {
      const { spec: random } = randomFlow(seed)
      assert.deepStrictEqual(violations(random), [], `flow ${seed}`)
      assert.isTrue(isSaved(random), `flow ${seed}`)
    }
  })

  it.each<readonly [string, Json]>([
    ["a member that there is not", { ...spec, stepz: [] }],
    ["no steps", { trigger: { type: "manual" } }],
    ["steps that are no list", { steps: {} }],
    ["a trigger of another type", { ...spec, trigger: { type: "sometimes" } }],
    ["a status that is none", { ...spec, response: { success: { status: 99 } } }],
    ["a request schema that is none", { ...spec, requestSchema: [] }],
    ["a step without a name", { steps: [{ type: "action" }] }],
    ["a name with a blank", withStep({ name: "a b", type: "action" })],
    ["another type", withStep({ type: "dance" })],
    ["another member of a step", withStep({ type: "action", conf: {} })],
    ["another setting of a step", withStep({ type: "action", config: { cod: "" } })],
    ["a setting of another type of step", withStep({ type: "wait", config: { over: "{{input.a}}" } })],
    ["a step without its settings", withStep({ type: "approval" })],
    ["a step without a required setting", withStep({ type: "notification", config: { channel: "email" } })],
    [
      "a number out of its range",
      withStep({
        type: "loop",
        config: { over: "{{input.a}}", steps: [{ name: "b", type: "action" }], concurrency: 21 }
      })
    ],
    ["a text in the place of a number", withStep({ type: "wait", config: { durationMs: "1" } })],
    ["no branches", withStep({ type: "gate", config: { branches: [] } })],
    [
      "a mistake in a step of a branch",
      withStep({ type: "gate", config: { branches: [{ name: "a", when, steps: [{ name: "b" }] }] } })
    ],
    [
      "a mistake in a step of a loop",
      withStep({ type: "loop", config: { over: "{{input.a}}", steps: [{ name: "b", type: "c" }] } })
    ],
    ["a condition without its operator", withStep({ type: "action", when: { path: "input.a" } })],
    ["an attempt too many", withStep({ type: "action", retry: { maxAttempts: 11 } })],
    ["another way on after an error", withStep({ type: "action", onError: "ignore" })]
  ])("refuses %s, as saving does", (_, document) => {
    assert.isNotEmpty(violations(document))
    assert.isFalse(isSaved(document))
  })

  it("accepts the examples of the guide, which can be saved", () => {
    const guide = readFileSync("docs/flows.md", "utf8")
    const examples = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = ""]): JsonObject => JSON.parse(text))
    assert.isNotEmpty(examples)
    for (const example of examples) {
      assert.deepStrictEqual(violations(example), [])
      assert.isTrue(isSaved(flowOfFile(example).spec ?? null))
    }
  })

  it("accepts what the tool that creates flows is given", () => {
    const given = {
      name: "orders",
      description: "Sends orders",
      trigger: { type: "event", source: "shopify", event: "order.created" },
      steps: [
        { name: "send", type: "action", connector: "crm", action: "send", mapping: { total: "{{trigger.total}}" } }
      ]
    }
    assert.deepStrictEqual(violations(given), [])
    assert.isTrue(isSaved({ trigger: given.trigger, steps: given.steps }))
  })

  it("knows a type of step as soon as the table does", () => {
    const seventh = defineStep({
      type: "count",
      description: "Counts.",
      guide: { config: "`{to}`", output: "none", limits: [] },
      node: "action",
      config: Schema.Struct({ to: Schema.Int }),
      meaning: () => ({ label: "count", script: () => ({ method: "step", args: [] }) })
    })
    const check = compileSchema(flowSchema([...stepTypes, seventh]))
    assert.deepStrictEqual(check({ steps: [{ name: "a", type: "count", config: { to: 1 } }] }), [])
    assert.isNotEmpty(check({ steps: [{ name: "a", type: "count", config: { to: "1" } }] }))
    assert.isNotEmpty(check({ steps: [{ name: "a", type: "count" }] }))
  })
})
