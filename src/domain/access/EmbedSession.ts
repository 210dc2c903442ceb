/**
 * Embed sessions: a person of a customer in a page of the organisation's product. Its backend opens one with an API key; the
 * browser then calls with short-lived tokens, which it refreshes itself. Specification: Embed; contract: embed.
 */
import { Duration, Schema } from "effect"
import { Unauthorized } from "../Failure.js"
import { ApiKeyId, CustomerId, EmbedSessionId, OrganisationId, SpaceId, WidgetId } from "../Ids.js"
import { JsonObject, storedDocument } from "../Json.js"
import { generatedValue, hidden, optional, owner, recordOf } from "../Record.js"
import type { Plan } from "../organisation/Plan.js"
import { Locale } from "../organisation/Widget.js"
import { ThemeView, WidgetTheme } from "../organisation/WidgetTheme.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime, NullableTime } from "../Time.js"
import { EmbedOrigins } from "./EmbedOrigin.js"
import type { Customer } from "../organisation/Customer.js"
import { type ApiKey, keyStatus } from "./ApiKey.js"
import { PermissionMatrix, type PermissionSet, presetPermissions, StoredMatrix, toSet } from "./Permission.js"
import { type ScopeIds, scopeIds } from "./ResourceScope.js"

export const embedLimits = {
  /** Seconds for which a token is valid: the least, unless stated, and the most. */
  token: { least: 60, usual: 900, most: 28_800 },
  /** However often its token is refreshed, a session ends after so long. */
  lifetime: Duration.days(7),
  /** A token that has expired can be refreshed for so long. */
  lateRefresh: Duration.minutes(5),
  /** A token that was replaced is valid for so long. */
  replaced: Duration.seconds(60),
  callsPerMinute: 120,
  /** All sessions of an organisation together may make so many times the calls of its plan. */
  plans: 10,
  connectors: 50,
  metadataBytes: 4_096
} as const

/** The calls a minute of all sessions of an account together; `null`: unlimited. */
export const sessionsCeiling = ({ apiCallsPerMinute }: Pick<Plan, "apiCallsPerMinute">): number | null =>
  apiCallsPerMinute === null ? null : embedLimits.plans * apiCallsPerMinute

const text = (most: number) => Schema.String.pipe(Schema.minLength(1), Schema.maxLength(most))

const Metadata = JsonObject.pipe(
  Schema.filter(
    (value) =>
      JSON.stringify(value).length <= embedLimits.metadataBytes ||
      `must have at most ${embedLimits.metadataBytes} bytes of JSON`
  )
)

/** A session: its record and view. Its tokens are known by their hashes only. Times are RFC 3339. */
export const EmbedSession = recordOf("EmbedSession", {
  id: generatedValue(EmbedSessionId, Schema.String),
  organisationId: owner(OrganisationId),
  spaceId: owner(SpaceId),
  keyId: generatedValue(ApiKeyId, Schema.String),
  customerId: generatedValue(CustomerId, Schema.String),
  /** In the organisation's product; `email:` and the address where only that was given. `null`: the customer as a whole. */
  userId: optional(NullableText, null, Schema.NullOr(text(200))),
  userEmail: optional(NullableText, null, Schema.NullOr(text(320))),
  userName: optional(NullableText, null, Schema.NullOr(text(200))),
  widgetId: optional(Schema.NullOr(WidgetId), null, Schema.NullOr(Schema.String), NullableText),
  /** The frozen version of the widget. */
  widgetVersion: generatedValue(Schema.NullOr(Schema.Number)),
  /** Those that it may use, by slug; `null`: all published ones. */
  connectors: optional(
    Schema.NullOr(Schema.Array(Schema.String)),
    null,
    Schema.NullOr(Schema.Array(text(63)).pipe(Schema.maxItems(embedLimits.connectors)))
  ),
  permissions: optional(StoredMatrix, undefined, PermissionMatrix),
  allowedOrigins: optional(Schema.Array(Schema.String), undefined, EmbedOrigins),
  theme: optional(storedDocument<WidgetTheme>(), undefined, WidgetTheme, ThemeView),
  locale: optional(Locale, undefined),
  metadata: optional(JsonObject, {}, Metadata),
  /** Seconds for which each of its tokens is valid. */
  tokenSeconds: generatedValue(Schema.Number),
  createdAt: generatedValue(AnsweredTime),
  /** When it ends, however often its token is refreshed. */
  expiresAt: generatedValue(AnsweredTime),
  /** When it was ended before; `null`: it was not. It also ends with its key, its customer and its widget. */
  endedAt: generatedValue(NullableTime),
  /** The number of the newest token; the first one is 1. */
  tokenNumber: hidden(Schema.Number),
  tokenHash: hidden(Schema.String),
  tokenExpiresAt: hidden(AnsweredTime),
  /** The token before, until it is no longer valid. */
  replacedHash: hidden(NullableText),
  replacedUntil: hidden(NullableTime)
})
/** The stored session. */
export type EmbedSession = typeof EmbedSession.stored.Type

/** Makes a hash that only the service can make: `Digests.keyHash`. */
type KeyedHash = (text: string) => string

/** The form of a token; other texts are none. */
export const embedTokenPattern = /^emb_[A-Za-z0-9_-]{43}$/

/** The text of a session's token, of 172 bits. It is not stored: the service makes the same one again. */
export const embedToken = (keyHash: KeyedHash, id: EmbedSessionId, number: number): string =>
  `emb_${keyHash(`embed token|${id}|${number}`).slice(0, 43)}`

/** By which a token is found. */
export const embedTokenHash = (keyHash: KeyedHash, token: string): string => keyHash(`embed|${token}`)

