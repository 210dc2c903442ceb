/** Whether this release is confirmed: until then it writes only what its predecessor reads. */
import { Context } from "effect"

/** The stage of the release that this process is of; it may advance while the process runs. */
export interface Stage {
  /** Whether an operator has confirmed it, so that it may write what its predecessor cannot read. */
  readonly isConfirmed: () => boolean
  /** The sandbox engine on which new runs begin: the predecessor's until the release is confirmed. `own`: this build's. */
  readonly engineOfNewRuns: (own: string) => string
}

/** Without a database that says otherwise a release is confirmed. */
const confirmed: Stage = { isConfirmed: () => true, engineOfNewRuns: (own) => own }

export class ReleaseStage extends Context.Reference<ReleaseStage>()("svc/ReleaseStage", {
  defaultValue: () => confirmed
}) {}
