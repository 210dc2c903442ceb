/**
 * How every change of a management record is made: in one transaction with its audit entry and, where the client sent
 * an Idempotency-Key, with the answer that a repetition will get.
 */
import { DateTime, Effect, Option, Redacted } from "effect"
import { Digests } from "../actors/ports/Digests.js"
import { Identifiers } from "../actors/ports/Identifiers.js"
import { type AlreadyExists, type Changed, Records, type Tx } from "../actors/ports/Records.js"
import { Vault } from "../actors/ports/Vault.js"
import { changesBetween } from "../domain/Audit.js"
import {
  Conflict,
  type Failure,
  IdempotencyInProgress,
  InvalidRequest,
  Unavailable,
  ValidationFailed
} from "../domain/Failure.js"
import type { CustomerId } from "../domain/Ids.js"
import type { Json } from "../domain/Json.js"
import { idempotencyKeyLength, idempotencyLifetime } from "../domain/Limits.js"
import { actorOf, recordRefusal } from "./auth/Caller.js"
import type { Exchange } from "./Exchange.js"
import { pathOf } from "./Wire.js"
import { targetMark } from "./Wire.js"

type Record = { readonly [member: string]: Json | undefined }

/** What a change came to: the answer, and what the audit trail says of it. */
export interface Outcome<A> {
  readonly value: A
  readonly resource: { readonly id: string; readonly name?: string | null; readonly customerId?: CustomerId | null }
  readonly before?: object | null
  readonly after?: object | null
  /** Another action than the endpoint's, where what happened is more particular. */
  readonly action?: string
}

export interface Options {
  /** The path of the record that a change makes, for `Location`. */
  readonly location?: (value: Json) => string
}

/** Requests of one group of endpoints that may keep a connection of the database while an actor asks a provider. */
const mostPatient = 2

/** What a key makes a request of once: a DELETE is one anyway. */
const keyed: ReadonlySet<string> = new Set(["POST", "PUT"])

const replyPlace = (organisation: string, key: string) => ({
  organisation,
  table: "idempotent_replies",
  column: "sealed",
  row: key
})

const conflict = (message: string) => new Conflict({ code: "CONFLICT", message })
export const versionMismatch = () =>
  new Conflict({ code: "VERSION_MISMATCH", message: "the record has changed since you read it: read it again" })

/** Unique members by the index that guards them. */
const taken: { readonly [index: string]: string } = {
  customers_slug: "a customer with this slug exists",
  customers_ref: "a customer with this externalRef exists",
  workflows_name: "a workflow with this name exists",
  workflows_slug: "a workflow with this slug exists",
  users_email: "a user with this email exists",
  roles_org_name_key: "a role with this name exists",
  secrets_scope: "a secret with this name and scope exists",
  connectors_slug: "a connector with this slug exists",
  connector_versions_semver: "this version of the connector exists",
  auth_providers_name: "an auth provider with this name exists",
  installations_one: "this customer has installed this integration already"
}

/** The version that the client means to change: `If-Match` or the member `version`; none when it does not care. */
const expectedVersion = (exchange: Exchange, version: number | undefined): number | undefined | InvalidRequest => {
  const header = exchange.request.headers["if-match"]
  if (header === undefined || header === "" || header === "*") return version
  const match = /^(?:W\/)?"?(\d{1,9})"?$/.exec(header)
  return match === null
    ? new InvalidRequest({
        code: "INVALID_HEADER",
        message: 'If-Match must be the ETag that the record was answered with, as in "3", or *'
      })
    : Number(match[1])
}

/** Tells where the record is that a creation has made: below the path that it was made by. */
const locate = (exchange: Exchange, made: Record | null): void => {
  if (exchange.replyHeaders["location"] !== undefined || !/\.(create|invite)$/.test(exchange.audit?.action ?? ""))
    return
  const data = plain(made?.["data"]) ?? made
  const id = data?.["id"] ?? data?.["userId"]
  if (typeof id !== "string") return
  exchange.replyHeaders["location"] = `${pathOf(exchange.request.target).replace(/\/invite$/, "")}/${id}`
}

/** Fails unless the record is at the version that the client expects. */
export const checkVersion = (
  exchange: Exchange,
  version: number | undefined,
  current: number
): Effect.Effect<void, Conflict | InvalidRequest> => {
  const expected = expectedVersion(exchange, version)
  if (expected instanceof InvalidRequest) return Effect.fail(expected)
  return expected === undefined || expected === current ? Effect.void : Effect.fail(versionMismatch())
}

