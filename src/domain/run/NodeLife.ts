/**
 * Whether a node does the work of its shards, and when one that does not gives them up and ends. Time is counted in ticks of
 * the node's own timer: a process that is suspended, or a machine that is slow, counts none.
 */

/** Limits in ticks; a tick in milliseconds. */
export const nodeLife = {
  tickMillis: 1_000,
  /** A tick that comes later than this counts for nothing: the process did not run, or was slow. */
  lateMillis: 1_000,
  /** A message to an own shard that was not answered for so long counts as unanswered. */
  answerTicks: 5,
  /** Due work of own shards may wait for so long without a step. */
  dueTicks: 10,
  /** A node that does not work for so long ends. */
  endTicks: 30
} as const

/** The steps that a task had done at the last tick, and for how many ticks it has done none beside its work. */
export interface Standstill {
  readonly steps: number
  readonly ticks: number
}

/** What a tick finds of a task. */
export interface TaskSteps {
  readonly name: string
  readonly steps: number
  /** It works, or work waits for it. */
  readonly isBusy: boolean
}

/** Counts a tick for each task. A task that fails does steps: the next node would fail as well. */
export const countStandstills = (
  before: ReadonlyMap<string, Standstill>,
  tasks: ReadonlyArray<TaskSteps>
): ReadonlyMap<string, Standstill> =>
  new Map(
    tasks.map(({ isBusy, name, steps }) => {
      const last = before.get(name)
      const stands = isBusy && last?.steps === steps
      return [name, { steps, ticks: stands ? last.ticks + 1 : 0 }]
    })
  )

/** The tasks whose due work has waited for too long without a step. */
export const overdueTasks = (standstills: ReadonlyMap<string, Standstill>): ReadonlyArray<string> =>
  [...standstills].filter(([, { ticks }]) => ticks >= nodeLife.dueTicks).map(([name]) => name)

/**
 * Counts the ticks for which the node has not worked. A database that does not answer, or is slow itself, begins the count
 * anew: no other node could do better.
 */
export const countIdleTicks = (
  before: number,
  tick: { readonly works: boolean; readonly databaseWorks: boolean }
): number => (tick.works || !tick.databaseWorks ? 0 : before + 1)

/** Whether the node gives its shards up and ends. */
export const mustEnd = (idleTicks: number): boolean => idleTicks >= nodeLife.endTicks
