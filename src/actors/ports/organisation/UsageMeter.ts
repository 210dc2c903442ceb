/** Counts calls of the API for the totals of days, without a statement for each. */
import { Context } from "effect"
import type { OrganisationId } from "../../../domain/Ids.js"

export class UsageMeter extends Context.Tag("svc/UsageMeter")<
  UsageMeter,
  {
    /** Written within ten seconds; a crash loses at most that. */
    readonly countCall: (organisation: OrganisationId) => void
  }
>() {}
