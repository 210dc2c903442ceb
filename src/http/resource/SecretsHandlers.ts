/** Secrets: each value is a version of its own, sealed; a run goes on with the version that it read. */
import { DateTime, Effect, Option, Redacted } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../actors/ports/Records.js"
import { Vault } from "../../actors/ports/Vault.js"
import { type Failure, invalid, NotFound, Unavailable, ValidationFailed } from "../../domain/Failure.js"
import type { CustomerId, SecretId } from "../../domain/Ids.js"
import {
  type CreateSecret,
  type Secret,
  secretPlace,
  secretText,
  secretValue,
  secretView
} from "../../domain/Secret.js"
import { Current } from "../auth/Authenticated.js"
import { outOfScope, type Principal, reaches } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"

type ChangeFailure = Failure | AlreadyExists | Changed

const gone = () => new NotFound({ what: "secret" })
const unopened = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })
const nowText = Effect.map(DateTime.now, DateTime.formatIso)

const resourceOf = ({ customerId, id, name }: Secret) => ({ id, name, customerId })

/** The secret that a path names, if the caller reaches it. */
const findSecret = (tx: Tx, caller: Principal, id: string): Effect.Effect<Secret, Failure> => {
  const outside = outOfScope(caller, "secret", id)
  if (outside !== undefined) return Effect.fail(outside)
  // Any text: no other row matches.
  const where = { id: id as SecretId, spaceId: caller.spaceId, deletedAt: null }
  return Effect.flatMap(
    tx.secrets.lock(where),
    Option.match({
      onNone: gone,
      onSome: (secret) =>
        secret.customerId === null || reaches(caller, secret.customerId) ? Effect.succeed(secret) : gone()
    })
  )
}

/** For whom and where the value is: both must be there. */
const scopeOf = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  input: CreateSecret
): Effect.fn.Return<Pick<Secret, "customerId" | "environment">, Failure> {
  const { customerId = null, environment: slug = null } = input
  if (customerId !== null) {
    const found = yield* tx.customers.find({ id: customerId as CustomerId, deletedAt: null }) // any text: no other row matches
    if (Option.isNone(found) || !reaches(caller, found.value.id)) {
      return yield* invalid("customerId", "NOT_FOUND", "names no customer")
    }
  }
  const environment = slug?.toLowerCase() ?? null
  if (environment !== null && (yield* tx.environments.count({ slug: environment })) === 0) {
    return yield* invalid("environment", "NOT_FOUND", "names no environment")
  }
  return { customerId: customerId as CustomerId | null, environment }
})

const retire = (tx: Tx, secret: Secret, now: string): Effect.Effect<void, ChangeFailure> =>
  Effect.flatMap(
    tx.secretVersions.find({ secretId: secret.id, number: secret.current }),
    Option.match({
      onNone: () => Effect.void,
      onSome: (version) => tx.secretVersions.update({ ...version, retiredAt: now })
    })
  )

export const SecretsLive = group(ResourceApi, "secrets", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers
    const vault = yield* Vault

    const seal = (tx: Tx, { current, id, organisationId }: Secret, text: string) =>
      vault.seal(secretPlace(organisationId, id, current), Redacted.make(text)).pipe(
        Effect.mapError(unopened),
        Effect.flatMap((sealed) =>
          tx.secretVersions.insert({ organisationId, secretId: id, number: current, sealed, retiredAt: null })
        )
      )

    const create = Effect.fnUntraced(function* (
      tx: Tx,
      secret: Secret,
      text: string
    ): Effect.fn.Return<void, ChangeFailure> {
      yield* tx.secrets.insert(secret)
      yield* seal(tx, secret, text)
    })

    const overwrite = Effect.fnUntraced(function* (
      tx: Tx,
      before: Secret,
      after: Secret,
      text: string
    ): Effect.fn.Return<void, ChangeFailure> {
      yield* retire(tx, before, after.updatedAt)
      yield* seal(tx, after, text)
      yield* tx.secrets.update(after)
    })

    const store = Effect.fnUntraced(function* (tx: Tx, exchange: Exchange, input: CreateSecret, text: string) {
      const { caller } = exchange
      const scope = yield* scopeOf(tx, caller, input)
      const type = input.type ?? "text"
      const at = yield* nowText
      const found = yield* tx.secrets.lock({ ...scope, spaceId: caller.spaceId, name: input.name, deletedAt: null })
      if (Option.isNone(found)) {
        const { organisationId, spaceId } = caller
        const made: Secret = {
          id: identifiers.next("sec"),
          organisationId,
          spaceId,
          name: input.name,
          type,
          ...scope,
          current: 1,
          createdAt: at,
          updatedAt: at,
          deletedAt: null,
          version: 1
        }
        yield* create(tx, made, text)
        return {
          value: { created: true, secret: secretView(made) },
          resource: resourceOf(made),
          after: secretView(made)
        }
      }
      const before = found.value
      const outside = outOfScope(caller, "secret", before.id)
      if (outside !== undefined) return yield* outside
      yield* checkVersion(exchange, undefined, before.version)
      const after = { ...before, type, current: before.current + 1, updatedAt: at, version: before.version + 1 }
      yield* overwrite(tx, before, after, text)
      return {
        value: { created: false, secret: secretView(after) },
        resource: resourceOf(after),
        action: "secret.update",
        before: { type: before.type, value: before.current },
        after: { type: after.type, value: after.current }
      }
    })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { customer_id, environment, q } = urlParams
          const page = yield* view(exchange, (tx) =>
            listing.list(tx.secrets, urlParams, {
              where: {
                deletedAt: null,
                spaceId: exchange.caller.spaceId,
                ...(customer_id === undefined ? {} : { customerId: customer_id as CustomerId }), // any text: no other row matches
                ...(environment === undefined ? {} : { environment })
              },
              ...(q === undefined ? {} : { search: { text: q, in: ["name"] } })
            })
          )
          const seen = page.data.filter(({ customerId }) => customerId === null || reaches(exchange.caller, customerId))
          return { ...page, data: seen.map(secretView) }
        })
      )
      .handle("store", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const text = secretText(payload.type ?? "text", payload.value)
          if (text instanceof ValidationFailed) return yield* text
          const { created, secret } = yield* change(exchange, (tx) => store(tx, exchange, payload, text)).pipe(
            // Another request made the same secret meanwhile: now it is there to be overwritten.
            Effect.retry({ times: 1, while: (failure) => failure._tag === "Conflict" && failure.code === "CONFLICT" })
          )
          exchange.status = created ? 201 : 200
          return { data: secret }
        })
      )
      .handle("reveal", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const secret = yield* findSecret(tx, exchange.caller, path.sid)
              const version = yield* tx.secretVersions.find({ secretId: secret.id, number: secret.current })
              if (Option.isNone(version)) return yield* gone()
              const place = secretPlace(secret.organisationId, secret.id, secret.current)
              const text = yield* Effect.mapError(vault.open(place, version.value.sealed), unopened)
              const { id, name, type } = secret
              return {
                value: { id, name, type, value: secretValue(type, Redacted.value(text)) },
                resource: resourceOf(secret)
              }
            })
          )
          return { data }
        })
      )
      .handle("delete", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const before = yield* findSecret(tx, exchange.caller, path.sid)
              yield* checkVersion(exchange, undefined, before.version)
              yield* retire(tx, before, now)
              yield* tx.secrets.update({ ...before, deletedAt: now, updatedAt: now, version: before.version + 1 })
              return { value: null, resource: resourceOf(before), before: secretView(before), after: null }
            })
          )
        })
      )
  })
)
