/**
 * Sessions: a person who has signed in in one browser. An identity is one human, to whom a person of each organisation
 * points. Specification: Authorisation.
 */
import { Duration, Schema } from "effect"
import { IdentityId, SessionId } from "../Ids.js"
import { derivedValue, generatedValue, hidden, recordOf } from "../Record.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"

/** How long sessions and links last, and how many there are. */
export const sessionLimits = {
  /** A session ends when nothing was asked with it for so long. */
  idle: Duration.hours(12),
  lifetime: Duration.days(7),
  /** Sessions of one identity; a further one ends the oldest. */
  ofIdentity: 20,
  link: Duration.minutes(15),
  /** Organisations of one identity that it can choose from. */
  organisations: 100,
  /** Calls a minute of one person. */
  callsPerMinute: 600,
  /** Mails with a link to sign in, to one address in 15 minutes. */
  mailsToAddress: 5,
  /** Tries to enter the code of one sign-in. */
  codeTries: 5,
  /** Invitations that are sent by mail, an hour and organisation. */
  inviteMailsPerHour: 100,
  /** Tries to sign in, a minute and address. */
  triesPerMinute: 10
} as const

/** How a person signed in: with a link that the operator's command line printed, an invitation, a mail, or at the operator's provider. */
export const SignInMethod = Schema.Literal("link", "invitation", "email", "oidc")
export type SignInMethod = typeof SignInMethod.Type

/** A session: its record and view. Its token is known by a hash only. Times are RFC 3339. */
export const Session = recordOf("Session", {
  id: generatedValue(SessionId, Schema.String),
  identityId: hidden(IdentityId),
  method: generatedValue(SignInMethod),
  ip: generatedValue(Schema.String),
  userAgent: generatedValue(NullableText),
  createdAt: generatedValue(AnsweredTime),
  lastSeenAt: generatedValue(AnsweredTime),
  expiresAt: generatedValue(AnsweredTime),
  current: derivedValue(Schema.Boolean.annotations({ description: "whether it is the session of this request" }))
})
/** The stored session. */
export type Session = typeof Session.stored.Type

/** Whether a session is over. `seenAt`, `now`: Unix milliseconds; the first is that of its last request. */
export const isOver = ({ expiresAt }: Pick<Session, "expiresAt">, seenAt: number, now: number): boolean =>
  now >= Date.parse(expiresAt) || now - seenAt >= Duration.toMillis(sessionLimits.idle)

/** Where a session is opened. */
export interface Browser {
  readonly ip: string
  readonly userAgent: string | null
}

/** A session that begins now. `now`: Unix milliseconds. */
export const openedSession = (
  id: SessionId,
  identityId: IdentityId,
  method: SignInMethod,
  { ip, userAgent }: Browser,
  now: number
): Session => {
  const at = new Date(now).toISOString()
  const expiresAt = new Date(now + Duration.toMillis(sessionLimits.lifetime)).toISOString()
  return { id, identityId, method, ip, userAgent, createdAt: at, lastSeenAt: at, expiresAt }
}
