/** The steps that a resumed run begins with: those of the results that it uses again. */
import type { StepRow } from "../../actors/ports/Journal.js"
import type { ExecutionDetail } from "../../domain/ExecutionView.js"
import { isObject } from "../../domain/Json.js"
import { history, type JournalEntry, type StartEntry } from "../../domain/RunJournal.js"

/** `entries`: the parent's journal behind its start, with the attempt that resumes it. */
export const stepsAgain = (
  { steps }: Pick<ExecutionDetail, "steps">,
  start: StartEntry,
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<StepRow> => {
  const replayed = new Set(history(start, entries).replay.map(({ call }) => call))
  return steps.flatMap((step) => {
    if (!isObject(step)) return []
    const { index, status } = step
    const isAgain = typeof index === "number" && replayed.has(index)
    return isAgain && (status === "completed" || status === "failed")
      ? [{ index, status, record: { ...step, reused: true } }]
      : []
  })
}
