/** A fair queue: serves its owners round-robin, and the jobs of one owner in the order of their arrival. */
export class FairQueue<Owner, Job> {
  /** Each owner's waiting jobs; the owners in the order in which they are served next. */
  readonly #jobs = new Map<Owner, Array<Job>>()

  /** The number of jobs that wait for an owner. */
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
    const index = waiting?.indexOf(job) ?? -1
    if (waiting === undefined || index < 0) return
    waiting.splice(index, 1)
    if (waiting.length === 0) this.#jobs.delete(owner)
  }

  /** Takes the oldest job of the first owner that is allowed, and moves that owner to the end. */
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
