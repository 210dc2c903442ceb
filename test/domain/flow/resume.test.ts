/** Which steps run anew when a flow is run again from one of them. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
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
    const { anew } = Either.getOrThrow(resumeFlow({ from: spec, to: spec, fromStep: "a" }))
    assert.sameMembers([...anew], ["a", "b", "c", "d"])
  })
})
