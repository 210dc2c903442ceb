/** The pages that end a visit: connected or not, link ended, other browser, service unavailable. */
import { Effect } from "effect"
import type { AuthorizingSession } from "../../domain/connection/ConnectSession.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Origin } from "../../actors/ports/Origin.js"
import type { Unavailable } from "../../domain/Failure.js"
import { html } from "../Markup.js"
import type { RawReply } from "../Wire.js"
import { pageReply, scriptJson } from "./PageReply.js"

/** Makes the pages, and the nonces of their scripts. */
export const makeOutcomePages = Effect.gen(function* () {
  const origin = yield* Origin
  const identifiers = yield* Identifiers
  const nonce = () => identifiers.token(22)

  const messagePage = (status: number, title: string, text: string): RawReply =>
    pageReply({ status, title, nonce: nonce(), body: html`<p>${text}</p>` })

  const linkEndedPage = messagePage.bind(
    undefined,
    410,
    "This link has ended",
    "It was used already, or it is older than 15 minutes. Ask for a new one where you got it."
  )

  const otherBrowserPage = messagePage.bind(
    undefined,
    403,
    "Begun in another browser",
    "This sign-in was begun in another browser, or more than 15 minutes ago, or this browser keeps no cookies. Nothing was connected. If somebody sent you here, close this page. If you want to connect your own account, open the link that you got in this browser and sign in again."
  )

  /** The page at the end: posts the result to the window that opened it, or redirects to the session's URL. */
  const outcomePage = (session: AuthorizingSession, connector: string, error: string | null): RawReply => {
    const target = session.redirectUrl === null ? origin : new URL(session.redirectUrl).origin
    const message = {
      type: error === null ? "svc:connection-created" : "svc:connection-error",
      sessionId: session.id,
      payload: { connectionId: session.connectionId, connector, ...(error === null ? {} : { message: error }) }
    }
    const back = session.redirectUrl === null ? null : new URL(session.redirectUrl)
    back?.searchParams.set("connectionId", session.connectionId)
    back?.searchParams.set("status", error === null ? "active" : "failed")
    return pageReply({
      status: error === null ? 200 : 400,
      title: error === null ? "Connected" : "Not connected",
      nonce: nonce(),
      body: html`${
        error === null
          ? html`<p>The account is connected. You can close this window.</p>`
          : html`<p class="error" role="alert">${error}</p>`
      }${back === null ? html`` : html`<p><a href="${back.href}">Continue</a></p>`}`,
      script: html`(function(){var
      o=window.opener;if(o){o.postMessage(${scriptJson(message)},${scriptJson(target)});${
        error === null ? html`window.close()` : html``
      }}else
      if(${scriptJson(back !== null && error === null)}){location.replace(${scriptJson(back?.href ?? "")})}})()`
    })
  }

  const unavailablePage = ({ retryAfterSeconds }: Unavailable): RawReply => {
    const reply = messagePage(
      503,
      "Not now",
      "The connection could not be made just now. Please try again in a moment."
    )
    return { ...reply, headers: { ...reply.headers, "retry-after": String(retryAfterSeconds) } }
  }

  const limitedPage = (retryAfterSeconds: number): RawReply => {
    const reply = messagePage(429, "Too many requests", "Please try again in a minute.")
    return { ...reply, headers: { ...reply.headers, "retry-after": String(retryAfterSeconds) } }
  }

  return { limitedPage, linkEndedPage, messagePage, nonce, otherBrowserPage, outcomePage, unavailablePage }
})
