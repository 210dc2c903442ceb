/** The page on which the owner of an address allows notifications. Programs that follow links do not press its button. */
import { Effect } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { MailAddresses } from "../../actors/ports/delivery/MailAddresses.js"
import { html } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { pageReply } from "./PageReply.js"

const prefix = "/mail/confirm/"
const linkPattern = /^\/mail\/confirm\/([A-Za-z0-9_-]{43})$/

export const make = Effect.gen(function* () {
  const addresses = yield* MailAddresses
  const digests = yield* Digests
  const identifiers = yield* Identifiers

  const page = (status: number, title: string, text: string, isForm = false): RawReply =>
    pageReply({
      status,
      title,
      nonce: identifiers.token(22),
      body: isForm
        ? html`<p>${text}</p>
            <form method="post"><button>Allow notifications</button></form>`
        : html`<p>${text}</p>`
    })

  const ended = page.bind(
    undefined,
    410,
    "This link has ended",
    "It was used already, or a newer mail has another one."
  )

  const reply = Effect.fnUntraced(function* ({ method, target }: RawRequest) {
    const token = linkPattern.exec(pathOf(target))?.[1]
    if (token === undefined) return ended()
    const hash = digests.sha256Hex(token)
    if (method === "POST")
      return (yield* addresses.confirm(hash))
        ? page(200, "Confirmed", "Notifications may now be sent to your address. You can close this window.")
        : ended()
    if (method !== "GET" && method !== "HEAD") {
      const refused = page(405, "Not here", "This page takes GET and POST.")
      return { ...refused, headers: { ...refused.headers, allow: "GET, POST" } }
    }
    return (yield* addresses.isAsked(hash))
      ? page(200, "Notifications", "An organisation asks to send notifications to your e-mail address.", true)
      : ended()
  })

  /** `undefined` for other paths. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined =>
    pathOf(request.target).startsWith(prefix)
      ? Effect.catchAll(reply(request), () => Effect.succeed(page(503, "Not now", "Please try again in a moment.")))
      : undefined
})
