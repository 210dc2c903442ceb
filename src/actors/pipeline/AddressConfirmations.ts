/**
 * Asks the owners of addresses whether notifications may go there, by a mail of a fixed form without a tenant's text.
 * A mail that fails, or whose node dies, is sent again after an hour; one that the server refuses for good only when the
 * configuration is saved again.
 */
import { Duration, Effect, Either, Layer, Option } from "effect"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { Digests } from "../ports/Digests.js"
import { Identifiers } from "../ports/Identifiers.js"
import { MailAddresses } from "../ports/delivery/MailAddresses.js"
import { MailEgress } from "../ports/delivery/MailEgress.js"
import { MailServer } from "../ports/delivery/MailServer.js"
import { Origin } from "../ports/Origin.js"
import { sendMail } from "./ServiceMail.js"

const interval = Duration.seconds(2)
/** Configurations that were saved so recently are read in each pass, and all of them in the first. */
const recentSeconds = 120
/** Mails of one pass. */
const mailsAtOnce = 10
const tokenLength = 43
/** The answer of a mail server that took the mail, and of one that will never take it. */
const mailAccepted = 200
const mailRefused = 422

const subject = "Confirm this address for notifications"
const textOf = (link: string, origin: string) =>
  [
    `An organisation at ${origin} asks to send notifications to this address.`,
    `To allow it, open this link and press the button:\n${link}`,
    "Without that nothing is sent here. If you did not expect this mail, ignore it."
  ].join("\n\n")

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const addresses = yield* MailAddresses
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const origin = yield* Origin
    const mail = yield* MailEgress
    const mailServer = Option.getOrUndefined(yield* MailServer)
    let hasReadAll = false

    const askNext = Effect.gen(function* () {
      const token = identifiers.token(tokenLength)
      const tokenHash = digests.sha256Hex(token)
      const asked = yield* addresses.takeUnasked(tokenHash)
      if (asked === undefined || mailServer === undefined) return false
      const text = textOf(`${origin}/mail/confirm/${token}`, origin)
      const message = { ...asked, key: identifiers.token(32), to: asked.address, subject, text }
      const sent = yield* Effect.either(sendMail(mail, mailServer, message))
      const answer = Either.isRight(sent) ? sent.right.status : sent.left._tag
      if (answer === mailAccepted || answer === mailRefused) yield* addresses.noteAnswered(tokenHash)
      else
        yield* Effect.logWarning("mail.confirmation_failed").pipe(
          Effect.annotateLogs({ organisationId: asked.organisationId, answer })
        )
      return true
    })

    const pass = Effect.gen(function* () {
      yield* addresses.note(hasReadAll ? recentSeconds : null)
      hasReadAll = true
      if (mailServer === undefined) return
      for (let n = 0; n < mailsAtOnce; n++) if (!(yield* askNext)) return
    })

    const task = yield* backgroundTask("mail.confirm", pass)
    yield* repeatEvery(interval, task.run)
  })
)