export const make = Effect.gen(function* () {
  const records = yield* Records
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const vault = yield* Vault
  const patient = yield* Effect.makeSemaphore(mostPatient)

  const key = (exchange: Exchange): string | undefined | InvalidRequest => {
    const text = exchange.request.headers["idempotency-key"]
    if (text === undefined || text === "" || !keyed.has(exchange.request.method)) return undefined
    return text.length > idempotencyKeyLength
      ? new InvalidRequest({
          code: "INVALID_REQUEST",
          message: `Idempotency-Key has at most ${idempotencyKeyLength} characters`
        })
      : `${exchange.caller.key.id}|${targetMark(exchange.request.target, digests.sha256Hex)}|${text}`
  }

  /** By what a repetition is known. Under the server's pepper, since a body may hold secrets that could be guessed. */
  const mark = ({ request }: Exchange): string => digests.keyHash(digests.sha256Hex(request.body))

  const auditEntry = <A>(exchange: Exchange, outcome: Outcome<A>, at: string) => ({
    id: identifiers.next("aud"),
    organisationId: exchange.caller.organisationId,
    at,
    actor: actorOf(exchange.caller),
    action: outcome.action ?? exchange.audit?.action ?? "unknown",
    resource: {
      type: exchange.audit?.resource ?? "unknown",
      id: outcome.resource.id,
      name: outcome.resource.name ?? null
    },
    customerId: outcome.resource.customerId ?? null,
    outcome: "success" as const,
    requestId: exchange.caller.requestId,
    changes: changesBetween(plain(outcome.before), plain(outcome.after)),
    count: 1
  })

  /** A repetition gets the first answer; the same key for another request is refused. */
  const replayed = Effect.fnUntraced(function* (
    exchange: Exchange,
    tx: Tx,
    at: string
  ): Effect.fn.Return<Option.Option<Json>, Failure> {
    if (!(yield* tx.tryHold(at))) return yield* new IdempotencyInProgress()
    const found = yield* tx.remembered(at)
    if (Option.isNone(found)) return Option.none()
    if (found.value.hash !== mark(exchange)) {
      return yield* new ValidationFailed({
        code: "IDEMPOTENCY_KEY_REUSED",
        message: "this Idempotency-Key was used for a request with another body: use a new one",
        details: [{ path: "Idempotency-Key", code: "IDEMPOTENCY_KEY_REUSED", message: "belongs to another request" }]
      })
    }
    const text = yield* vault
      .open(replyPlace(exchange.caller.organisationId, at), found.value.sealed)
      .pipe(Effect.mapError(sealed))
    exchange.replyHeaders["idempotent-replayed"] = "true"
    const value: Json = JSON.parse(Redacted.value(text))
    return Option.some(value)
  })

  const remember = Effect.fnUntraced(function* (
    exchange: Exchange,
    tx: Tx,
    at: string,
    value: unknown
  ): Effect.fn.Return<void, AlreadyExists | Unavailable> {
    const now = yield* DateTime.now
    const text = Redacted.make(JSON.stringify(value))
    yield* tx.remember({
      key: at,
      hash: mark(exchange),
      sealed: yield* vault.seal(replyPlace(exchange.caller.organisationId, at), text).pipe(Effect.mapError(sealed)),
      expiresAt: DateTime.formatIso(DateTime.addDuration(now, idempotencyLifetime))
    })
  })

  const within = Effect.fnUntraced(function* <A>(
    exchange: Exchange,
    tx: Tx,
    body: (tx: Tx) => Effect.Effect<Outcome<A>, Failure | AlreadyExists | Changed>
  ): Effect.fn.Return<A, Failure | AlreadyExists | Changed> {
    const at = key(exchange)
    if (at instanceof InvalidRequest) return yield* at
    if (at !== undefined) {
      const again = yield* replayed(exchange, tx, at)
      // What was remembered is what `body` answered then.
      if (Option.isSome(again)) return again.value as A
    }
    const outcome = yield* body(tx)
    const refused = recordRefusal(exchange.caller, exchange.sharing, outcome.resource.customerId ?? null)
    if (refused !== undefined) return yield* refused
    const now = yield* DateTime.now
    yield* tx.audit(auditEntry(exchange, outcome, DateTime.formatIso(now)))
    if (at !== undefined) yield* remember(exchange, tx, at, outcome.value)
    return outcome.value
  })

  /** Makes a change. */
  const change = <A>(
    exchange: Exchange,
    body: (tx: Tx) => Effect.Effect<Outcome<A>, Failure | AlreadyExists | Changed>,
    options: Options = {}
  ): Effect.Effect<A, Failure> =>
    records
      .transact(exchange.caller.organisationId, (tx) => within(exchange, tx, body))
      .pipe(
        Effect.catchTags({
          AlreadyExists: ({ index }) => Effect.fail(conflict(taken[index] ?? "it exists already")),
          Changed: () => Effect.fail(versionMismatch())
        }),
        Effect.tap((value) =>
          Effect.sync(() => {
            exchange.audited = true
            const json = plain(value)
            const version = json?.["version"]
            if (typeof version === "number") exchange.replyHeaders["etag"] = `"${version}"`
            if (options.location !== undefined && json !== null)
              exchange.replyHeaders["location"] = options.location(json as Json)
            else locate(exchange, json)
          })
        )
      )

  /**
   * What an actor does and records itself, once for each Idempotency-Key. Only a client that sent one keeps a
   * connection of the database until the actor has answered, and only so many of them at a time.
   */
  const once = <A>(exchange: Exchange, order: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> => {
    const at = key(exchange)
    if (at instanceof InvalidRequest) return Effect.fail(at)
    const done = Effect.tap(order, () =>
      Effect.sync(() => {
        exchange.audited = true
      })
    )
    const located = (effect: Effect.Effect<A, Failure>) =>
      Effect.tap(effect, (value) => Effect.sync(() => locate(exchange, plain(value))))
    if (at === undefined) return located(done)
    return located(
      patient.withPermits(1)(
        records
          .transact(exchange.caller.organisationId, (tx) =>
            Effect.gen(function* () {
              const again = yield* replayed(exchange, tx, at)
              // What was remembered is what the order answered then.
              if (Option.isSome(again)) return again.value as A
              const value = yield* done
              yield* remember(exchange, tx, at, value)
              return value
            })
          )
          .pipe(Effect.catchTag("AlreadyExists", () => new IdempotencyInProgress()))
      )
    )
  }

  /** Reads in a transaction of its own. */
  const view = <A, E>(exchange: Exchange, body: (tx: Tx) => Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
    records.transact(exchange.caller.organisationId, body).pipe(
      Effect.tap((value) =>
        Effect.sync(() => {
          const version = plain(value)?.["version"]
          if (typeof version === "number") exchange.replyHeaders["etag"] = `"${version}"`
        })
      )
    )

  return { change, once, view }
})

const sealed = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

/** Views and records are plain objects of JSON. */
const plain = (value: unknown): Record | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record) : null
