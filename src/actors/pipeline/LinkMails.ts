/**
 * Mails of a fixed form, without a tenant's text, each with a one-time link. One that fails, or whose node dies, is sent
 * again later with another link; one that the server refuses for good is not.
 */
import { Effect, Either } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"
import { Digests } from "../ports/Digests.js"
import { MailEgress } from "../ports/delivery/MailEgress.js"
import type { OperatorMailServer } from "../ports/delivery/MailServer.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Origin } from "../ports/Origin.js"
import { sendMail } from "../ServiceMail.js"
import { ShareOwners } from "../ports/organisation/ShareOwners.js"

/** The answer of a mail server that took the mail, and of one that will never take it. */
const mailAccepted = 200
const mailRefused = 422

/** One kind of them. */
export interface LinkMail<E> {
  /** Of the page behind the link, before the token: `/approve`. */
  readonly path: string
  readonly subject: string
  readonly textOf: (link: string, origin: string) => string
  /** What a mail that failed is logged as. */
  readonly failed: string
  /** The mail with this token need not be sent again. */
  readonly noteAnswered: (tokenHash: string) => Effect.Effect<void, E>
}

/** Whom a mail is sent to. */
export interface LinkReceiver {
  readonly organisationId: OrganisationId
  readonly address: string
}

/** A token of a link, which only the mail has, and the hash by which the service knows it. */
export interface LinkToken {
  readonly text: string
  readonly hash: string
}

/** Makes the functions that make a token, and send the mail with its link. */
export const makeLinkMails = <E>({ failed, noteAnswered, path, subject, textOf }: LinkMail<E>) =>
  Effect.gen(function* () {
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const origin = yield* Origin
    const mail = yield* MailEgress
    const shareOwners = yield* ShareOwners

    const newToken = (): LinkToken => {
      const text = identifiers.secret()
      return { text, hash: digests.sha256Hex(text) }
    }

    const send = Effect.fnUntraced(function* (
      server: OperatorMailServer,
      { address, organisationId }: LinkReceiver,
      token: LinkToken
    ) {
      const text = textOf(`${origin}${path}/${token.text}`, origin)
      const owner = yield* shareOwners.of(organisationId)
      const message = { owner, key: identifiers.token(32), to: address, subject, text }
      const sent = yield* Effect.either(sendMail(mail, server, message))
      const answer = Either.isRight(sent) ? sent.right.status : sent.left._tag
      if (answer === mailAccepted || answer === mailRefused) yield* noteAnswered(token.hash)
      else yield* Effect.logWarning(failed).pipe(Effect.annotateLogs({ organisationId, answer }))
    })

    return { newToken, send }
  })
