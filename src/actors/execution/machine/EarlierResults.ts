/** What a run has of earlier attempts, and of the run that it resumes: results that are not asked for again. */
import type { ExecutionId } from "../../../domain/Ids.js"
import {
  callKey,
  type History,
  type IndexedResult,
  pathOfPlace,
  reuseKey,
  stepKey
} from "../../../domain/run/RunJournal.js"
import type { OpenRun } from "../../ports/run/Journal.js"
import type { PendingCall } from "../PendingCall.js"

/** The host call by which a step of a resumed flow asks for its output. */
export const outputInquiry = "step.output"

export class EarlierResults {
  /** Hashes that were journaled for a call, by `callKey`. */
  private readonly hashes = new Map<string, Set<string>>()
  /** Paths of the steps whose outputs the journal has. */
  private readonly outputs: Set<string>

  constructor(private readonly history: History | null) {
    this.outputs = new Set(history?.outputs.keys())
    for (const { call, hash, place } of history?.earlier ?? []) {
      const key = callKey(call, place)
      this.hashes.set(key, (this.hashes.get(key) ?? new Set()).add(hash))
    }
  }

  /** The result of a call that is not made again. */
  find({ args: [path], hash, id, inStep, name, place }: PendingCall): IndexedResult | undefined {
    if (name === outputInquiry) return this.findOutput(String(path))
    if (inStep?.own !== undefined) return this.findOutput(inStep.path)
    return this.history?.reusable.get(reuseKey(id, hash, place))
  }

  /** The output of a completed step, which may have been of another type in the version that completed it. */
  private findOutput(path: string): IndexedResult | undefined {
    return this.history?.outputs.get(path) ?? this.history?.reusable.get(stepKey(path))
  }

  /** Whether a call was made with other arguments before: then it needs another idempotency key. */
  isChanged({ hash, id, place }: PendingCall): boolean {
    const known = this.hashes.get(callKey(id, place))
    return known !== undefined && known.size > (known.has(hash) ? 1 : 0)
  }

  /** The run from which the call's idempotency key derives: that which ran its step anew, else the first of the chain. */
  rootOf({ place }: PendingCall, { record }: OpenRun): ExecutionId {
    const anew = place === undefined ? undefined : this.history?.anew.find(pathOfPlace(place))
    return anew?.rootId ?? record.rootId
  }

  /** Notes that the journal gets the output of a step. False: it has it. */
  keepOutput(path: string): boolean {
    if (this.outputs.has(path)) return false
    this.outputs.add(path)
    return true
  }

  /** Whether the run replays what another one has journaled, and has added nothing yet. */
  isTakenOver({ attempt, id, record }: OpenRun): boolean {
    const { inherited = 0, replay = [] } = this.history ?? {}
    return record.rootId !== id && attempt === 1 && inherited > 0 && replay.length === inherited
  }
}
