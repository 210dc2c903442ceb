/** The approvals that runs ask for: a run's owner adds one, and reads how it was decided. */
import { Context, Data, type Effect } from "effect"
import type { Approval } from "../../../domain/run/Approval.js"
import type { Fenced, JournalUnavailable, OpenRun } from "./Journal.js"

/** The run, or its organisation, has as many open approvals as it may. */
export class ApprovalsExceeded extends Data.TaggedError("ApprovalsExceeded")<{
  readonly of: "run" | "organisation"
  readonly limit: number
}> {}

/** What a call asks for. Times are Unix milliseconds. */
export interface ApprovalRequest extends Pick<Approval, "id" | "key" | "name" | "message" | "approvers" | "onExpire"> {
  readonly run: OpenRun
  readonly expiresAt: number
}

/** How the approval of a call stands. */
export interface AskedApproval extends Pick<Approval, "status" | "decision" | "comment" | "actor"> {
  readonly expiresAt: number
}

export class RunApprovals extends Context.Tag("svc/RunApprovals")<
  RunApprovals,
  {
    /**
     * Adds the approval unless the call has one, with the event that tells of it and the people to be asked, in one
     * transaction; one whose time has passed expires. Only the owner of the run can ask. A decision that commits later
     * wakes the run.
     */
    readonly ask: (
      request: ApprovalRequest,
      eventId: string
    ) => Effect.Effect<AskedApproval, ApprovalsExceeded | Fenced | JournalUnavailable>
  }
>() {}
