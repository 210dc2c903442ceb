/** The commits of a run: one after the other, in the order in which they were asked for. */
import type { MachineCommand } from "./Messages.js"
import type { Progress } from "../Progress.js"

export type CommitCommand = Extract<MachineCommand, { readonly _tag: "Commit" }>
/** What a change has beside the rows that are not yet written. */
export type Additions = Parameters<Progress["takeChange"]>[0]

const hasNothingToWrite = (p: Progress): boolean => p.hasRow && !p.hasUnwritten

export class CommitOrder {
  private readonly queued: Array<CommitCommand> = []
  private isInFlight = false
  private whenDone: (() => void) | undefined

  constructor(private readonly emit: (command: CommitCommand) => void) {}

  /** Commits everything so far with `additions`, then goes on with `next`. */
  commit(p: Progress, additions: Additions, next: () => void): void {
    this.whenDone = next
    this.take(p, additions)
  }

  /** Goes on with `next` once everything so far is committed. */
  flush(p: Progress, next: () => void): void {
    if (!hasNothingToWrite(p)) return this.commit(p, {}, next)
    if (!this.isInFlight) return next()
    this.whenDone = next
  }

  /** Commits everything so far while the guest computes. Does nothing while another commit is in flight. */
  commitAhead(p: Progress): void {
    if (!this.isInFlight && !hasNothingToWrite(p)) this.take(p, {})
  }

  /** The commit in flight is done: begins the next one, or goes on with what waited for the last. */
  done(): void {
    this.isInFlight = false
    const next = this.queued.shift()
    if (next !== undefined) return this.begin(next)
    const { whenDone } = this
    this.whenDone = undefined
    whenDone?.()
  }

  /** What waits for a commit does not go on. */
  forget(): void {
    this.whenDone = undefined
  }

  /** No further commit of those asked for begins. */
  drop(): void {
    this.queued.length = 0
    this.isInFlight = false
    this.forget()
  }

  private take(p: Progress, additions: Additions): void {
    const command: CommitCommand = {
      _tag: "Commit",
      releases: p.takeReleases(),
      change: p.takeChange(additions)
    }
    if (this.isInFlight) this.queued.push(command)
    else this.begin(command)
  }

  private begin(command: CommitCommand): void {
    this.isInFlight = true
    this.emit(command)
  }
}
