/**
 * Mails with a link that is valid once. They are sent in the background, so that no answer tells by its time whether a mail
 * was sent. One that the server does not take is tried again for a minute; then its receiver has to ask for another.
 */
import { Duration, Effect, FiberSet, Option, Schedule } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { MailEgress } from "../../ports/delivery/MailEgress.js"
import { MailServer, type OperatorMailServer } from "../../ports/delivery/MailServer.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { sendMail, type ServiceMail } from "../../ServiceMail.js"
import { ShareOwners } from "../../ports/organisation/ShareOwners.js"

/** Mails that a node sends at once; further ones are not sent. */
const mostAtOnce = 200
const retries = Schedule.intersect(Schedule.exponential("2 seconds"), Schedule.recurs(4))

const accepted = 200
const refusedForGood = 422

/** A mail of a fixed form, without a tenant's text. */
export interface SignInMail extends Omit<ServiceMail, "key" | "owner"> {
  readonly organisationId: OrganisationId
}

const make = Effect.gen(function* () {
  const mail = yield* MailEgress
  const server = yield* MailServer
  const identifiers = yield* Identifiers
  const shareOwners = yield* ShareOwners
  const sending = yield* FiberSet.make<void>()

  const warn = (event: string, organisationId: OrganisationId, answer: string | number) =>
    Effect.annotateLogs(Effect.logWarning(event), { organisationId, answer })

  const deliver = (through: OperatorMailServer, message: SignInMail) => {
    const attempt = Effect.flatMap(shareOwners.of(message.organisationId), (owner) =>
      sendMail(mail, through, { ...message, owner, key: identifiers.token(32) })
    ).pipe(
      Effect.flatMap(({ status }) =>
        status === accepted || status === refusedForGood ? Effect.succeed(status) : Effect.fail(status)
      )
    )
    return attempt.pipe(
      Effect.retry(retries),
      Effect.matchEffect({
        onFailure: (failure) =>
          warn("sign_in_mail.failed", message.organisationId, typeof failure === "number" ? failure : failure._tag),
        onSuccess: (status) =>
          status === accepted ? Effect.void : warn("sign_in_mail.refused", message.organisationId, status)
      }),
      Effect.timeoutTo({
        duration: Duration.minutes(2),
        onSuccess: () => Effect.void,
        onTimeout: () => warn("sign_in_mail.failed", message.organisationId, "timeout")
      }),
      Effect.flatten
    )
  }

  /** Sends what `message` is, if it is anything, after the caller has gone on. */
  const sendWhatIs = (message: Effect.Effect<SignInMail | undefined, Unavailable>): Effect.Effect<void> =>
    Effect.gen(function* () {
      if (Option.isNone(server)) return
      if ((yield* FiberSet.size(sending)) >= mostAtOnce)
        return yield* Effect.annotateLogs(Effect.logWarning("sign_in_mail.dropped"), { atOnce: mostAtOnce })
      const body = Effect.flatMap(message, (one) => (one === undefined ? Effect.void : deliver(server.value, one)))
      const failed = Effect.annotateLogs(Effect.logWarning("sign_in_mail.failed"), { answer: "Unavailable" })
      yield* FiberSet.run(
        sending,
        Effect.catchTag(body, "Unavailable", () => failed)
      )
    })

  return {
    /** Whether there is a mail server. */
    isConfigured: Option.isSome(server),
    send: (message: SignInMail): Effect.Effect<void> => sendWhatIs(Effect.succeed(message)),
    sendWhatIs
  }
})

export class SignInMails extends Effect.Service<SignInMails>()("svc/SignInMails", { scoped: make }) {}
