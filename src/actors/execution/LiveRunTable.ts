/** The slots of the runs that one node drives: at most one per run, counted by account. */
import { BriefMap } from "../../domain/BriefMap.js"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import { hasFirstClass, isStarting } from "../../domain/run/StartPolicy.js"
import type { Progress } from "./Progress.js"
import type { DrivenRun } from "./RunDriver.js"
import type { DriveOutcome } from "./RunSpec.js"

/** The process has survived a run that made progress and lives for so long. */
const shortLifeMillis = 1_000
/** A run that waits for so long only waits: a shorter pause between two turns costs no statement. */
const onlyWaitsMillis = 50

export interface LiveRun {
  readonly launchedAt: number | undefined
  /** `takeSurvivors` has returned it. */
  isCleared: boolean
  deadlineAt: number
  /** `undefined` for a slot that is reserved. */
  readonly driven: DrivenRun | undefined
  readonly settle: (outcome: DriveOutcome) => void
  /** The organisation whose plan counts it; `undefined` for a slot that was reserved by id only. */
  readonly accountId: OrganisationId | undefined
  /** When the slot was reserved, or the run launched, in Unix milliseconds. */
  readonly since: number
  /** The run waited in the start queue. */
  readonly wasQueued: boolean
}

export class LiveRunTable {
  private readonly runs = new BriefMap<ExecutionId, LiveRun>()
  private readonly counts = new Map<OrganisationId, number>()
  /** When a run of the first class was launched last. */
  private firstClassAt = -Infinity
  /** Whether a slot was given back. */
  hasEnded = false
  /** Called when a run leaves its slot. */
  private readonly watchers = new Map<ExecutionId, Set<() => void>>()

  get size(): number {
    return this.runs.size
  }

  /** Runs from the start queue that count as starting. */
  countStarting(now: number): number {
    let count = 0
    for (const run of this.runs.values()) if (isStarting(run, now)) count++
    return count
  }

  noteLaunch(priority: number, now: number): void {
    if (priority === 1) this.firstClassAt = now
  }

  /** Whether a run of the first class was launched lately. */
  hasFirstClass(now: number): boolean {
    return hasFirstClass(this.firstClassAt, now)
  }

  get(id: ExecutionId): LiveRun | undefined {
    return this.runs.get(id)
  }

  ids(): ReadonlyArray<ExecutionId> {
    return [...this.runs.keys()]
  }

  entries(): Iterable<readonly [id: ExecutionId, live: LiveRun]> {
    return this.runs
  }

  /** Slots in use by account. */
  countByAccount(): ReadonlyMap<OrganisationId, number> {
    return this.counts
  }

  /** Takes the run's slot; a reserved one is replaced. */
  add(id: ExecutionId, live: LiveRun): void {
    this.addToCount(this.runs.get(id)?.accountId, -1)
    this.runs.set(id, live)
    this.addToCount(live.accountId, 1)
  }

  /** Gives the slot back and settles the run, unless another run has the slot by now. */
  remove(id: ExecutionId, live: LiveRun, outcome: DriveOutcome): void {
    if (this.runs.get(id) !== live) return
    this.runs.delete(id)
    this.hasEnded = true
    this.addToCount(live.accountId, -1)
    live.settle(outcome)
    for (const left of this.watchers.get(id) ?? []) left()
    this.watchers.delete(id)
  }

  /** Calls `left` once when the run leaves its slot. Returns what ends that. */
  watch(id: ExecutionId, left: () => void): () => void {
    const own = this.watchers.get(id) ?? new Set()
    this.watchers.set(id, own.add(left))
    return () => {
      own.delete(left)
      if (own.size === 0 && this.watchers.get(id) === own) this.watchers.delete(id)
    }
  }

  /** The runs that this process turned out to survive since the last call, with their epochs. */
  takeSurvivors(now: number): ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }> {
    const survivors: Array<{ readonly id: ExecutionId; readonly epoch: number }> = []
    for (const [id, live] of this.runs) {
      const { driven, isCleared, launchedAt } = live
      const progress = driven?.progress
      if (isCleared || progress?.hasRow !== true || launchedAt === undefined || now - launchedAt < shortLifeMillis)
        continue
      if (!progress.hasAdvanced) continue
      live.isCleared = true
      survivors.push({ id, epoch: progress.run.epoch })
    }
    return survivors
  }

  /** Has `takeSurvivors` return them again: what it returned was not written. */
  returnSurvivors(runs: ReadonlyArray<{ readonly id: ExecutionId }>): void {
    for (const { id } of runs) {
      const live = this.runs.get(id)
      if (live !== undefined) live.isCleared = false
    }
  }

  /** Takes the marks of computing runs back from those that only wait; returns the runs with their epochs. */
  takeWaiting(now: number): ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }> {
    return this.takeMarks(({ isWaiting, waitingSince }) => isWaiting && now - waitingSince >= onlyWaitsMillis)
  }

  /** Takes the marks of computing runs back, of all runs or of those that are driven on some shards. */
  takeMarked(shards?: ReadonlySet<number>): ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }> {
    return this.takeMarks(({ run }) => shards === undefined || shards.has(run.shard))
  }

  /** Sets marks again: that they were taken back was not written. */
  returnMarks(runs: ReadonlyArray<{ readonly id: ExecutionId }>): void {
    for (const { id } of runs) {
      const mark = this.runs.get(id)?.driven?.progress.spec.mark
      if (mark !== undefined) mark.isSet = true
    }
  }

  private takeMarks(isMeant: (progress: Progress) => boolean) {
    const taken: Array<{ readonly id: ExecutionId; readonly epoch: number }> = []
    for (const [id, { driven }] of this.runs) {
      const progress = driven?.progress
      const mark = progress?.spec.mark
      if (progress === undefined || mark?.isSet !== true || !isMeant(progress)) continue
      mark.isSet = false
      taken.push({ id, epoch: progress.run.epoch })
    }
    return taken
  }

  private addToCount(organisation: OrganisationId | undefined, change: number): void {
    if (organisation === undefined) return
    const left = (this.counts.get(organisation) ?? 0) + change
    if (left === 0) this.counts.delete(organisation)
    else this.counts.set(organisation, left)
  }
}
