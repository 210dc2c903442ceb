/** Waiting jobs of many owners: owners take turns, the jobs of one owner stay in order. */
export class TurnQueue<Owner, Job> {
  /** In the order in which the owners' turns come. */
  readonly #jobs = new Map<Owner, Array<Job>>()

  /** How many jobs an owner has waiting. */
  count(owner: Owner): number {
    return this.#jobs.get(owner)?.length ?? 0
  }

  add(owner: Owner, job: Job): void {
    const waiting = this.#jobs.get(owner)
    if (waiting === undefined) this.#jobs.set(owner, [job])
    else waiting.push(job)
  }

  remove(owner: Owner, job: Job): void {
    const waiting = this.#jobs.get(owner)
    const at = waiting?.indexOf(job) ?? -1
    if (waiting === undefined || at < 0) return
    waiting.splice(at, 1)
    if (waiting.length === 0) this.#jobs.delete(owner)
  }

  /** The first job of the first owner who may have one now; that owner's next turn comes last. */
  take(isAllowed: (owner: Owner) => boolean): { readonly owner: Owner; readonly job: Job } | undefined {
    for (const [owner, waiting] of this.#jobs) {
      if (!isAllowed(owner)) continue
      this.#jobs.delete(owner)
      const [job, ...rest] = waiting
      if (rest.length > 0) this.#jobs.set(owner, rest)
      if (job !== undefined) return { owner, job }
    }
    return undefined
  }

  get isEmpty(): boolean {
    return this.#jobs.size === 0
  }
}
