/** The reports of the node's background tasks; `/readyz` and the metrics show a task that has stopped working. */
import { Context } from "effect"

/** The status of one background task. Times are Unix milliseconds. */
export interface TaskStatus {
  readonly name: string
  /** Passes that failed since the last one that succeeded. */
  readonly failuresInARow: number
  readonly failures: number
  readonly succeededAt: number | null
  /** When the current pass began or last did a part of its work; `null` when none runs. */
  readonly runningSince: number | null
  /** Since when work has been waiting; `null` when none is. */
  readonly waitingSince: number | null
  /** Jobs that are left, of a task that has a fixed number of them; `null` for other tasks, and when none is left. */
  readonly remaining: number | null
  /** How often a pass has begun, done a part of its work or ended: a task that works counts on. */
  readonly steps: number
  /** Its work belongs to this node's shards: no other node does it while this one holds them. */
  readonly isOfShards: boolean
}

/** How a task reports its passes. `now`: Unix milliseconds. */
export interface TaskReport {
  /** A pass begins, or has done a part of its work. */
  readonly recordStart: (now: number) => void
  readonly recordSuccess: (now: number) => void
  /** Returns how many passes in a row have failed. */
  readonly recordFailure: (now: number) => number
  /** Whether work is waiting for the next pass. */
  readonly recordWaiting: (isWaiting: boolean, now: number) => void
  /** How many jobs are left, of a task that has a fixed number of them. */
  readonly recordRemaining: (jobs: number) => void
}

/** What kind of task it is. */
export interface TaskOptions {
  /** See `TaskStatus`. */
  readonly isOfShards?: boolean
}

export interface TaskRegistry {
  /** The report of a task. Two tasks of one name share it. */
  readonly register: (name: string, options?: TaskOptions) => TaskReport
  readonly statuses: () => ReadonlyArray<TaskStatus>
}

const failuresTolerated = 3
const patienceMillis = 60_000

/**
 * Whether the task has stopped working: three failures in a row, no success for a minute with
 * work waiting, or a pass that has done nothing for a minute.
 */
export const isFailing = (status: TaskStatus, now: number): boolean => {
  const { failuresInARow, runningSince, succeededAt, waitingSince } = status
  if (failuresInARow >= failuresTolerated) return true
  if (runningSince !== null && now - runningSince > patienceMillis) return true
  return waitingSince !== null && now - Math.max(waitingSince, succeededAt ?? 0) > patienceMillis
}

/** Whether a pass of the task runs, or work waits for one. */
export const isBusy = ({ runningSince, waitingSince }: TaskStatus): boolean =>
  runningSince !== null || waitingSince !== null

/** An empty registry: one for each node, kept in memory. */
export const makeRegistry = (): TaskRegistry => {
  const statuses = new Map<string, TaskStatus>()
  return {
    statuses: () => [...statuses.values()],
    register: (name, { isOfShards = false } = {}) => {
      const change = (more: Partial<TaskStatus>): TaskStatus => {
        const before = statuses.get(name) ?? {
          name,
          failuresInARow: 0,
          failures: 0,
          succeededAt: null,
          runningSince: null,
          waitingSince: null,
          remaining: null,
          steps: 0,
          isOfShards
        }
        const after = { ...before, ...more }
        statuses.set(name, after)
        return after
      }
      const step = (more: Partial<TaskStatus>): TaskStatus => change({ ...more, steps: change({}).steps + 1 })
      change({})
      return {
        recordStart: (now) => void step({ runningSince: now }),
        recordSuccess: (now) => void step({ failuresInARow: 0, succeededAt: now, runningSince: null }),
        recordFailure: () => {
          const { failures, failuresInARow } = step({ runningSince: null })
          return change({ failuresInARow: failuresInARow + 1, failures: failures + 1 }).failuresInARow
        },
        recordWaiting: (isWaiting, now) => {
          const { waitingSince } = change({})
          if (isWaiting !== (waitingSince !== null)) change({ waitingSince: isWaiting ? now : null })
        },
        recordRemaining: (jobs) => void change({ remaining: jobs === 0 ? null : jobs })
      }
    }
  }
}

/** One registry per node; a test gets one of its own by default. */
export class BackgroundTasks extends Context.Reference<BackgroundTasks>()("svc/BackgroundTasks", {
  defaultValue: makeRegistry
}) {}
