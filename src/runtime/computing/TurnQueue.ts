/** A fair queue: serves owners round-robin, and the jobs of one owner in order. */
export class TurnQueue<Owner, Job> {
  /** Owners in the order of their turns. */
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

  /** Takes the first job of the first allowed owner, and moves that owner to the end. */
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
