/**
 * When this node last committed a change of an organisation's records, so that what it keeps of them for a moment is read
 * again afterwards: whoever has the answer to a change sees it in the next request to this node.
 */
import { Context, FiberRef } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"

export interface CommitLog {
  /** A number that grows with every commit. What was read at it knows all commits up to it. */
  readonly current: () => number
  readonly recordCommit: (organisation: OrganisationId) => void
  /** The number of the organisation's last commit; 0 where none is known. */
  readonly lastCommit: (organisation: OrganisationId) => number
}

/** Beyond so many organisations all are forgotten: everything is then read anew, once. */
const maxOrganisations = 100_000

export const makeCommitLog = (): CommitLog => {
  const last = new Map<OrganisationId, number>()
  let now = 0
  let before = 0
  return {
    current: () => now,
    recordCommit: (organisation) => {
      if (last.size >= maxOrganisations) {
        last.clear()
        before = now
      }
      last.set(organisation, ++now)
    },
    lastCommit: (organisation) => last.get(organisation) ?? before
  }
}

/** One for a node; a test that does not care gets one of its own. */
export class Commits extends Context.Reference<Commits>()("svc/Commits", { defaultValue: makeCommitLog }) {}

/** Of the transaction that the fiber is in: whether it has written. */
export const transactionWrites: FiberRef.FiberRef<{ isWritten: boolean } | undefined> = FiberRef.unsafeMake<
  { isWritten: boolean } | undefined
>(undefined)
