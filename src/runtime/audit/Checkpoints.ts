/**
 * Signed heads of the audit chains, kept outside the database: whoever rewrites the tables cannot rewrite these.
 * One line of JSON each, in `audit-checkpoints.jsonl` of the data directory, at most one an hour and organisation.
 */
import { Clock, Effect } from "effect"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import type { Checkpoint } from "../../actors/ports/AuditTrail.js"
import { canonicalJson } from "../../domain/Json.js"
import type { OrganisationId } from "../../domain/Ids.js"

const everyMillis = 3_600_000

export interface CheckpointFile {
  /** Writes a checkpoint if the organisation's last one is an hour old. */
  readonly offer: (head: {
    readonly organisationId: OrganisationId
    readonly seq: number
    readonly hash: string
  }) => Effect.Effect<void>
  readonly latest: (organisation: OrganisationId) => Checkpoint | null
}

export const open = (path: string, sign: (text: string) => string): CheckpointFile => {
  const latest = new Map<OrganisationId, Checkpoint>()
  if (existsSync(path)) {
    for (const line of readFileSync(path, "utf8").split("\n")) {
      if (line === "") continue
      // Written below.
      const checkpoint = JSON.parse(line) as Checkpoint
      const { signature, ...signed } = checkpoint
      if (sign(canonicalJson(signed)) === signature) latest.set(checkpoint.organisationId, checkpoint)
    }
  }
  return {
    latest: (organisation) => latest.get(organisation) ?? null,
    offer: (head) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const last = latest.get(head.organisationId)
        if (last !== undefined && now - Date.parse(last.at) < everyMillis) return Effect.void
        const unsigned = { ...head, at: new Date(now).toISOString() }
        const checkpoint: Checkpoint = { ...unsigned, signature: sign(canonicalJson(unsigned)) }
        return Effect.try(() => appendFileSync(path, `${JSON.stringify(checkpoint)}\n`, { mode: 0o600 })).pipe(
          Effect.tap(() => Effect.sync(() => latest.set(head.organisationId, checkpoint))),
          Effect.zipRight(Effect.logInfo("audit checkpoint").pipe(Effect.annotateLogs({ ...checkpoint }))),
          Effect.catchAll((error) => Effect.logError("writing the audit checkpoint failed", error))
        )
      })
  }
}
