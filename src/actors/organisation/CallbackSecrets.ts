/** The port `CallbackSecrets`: stores the secrets in the workspace's record, sealed by the vault. */
import { Clock, DateTime, Duration, Effect, Encoding, Layer, Option, Redacted } from "effect"
import { NotFound, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId, SpaceId } from "../../domain/Ids.js"
import { callbackSecretOverlap } from "../../domain/Limits.js"
import type { Workspace } from "../../domain/organisation/Organisation.js"
import { CallbackSecrets } from "../ports/delivery/CallbackSecrets.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type AlreadyExists, type Changed, Records, type Tx } from "../ports/Records.js"
import { Vault } from "../ports/Vault.js"

type Column = "callback_secret" | "callback_secret_before"

const secretBytes = 32

const sealPlace = ({ id, organisationId }: Workspace, column: Column) => ({
  organisation: organisationId,
  table: "workspaces",
  column,
  row: id
})

const vaultUnavailable = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

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

/** What reading and writing the secrets needs. */
interface SecretsContext {
  readonly records: Records["Type"]
  readonly vault: Vault["Type"]
  readonly identifiers: Identifiers["Type"]
}

const seal = ({ vault }: SecretsContext, workspace: Workspace, column: Column, secret: Redacted.Redacted) =>
  Effect.mapError(vault.seal(sealPlace(workspace, column), secret), vaultUnavailable)

const open = ({ vault }: SecretsContext, workspace: Workspace, column: Column, sealed: Uint8Array) =>
  Effect.mapError(vault.open(sealPlace(workspace, column), sealed), vaultUnavailable)

const newSecret = ({ identifiers }: SecretsContext) =>
  Redacted.make(`whsec_${Encoding.encodeBase64(identifiers.bytes(secretBytes))}`)

/** The current secret; creates it if there is none yet. */
const readOrCreate = Effect.fnUntraced(function* (context: SecretsContext, tx: Tx, workspace: Workspace) {
  if (workspace.callbackSecret !== null)
    return yield* open(context, workspace, "callback_secret", workspace.callbackSecret)
  const secret = newSecret(context)
  yield* tx.workspaces.update({
    ...workspace,
    callbackSecret: yield* seal(context, workspace, "callback_secret", secret)
  })
  return secret
})

/** The secrets with which a callback is signed: the current one, and for a while the one before. */
const readValid = Effect.fnUntraced(function* (context: SecretsContext, tx: Tx, workspace: Workspace) {
  const current = yield* readOrCreate(context, tx, workspace)
  const before = workspace.callbackSecretBefore
  if (before === null || !isInOverlap(workspace, yield* Clock.currentTimeMillis)) return [current]
  return [current, yield* open(context, workspace, "callback_secret_before", before)]
})

/** Replaces the secret; the one before stays valid for a while. */
const rotate = Effect.fnUntraced(function* (context: SecretsContext, tx: Tx, workspace: Workspace) {
  const before = yield* readOrCreate(context, tx, workspace)
  const secret = newSecret(context)
  yield* tx.workspaces.update({
    ...workspace,
    callbackSecret: yield* seal(context, workspace, "callback_secret", secret),
    callbackSecretBefore: yield* seal(context, workspace, "callback_secret_before", before),
    callbackRotatedAt: DateTime.formatIso(yield* DateTime.now)
  })
  return secret
})

/** Locks the workspace only if it will be written, because many callbacks are signed concurrently. */
const withWorkspace =
  <A>({ records }: SecretsContext, isWritten: (workspace: Workspace) => boolean, body: Body<A>) =>
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

const hasNoSecret = ({ callbackSecret }: Workspace) => callbackSecret === null

export const layer = Layer.effect(
  CallbackSecrets,
  Effect.gen(function* () {
    const records = yield* Records
    const vault = yield* Vault
    const identifiers = yield* Identifiers

    const context: SecretsContext = { records, vault, identifiers }

    return CallbackSecrets.of({
      current: withWorkspace(context, hasNoSecret, (tx, workspace) => readOrCreate(context, tx, workspace)),
      valid: withWorkspace(context, hasNoSecret, (tx, workspace) => readValid(context, tx, workspace)),
      rotate: withWorkspace(
        context,
        () => true,
        (tx, workspace) => rotate(context, tx, workspace)
      )
    })
  })
)
