/**
 * The panel's page, which pages of the session's origins show in a frame. The token of its address says whose session it is;
 * the page has neither the token nor records, and its script asks the API for these. Contract: embed.
 */
import { Effect, Option } from "effect"
import type { KnownEmbedSession } from "../../actors/ports/access/EmbedSessions.js"
import { type EmbedFrame, embedFramePath } from "../../domain/access/EmbedFrame.js"
import { isEmbedOrigin } from "../../domain/access/EmbedOrigin.js"
import { embedTokenRefusal, embedTokenSeconds, endedRefusal } from "../../domain/access/EmbedSession.js"
import type { Unavailable } from "../../domain/Failure.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RequestHead } from "../Wire.js"
import { makeTokenLookUp } from "./TokenLookUp.js"

/** The paths of the panel's script and style on this service, or what the page says where they were not built. */
export type PanelEntry = { readonly script: string; readonly style: string } | { readonly missing: string }

/** The token needs no encoding in an address. */
const tokenInQuery = /[?&]token=(emb_[A-Za-z0-9_-]{43})(?:&|$)/

const headersOf = (policy: ReadonlyArray<string>): RawReply["headers"] => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": policy.join("; ")
})

// --- Pages without a panel ---

const closedHeaders = headersOf([
  "default-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'"
])

/** A page that no other page may show in a frame. */
const closedPage = (status: number, title: string, text: string): RawReply => ({
  status,
  headers: closedHeaders,
  body: html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p>${text}</p>
        </main>
      </body>
    </html> `.html
})

const endedPage = closedPage(401, "This session has ended", "Reload the page that you came from.")

const noOriginsPage = closedPage(
  403,
  "This session names no page that may show it",
  "Mint its token with allowedOrigins, or with a widget that has them: the origins of the pages that show the panel in a frame, such as https://app.example.com."
)

const unavailablePage = ({ retryAfterSeconds }: Unavailable): RawReply => {
  const reply = closedPage(503, "Not now", "The service does not reach its database. Please try again in a moment.")
  return { ...reply, headers: { ...reply.headers, "retry-after": String(retryAfterSeconds) } }
}

// --- The panel ---

const texts = {
  en: { title: "Integrations", noScript: "This page needs JavaScript." },
  de: { title: "Integrationen", noScript: "Diese Seite braucht JavaScript." }
} as const

/** The page's rules: those of the console's, without forms, and framed by these origins alone. */
const panelPolicy = (origins: ReadonlyArray<string>) => [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  `frame-ancestors ${origins.join(" ")}`,
  "require-trusted-types-for 'script'"
]

const filesOf = (entry: PanelEntry): Markup =>
  "missing" in entry
    ? html``
    : html`<link rel="stylesheet" href="${entry.style}" />
        <script type="module" src="${entry.script}"></script>`

const panelPage = (status: number, frame: EmbedFrame, entry: PanelEntry): RawReply => ({
  status,
  headers: headersOf(panelPolicy(frame.origins)),
  body: html`<!doctype html>
    <html lang="${frame.locale}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${texts[frame.locale].title}</title>
        <meta name="svc-panel" content="${JSON.stringify(frame)}" />
        ${filesOf(entry)}
      </head>
      <body>
        <div id="root">${"missing" in entry ? html`<main><p>${entry.missing}</p></main>` : ""}</div>
        <noscript><p>${texts[frame.locale].noScript}</p></noscript>
      </body>
    </html> `.html
})

/** The page of a session that exists, which may be over, for the token of this hash. `now`: Unix milliseconds. */
const sessionPage = (known: KnownEmbedSession, hash: string, now: number, entry: PanelEntry): RawReply => {
  const { session } = known
  const isOver = (endedRefusal(known, now) ?? embedTokenRefusal(session, hash, now, true)) !== undefined
  const origins = session.allowedOrigins.filter((one) => isEmbedOrigin(one))
  if (origins.length === 0) return isOver ? endedPage : noOriginsPage
  const { id: sessionId, locale, theme } = session
  const expiresIn = isOver ? null : embedTokenSeconds(session, hash, now)
  return panelPage(isOver ? 401 : 200, { sessionId, origins, locale, theme, expiresIn }, entry)
}

/** Makes the reply to requests for the page. `addressOf`: the client's address of a request. */
export const makeFramePage = Effect.fnUntraced(function* (addressOf: (request: RequestHead) => string) {
  const { countUnknown, find, findCached, hashOf } = yield* makeTokenLookUp(addressOf)
  const clock = yield* Effect.clock

  const pageOf = Effect.fnUntraced(
    function* (request: RequestHead, entry: Effect.Effect<PanelEntry>) {
      const token = tokenInQuery.exec(request.target)?.[1]
      if (token === undefined) return endedPage
      const hash = hashOf(token)
      const now = clock.unsafeCurrentTimeMillis()
      const known = findCached(hash, now) ?? Option.getOrUndefined(yield* find(hash, request, now))
      if (known !== undefined) return sessionPage(known, hash, now, yield* entry)
      countUnknown(request, now)
      return endedPage
    },
    Effect.catchAll((failure: Unavailable) => Effect.succeed(unavailablePage(failure)))
  )

  /** `undefined` for other paths. `entry`: what the page loads. */
  return (request: RequestHead, entry: Effect.Effect<PanelEntry>): Effect.Effect<RawReply> | undefined =>
    pathOf(request.target) === embedFramePath ? pageOf(request, entry) : undefined
})
