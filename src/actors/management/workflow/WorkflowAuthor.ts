/** The author of a workflow for its records, and the check whether the caller may write code. */
import type { Author } from "../../../domain/workflow/WorkflowChanges.js"
import { canEditCode } from "../../../domain/organisation/Organisation.js"
import { Forbidden } from "../../../domain/Failure.js"
import type { Principal } from "../Caller.js"

/** `now`: RFC 3339. */
export const authorOf = (caller: Principal, now: string): Author => ({
  organisationId: caller.organisationId,
  spaceId: caller.spaceId,
  by: caller.id,
  now
})

/** The refusal if the caller's sub-organisation is not allowed to write code. */
export const codeRefusal = ({ organisation }: Principal): Forbidden | undefined =>
  canEditCode(organisation)
    ? undefined
    : new Forbidden({
        code: "FORBIDDEN",
        needs: "CODE_EDITING_DISABLED",
        message: "code editing is disabled for this organisation"
      })
