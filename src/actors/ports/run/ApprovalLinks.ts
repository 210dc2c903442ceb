/** The one-time links by which people decide approvals, and the mails that bring them. Contract: execution state machine. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ApprovalId, OrganisationId, UserId } from "../../../domain/Ids.js"

/** Whom a link was sent to, for which approval. `userId`: of the organisation's user with this address. */
export interface ApprovalLink {
  readonly approvalId: ApprovalId
  readonly organisationId: OrganisationId
  readonly address: string
  readonly userId: UserId | null
}

export class ApprovalLinks extends Context.Tag("svc/ApprovalLinks")<
  ApprovalLinks,
  {
    /** Organisations with mails that are due, in any order. */
    readonly organisations: (limit: number) => Effect.Effect<ReadonlyArray<OrganisationId>, Unavailable>
    /**
     * Takes the next mail of the organisation, within its hour's limit and that of the address, and gives its link this
     * token. It is taken again, with another token, after an hour unless its answer was noted. `address` `null`: what was
     * next need not be sent, or not now. `undefined`: none is left.
     */
    readonly take: (
      organisation: OrganisationId,
      tokenHash: string
    ) => Effect.Effect<{ readonly address: string | null } | undefined, Unavailable>
    /** The mail server took the mail of this token, or refused it for good. */
    readonly noteAnswered: (tokenHash: string) => Effect.Effect<void, Unavailable>
    readonly find: (tokenHash: string) => Effect.Effect<ApprovalLink | undefined, Unavailable>
  }
>() {}
