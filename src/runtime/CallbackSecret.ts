/** The secret with which a workspace's callbacks are signed: `whsec_…`, made when it is first needed, 24 h overlap on rotation. */
import { DateTime, Duration, Effect, Option, Redacted } from "effect"
import { Identifiers } from "../actors/ports/Identifiers.js"
import { Records, type Tx } from "../actors/ports/Records.js"
import { Vault } from "../actors/ports/Vault.js"
import { NotFound, Unavailable } from "../domain/Failure.js"
import type { OrganisationId, SpaceId } from "../domain/Ids.js"
import type { Workspace } from "../domain/Organisation.js"

/** How long signatures of the former secret go along with those of the new one. */
export const overlap = Duration.hours(24)

const secretBytes = 32

const place = (organisation: OrganisationId, space: SpaceId, column: "callback_secret" | "callback_secret_before") =>
  ({ organisation, table: "workspaces", column, row: space })

const sealed = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

const lockSpace = (tx: Tx, space: SpaceId) =>
  Effect.flatMap(tx.workspaces.lock({ id: space }), Option.match({ onNone: () => new NotFound({ what: "workspace" }), onSome: Effect.succeed }))

const fresh = Effect.map(Identifiers, (identifiers) => Redacted.make(`whsec_${Buffer.from(identifiers.bytes(secretBytes)).toString("base64")}`))

/** The secret in force. */
export const callbackSecretOf = Effect.fn("CallbackSecret.of")(function*(organisation: OrganisationId, space: SpaceId) {
  const records = yield* Records
  const vault = yield* Vault
  const made = yield* fresh
  return yield* records.transact(organisation, (tx) => Effect.gen(function*() {
    const workspace = yield* lockSpace(tx, space)
    const at = place(organisation, space, "callback_secret")
    if (workspace.callbackSecret !== null) return yield* vault.open(at, workspace.callbackSecret).pipe(Effect.mapError(sealed))
    const callbackSecret = yield* vault.seal(at, made).pipe(Effect.mapError(sealed))
    yield* tx.workspaces.update({ ...workspace, callbackSecret })
    return made
  }))
})

/** All secrets that a receiver may still expect, the one in force first. */
export const callbackSecretsOf = Effect.fn("CallbackSecret.all")(function*(organisation: OrganisationId, space: SpaceId) {
  const records = yield* Records
  const vault = yield* Vault
  const current = yield* callbackSecretOf(organisation, space)
  const now = yield* DateTime.now
  const workspace = yield* records.transact(organisation, (tx) => lockSpace(tx, space))
  const before = stillGood(workspace, DateTime.toEpochMillis(now)) ? workspace.callbackSecretBefore : null
  if (before === null) return [current]
  return [current, yield* vault.open(place(organisation, space, "callback_secret_before"), before).pipe(Effect.mapError(sealed))]
})

const stillGood = (workspace: Workspace, now: number): boolean =>
  workspace.callbackRotatedAt !== null && now - Date.parse(workspace.callbackRotatedAt) < Duration.toMillis(overlap)
