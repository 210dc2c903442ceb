/** Asks approvers by mails with one-time links. A mail that fails, or whose node dies, is sent again after an hour. */
import { Duration, Effect, Layer, Option } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { MailServer, type OperatorMailServer } from "../ports/delivery/MailServer.js"
import { ApprovalLinks } from "../ports/run/ApprovalLinks.js"
import { makeLinkMails } from "./LinkMails.js"

const interval = Duration.seconds(2)
/** Organisations of one pass, and links of each that are looked at. */
const organisationsAtOnce = 20
const linksAtOnce = 5

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
    const { noteAnswered } = links
    const mails = yield* makeLinkMails({
      path: "/approve",
      subject,
      textOf,
      failed: "mail.approval_failed",
      noteAnswered
    })
    const mailServer = Option.getOrUndefined(yield* MailServer)

    const askNext = Effect.fnUntraced(function* (server: OperatorMailServer, organisationId: OrganisationId) {
      const token = mails.newToken()
      const taken = yield* links.take(organisationId, token.hash)
      if (taken === undefined || taken.address === null) return taken !== undefined
      yield* mails.send(server, { organisationId, address: taken.address }, token)
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