const later = (now: number, duration: Duration.DurationInput): string =>
  new Date(now + Duration.toMillis(duration)).toISOString()

const earlier = (one: string, other: string): string => (Date.parse(one) <= Date.parse(other) ? one : other)

/** The members of a session that its token number decides. `now`: Unix milliseconds. */
const tokenMembers = (
  keyHash: KeyedHash,
  { expiresAt, id, tokenSeconds }: Pick<EmbedSession, "expiresAt" | "id" | "tokenSeconds">,
  tokenNumber: number,
  now: number
) => ({
  tokenNumber,
  tokenHash: embedTokenHash(keyHash, embedToken(keyHash, id, tokenNumber)),
  tokenExpiresAt: earlier(later(now, Duration.seconds(tokenSeconds)), expiresAt)
})

/** What the service writes of a session that begins now. `now`: Unix milliseconds. */
export const openedEmbedSession = (keyHash: KeyedHash, id: EmbedSessionId, tokenSeconds: number, now: number) => {
  const expiresAt = later(now, embedLimits.lifetime)
  return { id, tokenSeconds, expiresAt, ...tokenMembers(keyHash, { expiresAt, id, tokenSeconds }, 1, now) }
}

/** The session with its next token; the one before is valid for a short time more. `now`: Unix milliseconds. */
export const withNextToken = (keyHash: KeyedHash, session: EmbedSession, now: number): EmbedSession => ({
  ...session,
  ...tokenMembers(keyHash, session, session.tokenNumber + 1, now),
  replacedHash: session.tokenHash,
  replacedUntil: earlier(later(now, embedLimits.replaced), session.expiresAt)
})

/** What a session may do: at most what an end user may, what was asked for, and what its key may now. */
export const sessionRights = (
  { permissions }: Pick<EmbedSession, "permissions">,
  key: Pick<ApiKey, "permissions">
): PermissionSet => {
  const [asked, ofKey] = [toSet(permissions), toSet(key.permissions)]
  return new Set([...presetPermissions("end_user")].filter((one) => asked.has(one) && ofKey.has(one)))
}

/** What a session is narrowed to: the scope of its key now, and its connectors. */
export const sessionScope = (
  { connectors }: Pick<EmbedSession, "connectors">,
  key: Pick<ApiKey, "resourceScope">
): ScopeIds => {
  const scope = scopeIds(key.resourceScope)
  if (connectors === null) return scope
  const ofKey = scope.connector
  return { ...scope, connector: new Set(connectors.filter((one) => ofKey?.has(one) !== false)) }
}

const sessionEnded = () =>
  new Unauthorized({ code: "SESSION_EXPIRED", message: "this session has ended: mint a new token" })
const tokenExpired = (message: string) => new Unauthorized({ code: "TOKEN_EXPIRED", message })

/** The refusal of a session that was ended, or is seven days old. `now`: Unix milliseconds. */
export const sessionRefusal = (
  { endedAt, expiresAt }: Pick<EmbedSession, "endedAt" | "expiresAt">,
  now: number
): Unauthorized | undefined => (endedAt === null && now < Date.parse(expiresAt) ? undefined : sessionEnded())

/**
 * The refusal of a session that is over, by itself, with its customer, or with its key, which must reach the customer;
 * `undefined` while it lasts. `now`: Unix milliseconds.
 */
export const endedRefusal = (
  {
    customer,
    key,
    session
  }: {
    readonly session: Pick<EmbedSession, "customerId" | "endedAt" | "expiresAt">
    readonly key: ApiKey
    readonly customer: Pick<Customer, "status">
  },
  now: number
): Unauthorized | undefined => {
  const reaches = key.customersMode === "all" || key.customerIds.includes(session.customerId)
  const lasts = keyStatus(key, now) === "active" && reaches && customer.status === "active"
  return sessionRefusal(session, now) ?? (lasts ? undefined : sessionEnded())
}

/**
 * Seconds for which a token of a session that lasts is still valid, by the token's hash, rounded down; 0: no longer.
 * `now`: Unix milliseconds.
 */
export const embedTokenSeconds = (
  {
    replacedHash,
    replacedUntil,
    tokenExpiresAt,
    tokenHash
  }: Pick<EmbedSession, "tokenHash" | "tokenExpiresAt" | "replacedHash" | "replacedUntil">,
  hash: string,
  now: number
): number => {
  const end = hash === tokenHash ? tokenExpiresAt : hash === replacedHash ? replacedUntil : null
  return end === null ? 0 : Math.max(0, Math.floor((Date.parse(end) - now) / 1_000))
}

/**
 * The refusal of a token of a session that lasts, by the token's hash; `undefined` if it is valid. `toRefresh`: it is sent to
 * be refreshed, which it may be for a while after it expired. `now`: Unix milliseconds.
 */
export const embedTokenRefusal = (
  session: Pick<EmbedSession, "tokenHash" | "tokenExpiresAt" | "replacedHash" | "replacedUntil">,
  hash: string,
  now: number,
  toRefresh: boolean
): Unauthorized | undefined => {
  const { replacedHash, replacedUntil, tokenExpiresAt, tokenHash } = session
  if (hash === tokenHash) {
    const over = now - Date.parse(tokenExpiresAt)
    if (over < (toRefresh ? Duration.toMillis(embedLimits.lateRefresh) : 0)) return undefined
    return toRefresh
      ? tokenExpired("this token expired too long ago to be refreshed: mint a new one")
      : tokenExpired("this token has expired: refresh it, or mint a new one")
  }
  if (hash === replacedHash && replacedUntil !== null && now < Date.parse(replacedUntil)) return undefined
  return tokenExpired("this token was refreshed: send the newer one, or mint a new one")
}
