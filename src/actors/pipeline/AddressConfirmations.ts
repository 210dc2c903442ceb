/**
 * Asks the owners of addresses whether notifications may go there, by a mail of a fixed form without a tenant's text.
 * A mail that fails, or whose node dies, is sent again after an hour; one that the server refuses for good only when the
 * configuration is saved again.
 */
import { Duration, Effect, Layer, Option } from "effect"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { MailAddresses } from "../ports/delivery/MailAddresses.js"
import { MailServer } from "../ports/delivery/MailServer.js"
import { makeLinkMails } from "./LinkMails.js"

const interval = Duration.seconds(2)
/** Configurations that were saved so recently are read in each pass, and all of them in the first. */
const recentSeconds = 120
/** Mails of one pass. */
const mailsAtOnce = 10

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
    const { noteAnswered } = addresses
    const failed = "mail.confirmation_failed"
    const mails = yield* makeLinkMails({ path: "/mail/confirm", subject, textOf, failed, noteAnswered })
    const mailServer = Option.getOrUndefined(yield* MailServer)
    let hasReadAll = false

    const askNext = Effect.gen(function* () {
      const token = mails.newToken()
      const asked = yield* addresses.takeUnasked(token.hash)
      if (asked === undefined || mailServer === undefined) return false
      yield* mails.send(mailServer, asked, token)
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
