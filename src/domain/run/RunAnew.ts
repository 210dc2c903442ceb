/** Which steps of a resumed flow run anew, over all resumptions of its chain. */
import type { ExecutionId } from "../Ids.js"

/** How often the runs of one chain are resumed at a step: each such resumption is kept in the journals of all later ones. */
export const resumptionsAtSteps = 50

/** Steps of a flow that run anew, though the run that is resumed has completed them. */
export interface RunAnew {
  /** Their paths, which stand for the steps inside of them as well. */
  readonly steps: ReadonlyArray<string>
  /** The run that runs them anew: the idempotency keys of their calls derive from it. */
  readonly rootId: ExecutionId
}

/** The resumption that ran a step anew: the first one is 1. */
export interface Resumption {
  readonly nth: number
  readonly rootId: ExecutionId
}

/** More ends of names than the path of a step in ten loops has; code may nest its own steps deeper. */
const mostEnds = 24

/** The paths of the steps around a path, and itself: `sync`, `sync[3]`, `sync[3].send`. */
const stepsAround = (path: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = 0; at < path.length && found.length < mostEnds; at++)
    if (path[at] === "." || path[at] === "[") found.push(path.slice(0, at))
  return [...found, path]
}

/** The resumptions of a flow, in their order. A question takes as long however many there were. */
export class AnewSteps {
  private readonly last = new Map<string, Resumption>()
  private count = 0

  /** How often the flow was resumed. */
  get resumptions(): number {
    return this.count
  }

  add({ rootId, steps }: RunAnew): void {
    const nth = ++this.count
    for (const step of steps) this.last.set(step, { nth, rootId })
  }

  /** The last resumption that ran the step at a path anew, or one around it. */
  find(path: string): Resumption | undefined {
    let found: Resumption | undefined
    for (const step of this.last.size === 0 ? [] : stepsAround(path)) {
      const one = this.last.get(step)
      if (one !== undefined && (found === undefined || one.nth > found.nth)) found = one
    }
    return found
  }
}
