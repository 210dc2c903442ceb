/** A process that starts leaves the processors to others, and gets its priority back with all that it has started. */
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { getPriority } from "node:os"
import { lowerPriority } from "../../src/runtime/process/StartPriority.js"

describe("a process that starts", () => {
  it("is nicer until it is ready, and so are the processes that it starts meanwhile, if it may take that back", () => {
    const before = getPriority()
    const restore = lowerPriority()
    const child = spawn("sleep", ["30"])
    const nicer = getPriority()
    try {
      // Another user than root may have no right to a higher priority: then it keeps its own.
      assert.include(process.getuid?.() === 0 ? [before + 5] : [before, before + 5], nicer)
      assert.strictEqual(getPriority(child.pid), nicer)
    } finally {
      restore()
      assert.deepStrictEqual([getPriority(), getPriority(child.pid)], [before, before])
      child.kill()
    }
  })

  it("gets its priority back while processes that it started end", () => {
    const before = getPriority()
    for (let n = 0; n < 20; n++) {
      const restore = lowerPriority()
      for (let child = 0; child < 5; child++) spawn("true")
      restore()
      assert.strictEqual(getPriority(), before)
    }
  })
})
