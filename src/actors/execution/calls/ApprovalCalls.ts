/**
 * `svc.approval(name?, {approvers, message, expiresInMs, onExpire})`: adds an approval, and is postponed until it is decided
 * or expires. Made again after a decision or by another process, the call finds its approval. Contract: execution state
 * machine.
 */
import { Clock, Context, Data, Effect, Either } from "effect"
import type { Json } from "../../../domain/Json.js"
import { expiryOf, runApproval, type RunApproval, type Approval } from "../../../domain/run/Approval.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { Identifiers } from "../../ports/Identifiers.js"
import {
  failure,
  type HostCall,
  type HostCallResult,
  type HostRequest,
  type Postponement,
  refusedCall
} from "./HostCall.js"
import type { Fenced, JournalUnavailable, OpenRun } from "../../ports/run/Journal.js"

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

/** The approvals that runs ask for: a run's owner adds one, and reads how it was decided. */
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

export const approvalCall = "approval.request"

const misuse = (message: string) => failure("TypeError", `svc.approval: ${message}`)

const exceeded = ({ limit, of }: ApprovalsExceeded) =>
  failure("TooManyApprovals", `svc.approval: this ${of} has ${limit} open approvals, which is the most`, "quota", {
    code: "TOO_MANY_APPROVALS"
  })

const rejected = ({ actor, comment, status }: AskedApproval) =>
  failure(
    "ApprovalRejected",
    status === "expired"
      ? "nobody decided in time"
      : `${actor ?? "an approver"} rejected it${comment === null ? "" : `: ${comment}`}`,
    "code",
    { code: "APPROVAL_REJECTED", data: { actor, comment, expired: status === "expired" } }
  )

const postponed = (at: number): Postponement => ({ _tag: "Postponement", at, why: "approval", attempts: 0 })

/** How soon a call is made again that could not read its approval, or that came before its time by another clock. */
const soonMillis = 2_000
const againMillis = 50

const resultOf = (asked: AskedApproval, now: number): Effect.Effect<HostCallResult, CallFailure | Postponement> => {
  const { actor, comment, decision, expiresAt, status } = asked
  if (status === "open") return Effect.fail(postponed(Math.max(expiresAt, now + againMillis)))
  const value: Json = { decision, comment, actor }
  return decision === "approve" ? Effect.succeed({ value }) : Effect.fail(rejected(asked))
}

export const makeApprovalCalls = Effect.gen(function* () {
  const approvals = yield* RunApprovals
  const identifiers = yield* Identifiers

  const ask = ({ key, place, spec }: HostRequest, asked: RunApproval) =>
    Effect.gen(function* () {
      const { run } = spec
      const now = yield* Clock.currentTimeMillis
      const found = yield* approvals.ask(
        {
          id: identifiers.next("apv"),
          run,
          key,
          name: asked.name ?? place?.replace(/\|\d+$/, "") ?? "approval",
          message: asked.message,
          approvers: [...new Set(asked.approvers)],
          onExpire: asked.onExpire ?? "reject",
          expiresAt: expiryOf(asked, now, run.deadlineAt)
        },
        identifiers.next("evt")
      )
      return yield* resultOf(found, now)
    }).pipe(
      Effect.catchTags({
        ApprovalsExceeded: (error) => Effect.fail(exceeded(error)),
        // Another node has the run, and asks there.
        Fenced: () => Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(postponed(now + soonMillis))),
        JournalUnavailable: () =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(postponed(now + soonMillis)))
      })
    )

  const plan = (request: HostRequest): HostCall => {
    const { args, notes, size, spec } = request
    const { tier } = spec.run
    if (tier !== "long" && spec.start.mocking?.isRehearsal !== true)
      return refusedCall(
        failure(
          "TypeError",
          `svc.approval: people may take longer than a run of tier ${tier}: set the workflow's tier to long`,
          "code",
          { code: "TIER_TOO_SHORT" }
        )
      )
    const asked = runApproval(args[0], size)
    if (Either.isLeft(asked)) return refusedCall(misuse(asked.left))
    if (spec.start.mocking?.mode === "full") {
      notes.isMocked = true
      return { _tag: "Read", run: Effect.succeed({ value: { decision: "approve", comment: null, actor: null } }) }
    }
    return { _tag: "Outside", run: ask(request, asked.right) }
  }

  return { [approvalCall]: plan }
})
