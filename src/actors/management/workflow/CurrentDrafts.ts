/**
 * Drafts of an earlier generation of the compiler of steps: they are compiled anew when they are read, run or published, so
 * that they say in their warnings what they would now do otherwise. What was published keeps its script. Decisions: 0078.
 */
import { Effect, Option } from "effect"
import { hasEarlierOrder, isOfOlderGeneration } from "../../../domain/flow/Generation.js"
import { hasOrderWarning } from "../../../domain/flow/OrderWarnings.js"
import type { Failure } from "../../../domain/Failure.js"
import { isObject } from "../../../domain/Json.js"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import { contentText } from "../../../domain/workflow/WorkflowChanges.js"
import { Digests } from "../../ports/Digests.js"
import { Records } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { makeWorkflowCompiler } from "./WorkflowCompiler.js"

/** Makes the function that gives a workflow whose draft is of the present generation, and stores it as that. */
export const makeCurrentDrafts = Effect.gen(function* () {
  const { compile } = yield* makeWorkflowCompiler
  const digests = yield* Digests
  const records = yield* Records

  const compileAnew = Effect.fnUntraced(function* (
    caller: Principal,
    before: Workflow
  ): Effect.fn.Return<Workflow, Failure> {
    const { name, source, spec } = before
    const content = source === null ? (isObject(spec) ? { spec } : {}) : { code: source }
    const isCompared = hasEarlierOrder(before.script) || hasOrderWarning(before)
    const compiled = yield* compile(caller, content, { name, isIncomplete: true, isCompared, isStored: true })
    const after = { ...before, ...compiled }
    return { ...after, contentHash: digests.sha256Hex(contentText(after)) }
  })

  /** The workflow as it is, unless its draft is of an earlier generation. A change of it in between wins. */
  return Effect.fn("Drafts.current")(function* (
    caller: Principal,
    before: Workflow
  ): Effect.fn.Return<Workflow, Failure> {
    if (!isOfOlderGeneration(before.script)) return before
    const { bindings, contentHash, diagram, problems, script, waits, warnings } = yield* compileAnew(caller, before)
    // A busy machine may have had no time for it: that is no mistake of the draft.
    if (problems.some(({ code }) => code === "TOO_COSTLY")) return before
    return yield* records
      .transact(caller.organisationId, (tx) =>
        Effect.gen(function* () {
          const found = yield* tx.workflows.lock({ id: before.id })
          if (Option.isNone(found) || found.value.contentHash !== before.contentHash)
            return Option.getOrElse(found, () => before)
          const compiled = { bindings, contentHash, diagram, problems, script, waits, warnings }
          const after = { ...found.value, ...compiled, version: found.value.version + 1 }
          yield* tx.workflows.update(after)
          return after
        })
      )
      .pipe(Effect.catchTags({ AlreadyExists: Effect.die, Changed: Effect.die }))
  })
})
