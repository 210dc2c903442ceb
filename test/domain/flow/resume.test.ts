/** Which steps run anew when a flow is run again from one of them. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { presentGeneration } from "../../../src/domain/flow/Generation.js"
import { resumeFlow } from "../../../src/domain/flow/Resume.js"

describe("A flow that is run again from a step", () => {
  it("runs anew what depends on it, however indirectly, and in whatever order the steps stand", () => {
    const reads = (name: string, of: string) => ({ name, type: "action", input: { of: `{{steps.${of}.output}}` } })
    const spec = {
      steps: [
        { name: "aside", type: "action", dependsOn: [] },
        reads("d", "c"),
        reads("c", "b"),
        reads("b", "a"),
        { name: "a", type: "action", dependsOn: [] }
      ]
    }
    const { anew } = Either.getOrThrow(
      resumeFlow({ from: spec, to: spec, generation: presentGeneration, fromStep: "a" })
    )
    assert.sameMembers([...anew], ["a", "b", "c", "d"])
  })

  it.each([
    [presentGeneration, ["ask", "pay", "tell"]],
    [1, ["ask", "tell"]]
  ])("runs anew what waits for the step in the order of its generation: %d", (generation, expected) => {
    const action = (name: string, more: object = {}) => ({ name, type: "action", ...more })
    const spec = {
      steps: [
        action("order"),
        { name: "ask", type: "approval", config: { approvers: ["a@b.co"], message: "pay?" } },
        action("pay", { input: { of: "{{steps.order.output}}" } }),
        action("tell", { input: { of: "{{steps.ask.output}}" } })
      ]
    }
    const { anew } = Either.getOrThrow(resumeFlow({ from: spec, to: spec, generation, fromStep: "ask" }))
    assert.sameMembers([...anew], expected)
  })
})
