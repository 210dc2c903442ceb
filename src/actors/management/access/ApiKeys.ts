/**
 * Use cases of API keys: create, narrow, rotate, revoke. No key gets more rights than the key that creates or changes it.
 * Contract: API keys.
 */
import { Clock, Effect, Schema } from "effect"
import { type ApiKey, type CreateApiKey, keyView, UpdateApiKey } from "../../../domain/access/ApiKey.js"
import { changedKey, revokedKey, rotatedKey, statusRefusal } from "../../../domain/access/ApiKeyChanges.js"
import { type Failure, InvalidState, refuseWith } from "../../../domain/Failure.js"
import type { ApiKeyId } from "../../../domain/Ids.js"
import type { Tx } from "../../ports/Records.js"
import { findKeyCustomers, makeApiKeyChecks } from "./ApiKeyChecks.js"
import { makeApiKeyIssuer } from "./ApiKeyIssuer.js"
import { checkVersion, type CallContext } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { listQuery, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { findReached } from "../ReachedRecord.js"

export const ApiKeyList = listQuery({ mode: Schema.optional(Schema.Literal("all", "live", "test")) })
type ApiKeyList = typeof ApiKeyList.Type

/** Members that the service itself changes. */
const volatileMembers = ["lastUsedAt"]

const findKey = (tx: Tx, caller: Principal, id: string, lock = false) => {
  const where = { id: id as ApiKeyId, spaceId: caller.spaceId } // unchecked text from the request
  return findReached(tx.apiKeys, caller, "API key", where, lock)
}

const lockActiveKey = Effect.fnUntraced(function* (tx: Tx, caller: Principal, id: string, at: number) {
  const key = yield* findKey(tx, caller, id, true)
  const refused = statusRefusal(key, at)
  return refused === undefined ? key : yield* refused
})

const resourceOf = ({ id, name }: ApiKey) => ({ id, name })

/** A change with its views for the audit trail. */
const outcomeOf = <A>(value: A, before: ApiKey, after: ApiKey, at: number) => ({
  value,
  resource: resourceOf(after),
  before: keyView(before, at),
  after: keyView(after, at)
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const { addressRefusal, checkWithinCaller } = yield* makeApiKeyChecks
  const { issue, makeSecret, openIdentitySecret } = yield* makeApiKeyIssuer

  const applyChanges = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    key: ApiKey,
    input: UpdateApiKey,
    at: number
  ): Effect.fn.Return<ApiKey, Failure> {
    yield* refuseWith(addressRefusal(input.allowedIps))
    const customers = input.customers === undefined ? key : yield* findKeyCustomers(tx, input.customers)
    const { customerIds, customersMode } = customers
    const after = yield* changedKey(key, input, { customersMode, customerIds }, at)
    yield* checkWithinCaller(caller, after)
    return after
  })

  /** Newest first. */
  const list = Effect.fnUntraced(function* (context: CallContext, params: ApiKeyList) {
    const { mode } = params
    const page = yield* read(context, (tx) =>
      pages.list(tx.apiKeys, params, {
        where: { spaceId: context.caller.spaceId },
        filters: { mode: mode === "all" ? undefined : mode },
        searchIn: ["name", "last4"]
      })
    )
    const at = yield* Clock.currentTimeMillis
    return { ...page, data: page.data.map((key) => keyView(key, at)) }
  })

  const create = (context: CallContext, input: CreateApiKey) =>
    change(context, function* (tx) {
      const { hmacSecret, key, secret } = yield* issue(tx, context.caller, input)
      yield* tx.apiKeys.insert(key)
      const view = keyView(key, Date.parse(key.createdAt))
      return { value: { ...view, key: secret, hmacSecret }, resource: resourceOf(key), after: view }
    })

  const get = (context: CallContext, id: string) =>
    Effect.zipWith(
      read(context, (tx) => findKey(tx, context.caller, id)),
      Clock.currentTimeMillis,
      keyView
    )

  const update = (context: CallContext, id: string, input: UpdateApiKey) =>
    change(context, function* (tx) {
      const at = yield* Clock.currentTimeMillis
      const before = yield* lockActiveKey(tx, context.caller, id, at)
      yield* checkVersion(context, input.version, before.version)
      const changes = yield* pickChanges(UpdateApiKey, input, keyView(before, at), volatileMembers)
      const after = yield* applyChanges(tx, context.caller, before, changes, at)
      yield* tx.apiKeys.update(after)
      return outcomeOf(keyView(after, at), before, after, at)
    })

  /** Without effect on a key that is already revoked. */
  const revoke = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const at = yield* Clock.currentTimeMillis
      const before = yield* findKey(tx, context.caller, id, true)
      // For emergencies, a caller for all customers may revoke a key with more rights than its own.
      if (context.caller.customers !== "all") yield* checkWithinCaller(context.caller, before)
      if (before.revokedAt !== null) return { value: keyView(before, at), resource: resourceOf(before) }
      const after = revokedKey(before, at)
      yield* tx.apiKeys.update(after)
      return outcomeOf(keyView(after, at), before, after, at)
    })

  /** Gives the key a new secret; the previous one stays valid for `graceSeconds`. */
  const rotate = (context: CallContext, id: string, graceSeconds: number) =>
    change(context, function* (tx) {
      const at = yield* Clock.currentTimeMillis
      const before = yield* lockActiveKey(tx, context.caller, id, at)
      yield* checkWithinCaller(context.caller, before)
      const secret = makeSecret(before.mode)
      const after = rotatedKey(before, secret.stored, graceSeconds, context.caller.id, at)
      yield* tx.apiKeys.update(after)
      return outcomeOf({ ...keyView(after, at), key: secret.text, hmacSecret: null }, before, after, at)
    })

  const revealIdentitySecret = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const key = yield* findKey(tx, context.caller, id)
      if (key.hmacSecret === null)
        return yield* new InvalidState({
          state: "hmac_disabled",
          message: "this key does not verify its callers"
        })
      yield* checkWithinCaller(context.caller, key)
      const hmacSecret = yield* openIdentitySecret(key, key.hmacSecret)
      return { value: { hmacSecret }, resource: resourceOf(key) }
    })

  return { list, create, get, update, revoke, rotate, revealIdentitySecret }
})

/** Each use case fails with `NotFound` if the caller's workspace has no such key. */
export class ApiKeys extends Effect.Service<ApiKeys>()("svc/ApiKeys", { effect: make }) {}
