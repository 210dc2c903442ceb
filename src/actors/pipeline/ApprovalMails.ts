/**
 * Asks approvers by mails of a fixed form, without a tenant's text, each with a one-time link. A mail that fails, or whose
 * node dies, is sent again after an hour with another link; one that the server refuses for good is not.
 */
import { Duration, Effect, Either, Layer, Option } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { Digests } from "../ports/Digests.js"
import { MailEgress } from "../ports/delivery/MailEgress.js"
import { MailServer, type OperatorMailServer } from "../ports/delivery/MailServer.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Origin } from "../ports/Origin.js"
import { ApprovalLinks } from "../ports/run/ApprovalLinks.js"
import { sendMail } from "./ServiceMail.js"

const interval = Duration.seconds(2)
/** Organisations of one pass, and links of each that are looked at. */
const organisationsAtOnce = 20
const linksAtOnce = 5
const tokenLength = 43
/** The answer of a mail server that took the mail, and of one that will never take it. */
const mailAccepted = 200
const mailRefused = 422

const subject = "An approval waits for you"
const textOf = (link: string, origin: string) =>
  [
    `A workflow of an organisation at ${origin} waits for your approval.`,
    `To read the question and to answer it, open this link:\n${link}`,
    "Opening it decides nothing. Do not forward this mail: whoever has the link can decide for you."
  ].join("\n\n")

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const links = yield* ApprovalLinks
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const origin = yield* Origin
    const mail = yield* MailEgress
    const mailServer = Option.getOrUndefined(yield* MailServer)

    const askNext = Effect.fnUntraced(function* (server: OperatorMailServer, organisationId: OrganisationId) {
      const token = identifiers.token(tokenLength)
      const tokenHash = digests.sha256Hex(token)
      const taken = yield* links.take(organisationId, tokenHash)
      if (taken === undefined || taken.address === null) return taken !== undefined
      const text = textOf(`${origin}/approve/${token}`, origin)
      const message = { organisationId, key: identifiers.token(32), to: taken.address, subject, text }
      const sent = yield* Effect.either(sendMail(mail, server, message))
      const answer = Either.isRight(sent) ? sent.right.status : sent.left._tag
      if (answer === mailAccepted || answer === mailRefused) yield* links.noteAnswered(tokenHash)
      else yield* Effect.logWarning("mail.approval_failed").pipe(Effect.annotateLogs({ organisationId, answer }))
      return true
    })

    const pass = Effect.gen(function* () {
      if (mailServer === undefined) return
      for (const organisation of yield* links.organisations(organisationsAtOnce))
        for (let n = 0; n < linksAtOnce; n++) if (!(yield* askNext(mailServer, organisation))) break
    })

    const task = yield* backgroundTask("mail.approvals", pass)
    yield* repeatEvery(interval, task.run)
  })
)
