/**
 * Numbers the commits by organisation, so that read caches drop what they read before a change: a client that has the
 * response to a change sees it in its next request, to this node or to another.
 */
import { Context, Effect, FiberRef } from "effect"
import type { OrganisationId } from "../../../domain/Ids.js"

export interface CommitLog {
  /** The number of the latest commit. A read that begins at it sees all commits up to it. */
  readonly current: () => number
  readonly recordCommit: (organisation: OrganisationId) => void
  /** Records a commit of this node, and tells the others of it: resolves when they have recorded it, or do not answer. */
  readonly announceCommit: (organisation: OrganisationId) => Effect.Effect<void>
  /** How the others are told. Without it there are none. */
  readonly announceBy: (tell: (organisation: OrganisationId) => Effect.Effect<void>) => void
  /** The number of the organisation's last commit, or 0 if none is recorded. */
  readonly lastCommit: (organisation: OrganisationId) => number
}

/** Beyond this many organisations the log is cleared, and every cache reads once more. */
const maxOrganisations = 100_000

/** An empty log: one for each node, kept in memory. */
export const makeCommitLog = (): CommitLog => {
  const last = new Map<OrganisationId, number>()
  let now = 0
  let before = 0
  let tell: (organisation: OrganisationId) => Effect.Effect<void> = () => Effect.void
  const recordCommit = (organisation: OrganisationId) => {
    if (last.size >= maxOrganisations) {
      last.clear()
      before = now
    }
    last.set(organisation, ++now)
  }
  return {
    current: () => now,
    recordCommit,
    announceCommit: (organisation) =>
      Effect.suspend(() => {
        recordCommit(organisation)
        return tell(organisation)
      }),
    announceBy: (by) => {
      tell = by
    },
    lastCommit: (organisation) => last.get(organisation) ?? before
  }
}

/** One per node. Without a layer each reference gets a log of its own, for tests. */
export class Commits extends Context.Reference<Commits>()("svc/Commits", { defaultValue: makeCommitLog }) {}

/** What a transaction has written. */
export interface TransactionWrites {
  /** Anything of its organisation. */
  isWritten: boolean
  /** Other organisations of which it has changed something. */
  readonly others: Set<OrganisationId>
}

/** Of the fiber's transaction; `undefined` outside a transaction. */
export const transactionWrites: FiberRef.FiberRef<TransactionWrites | undefined> = FiberRef.unsafeMake<
  TransactionWrites | undefined
>(undefined)
