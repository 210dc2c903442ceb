/** The port `CallbackSecrets`: stores the secrets in the workspace's record, sealed by the vault. */
import { Clock, DateTime, Duration, Effect, Encoding, Layer, Option, Redacted } from "effect"
import { NotFound, type Unavailable } from "../../domain/Failure.js"
import type { OrganisationId, SpaceId } from "../../domain/Ids.js"
import { callbackSecretOverlap } from "../../domain/Limits.js"
import type { Workspace } from "../../domain/organisation/Organisation.js"
import { CallbackSecrets } from "../ports/delivery/CallbackSecrets.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type AlreadyExists, type Changed, Records, type Tx } from "../ports/Records.js"
import { Vault, vaultClosed } from "../ports/Vault.js"

type Column = "callback_secret" | "callback_secret_before"

const secretBytes = 32

const sealPlace = ({ id, organisationId }: Workspace, column: Column) => ({
  organisation: organisationId,
  table: "workspaces",
  column,
  row: id
})

const orNotFound = <E>(found: Effect.Effect<Option.Option<Workspace>, E>) =>
  Effect.flatMap(
    found,
    Option.match({ onNone: () => new NotFound({ what: "workspace" }), onSome: (one) => Effect.succeed(one) })
  )

const isInOverlap = (workspace: Workspace, now: number): boolean =>
  workspace.callbackRotatedAt !== null &&
  now - Date.parse(workspace.callbackRotatedAt) < Duration.toMillis(callbackSecretOverlap)

/** Reads or changes a workspace in a transaction. */
type Body<A> = (tx: Tx, workspace: Workspace) => Effect.Effect<A, Unavailable | AlreadyExists | Changed>

const hasNoSecret = ({ callbackSecret }: Workspace) => callbackSecret === null

export const layer = Layer.effect(
  CallbackSecrets,
  Effect.gen(function* () {
    const records = yield* Records
    const vault = yield* Vault
    const identifiers = yield* Identifiers

    const seal = (workspace: Workspace, column: Column, secret: Redacted.Redacted) =>
      Effect.mapError(vault.seal(sealPlace(workspace, column), secret), vaultClosed)

    const open = (workspace: Workspace, column: Column, sealed: Uint8Array) =>
      Effect.mapError(vault.open(sealPlace(workspace, column), sealed), vaultClosed)

    const newSecret = () => Redacted.make(`whsec_${Encoding.encodeBase64(identifiers.bytes(secretBytes))}`)

    /** The current secret; creates it if there is none yet. */
    const readOrCreate = Effect.fnUntraced(function* (tx: Tx, workspace: Workspace) {
      if (workspace.callbackSecret !== null) return yield* open(workspace, "callback_secret", workspace.callbackSecret)
      const secret = newSecret()
      yield* tx.workspaces.update({
        ...workspace,
        callbackSecret: yield* seal(workspace, "callback_secret", secret)
      })
      return secret
    })

    /** The secrets with which a callback is signed: the current one, and for a while the one before. */
    const readValid = Effect.fnUntraced(function* (tx: Tx, workspace: Workspace) {
      const current = yield* readOrCreate(tx, workspace)
      const before = workspace.callbackSecretBefore
      if (before === null || !isInOverlap(workspace, yield* Clock.currentTimeMillis)) return [current]
      return [current, yield* open(workspace, "callback_secret_before", before)]
    })

    /** Replaces the secret; the one before stays valid for a while. */
    const rotate = Effect.fnUntraced(function* (tx: Tx, workspace: Workspace) {
      const before = yield* readOrCreate(tx, workspace)
      const secret = newSecret()
      yield* tx.workspaces.update({
        ...workspace,
        callbackSecret: yield* seal(workspace, "callback_secret", secret),
        callbackSecretBefore: yield* seal(workspace, "callback_secret_before", before),
        callbackRotatedAt: DateTime.formatIso(yield* DateTime.now)
      })
      return secret
    })

    /** Locks the workspace only if it will be written, because many callbacks are signed concurrently. */
    const withWorkspace =
      <A>(isWritten: (workspace: Workspace) => boolean, body: Body<A>) =>
      (organisation: OrganisationId, id: SpaceId) =>
        records
          .transact(organisation, (tx) =>
            Effect.gen(function* () {
              const found = yield* orNotFound(tx.workspaces.find({ id }))
              return yield* body(tx, isWritten(found) ? yield* orNotFound(tx.workspaces.lock({ id })) : found)
            })
          )
          .pipe(
            // The row is locked, and none of its unique members is written.
            Effect.catchTags({ AlreadyExists: Effect.die, Changed: Effect.die })
          )

    return CallbackSecrets.of({
      current: withWorkspace(hasNoSecret, readOrCreate),
      valid: withWorkspace(hasNoSecret, readValid),
      rotate: withWorkspace(() => true, rotate)
    })
  })
)
