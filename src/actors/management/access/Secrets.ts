/**
 * Use cases of secrets. Each value is a sealed version; a run that has read a version keeps using it.
 * Contract: secret record.
 */
import { Effect, Option, Redacted } from "effect"
import { type Failure, refuseWith } from "../../../domain/Failure.js"
import {
  type CreateSecret,
  deletedSecret,
  newSecret,
  overwrittenSecret,
  type Secret,
  secretPlace,
  secretText,
  secretView
} from "../../../domain/access/Secret.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import { Vault, vaultClosed } from "../../ports/Vault.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { narrowedCallerRefusal, outOfScope, type Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import {
  environmentChangeRefusal,
  environmentReadRefusal,
  findEnvironment
} from "../organisation/EnvironmentRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { findSecretOwner, lockSecret, makeSecretValues, secretListFilter } from "./SecretRecords.js"
import { currentTimestamp } from "../Timestamp.js"

export const SecretList = listQuery({ customer_id: optionalText, environment: optionalText })
type SecretList = typeof SecretList.Type

type ChangeFailure = Failure | AlreadyExists | Changed

const resourceOf = ({ customerId, id, name }: Secret) => ({ id, name, customerId })

/** Retires the current version, which is kept until no run can refer to it. */
const retire = (tx: Tx, secret: Secret, now: string): Effect.Effect<void, ChangeFailure> =>
  Effect.flatMap(
    tx.secretVersions.find({ secretId: secret.id, number: secret.current }),
    Option.match({
      onNone: () => Effect.void,
      onSome: (version) => tx.secretVersions.update({ ...version, retiredAt: now })
    })
  )

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const vault = yield* Vault
  const { open } = yield* makeSecretValues

  /** Seals a value as the secret's current version. */
  const seal = (tx: Tx, { current, id, organisationId }: Secret, text: string) =>
    vault.seal(secretPlace(organisationId, id, current), Redacted.make(text)).pipe(
      Effect.mapError(vaultClosed),
      Effect.flatMap((sealed) =>
        tx.secretVersions.insert({ organisationId, secretId: id, number: current, sealed, retiredAt: null })
      )
    )

  const insert = Effect.fnUntraced(function* (tx: Tx, caller: Principal, secret: Secret, text: string) {
    yield* refuseWith(narrowedCallerRefusal(caller, "secret", "it makes none"))
    yield* tx.secrets.insert(secret)
    yield* seal(tx, secret, text)
    const view = secretView(secret)
    return { value: { isNew: true, secret: view }, resource: resourceOf(secret), after: view }
  })

  const overwrite = Effect.fnUntraced(function* (
    tx: Tx,
    context: CallContext,
    before: Secret,
    after: Secret,
    text: string
  ) {
    yield* refuseWith(outOfScope(context.caller, "secret", before.id))
    yield* checkVersion(context, undefined, before.version)
    yield* retire(tx, before, after.updatedAt)
    yield* seal(tx, after, text)
    yield* tx.secrets.update(after)
    return {
      value: { isNew: false, secret: secretView(after) },
      resource: resourceOf(after),
      action: "secret.update",
      before: { type: before.type, value: before.current },
      after: { type: after.type, value: after.current }
    }
  })

  /** Overwrites the secret with this name and scope; without one, creates it. */
  const insertOrOverwrite = Effect.fnUntraced(function* (
    tx: Tx,
    context: CallContext,
    input: CreateSecret,
    text: string
  ) {
    const { caller } = context
    const { organisationId, spaceId } = caller
    const customerId = yield* findSecretOwner(tx, caller, input.customerId)
    const environment = yield* findEnvironment(tx, caller, input.environment)
    yield* refuseWith(environmentChangeRefusal(caller, environment))
    const now = yield* currentTimestamp
    const { name, type = "text" } = input
    const found = yield* tx.secrets.lock({ spaceId, name, customerId, environment, deletedAt: null })
    if (Option.isSome(found))
      return yield* overwrite(tx, context, found.value, overwrittenSecret(found.value, type, now), text)
    const place = { id: identifiers.next("sec"), organisationId, spaceId, name, type, customerId, environment }
    return yield* insert(tx, caller, newSecret(place, now), text)
  })

  /** The secrets without their values. */
  const list = (context: CallContext, params: SecretList) =>
    read(context, (tx) => {
      const where = secretListFilter(context.caller, params)
      return pages.views(tx.secrets, params, { where, searchIn: ["name"] }, secretView)
    })

  /** Creates a secret, or overwrites the one with the same name and scope; runs keep the version that they read. */
  const store = (context: CallContext, input: CreateSecret) =>
    Effect.flatMap(secretText(input.type ?? "text", input.value), (text) =>
      change(context, (tx) => insertOrOverwrite(tx, context, input, text)).pipe(
        // Another request created the same secret meanwhile: the second attempt overwrites it.
        Effect.retry({ times: 1, while: (failure) => failure._tag === "Conflict" && failure.code === "CONFLICT" })
      )
    )

  const reveal = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const secret = yield* lockSecret(tx, context.caller, id)
      yield* refuseWith(environmentReadRefusal(context.caller, secret.environment))
      const { name, type } = secret
      return {
        value: { id: secret.id, name, type, value: yield* open(tx, secret) },
        resource: resourceOf(secret)
      }
    })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* lockSecret(tx, context.caller, id)
      yield* refuseWith(environmentChangeRefusal(context.caller, before.environment))
      yield* checkVersion(context, undefined, before.version)
      const now = yield* currentTimestamp
      yield* retire(tx, before, now)
      yield* tx.secrets.update(deletedSecret(before, now))
      return { value: undefined, resource: resourceOf(before), before: secretView(before), after: null }
    })

  return { list, store, reveal, remove }
})

export class Secrets extends Effect.Service<Secrets>()("svc/Secrets", { effect: make }) {}
