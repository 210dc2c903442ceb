/**
 * The pages of connect sessions: the link that a person follows, and the place to which providers send people back.
 * Whoever has the link may connect, once; where the provider is visited in between, in the browser that opened the link.
 * Contract: connection states; embed.
 */
import { Clock, Effect, Either, Option } from "effect"
import { ConnectionReads } from "../../actors/ports/ConnectionReads.js"
import { Connections } from "../../actors/ports/Connections.js"
import { type AuthorizingSession, ConnectionStore } from "../../actors/ports/ConnectionStore.js"
import { Connectors } from "../../actors/ports/Connectors.js"
import { Egress } from "../../actors/ports/Egress.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { commonCallbackPath } from "../../domain/connection/Callback.js"
import { configuredUrl } from "../../domain/connector/BaseUrl.js"
import type { Unavailable } from "../../domain/Failure.js"
import { Origin } from "../../actors/ports/Origin.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { boundCookie, endedCookie, isSameBrowser } from "./Browser.js"
import { entered, fieldsOf, formMarkup, type Problem, shownAgain } from "./Form.js"
import { lackingIn, problemIn, saying } from "./Problem.js"
import { html, pageReply, redirectReply, scriptJson } from "./Html.js"

const linkPattern = /^\/connect\/([A-Za-z0-9_-]{43})$/
const isCallback = (path: string) => path === commonCallbackPath || path.startsWith(`${commonCallbackPath}/`)
const formBytes = 256 * 1024
/** Where a provider on this machine could be. */
const localOrigins = ["http://127.0.0.1", "http://localhost", "http://[::1]"]

const queryOf = (target: string): { readonly [name: string]: string } => {
  const at = target.indexOf("?")
  return at < 0 ? {} : Object.fromEntries(new URLSearchParams(target.slice(at + 1)))
}

export const make = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const connections = yield* Connections
  const connectors = yield* Connectors
  const reads = yield* ConnectionReads
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const origin = yield* Origin
  const egress = yield* Egress

  const nonce = () => identifiers.token(22)

  const told = (status: number, title: string, text: string): RawReply =>
    pageReply({ status, title, nonce: nonce(), body: html`<p>${text}</p>` })

  const ended = told.bind(
    undefined,
    410,
    "This link has ended",
    "It was used already, or it is older than 15 minutes. Ask for a new one where you got it."
  )

  const elsewhere = told.bind(
    undefined,
    403,
    "Begun in another browser",
    "This sign-in was begun in another browser, or more than 15 minutes ago, or this browser keeps no cookies. Nothing was connected. If somebody sent you here, close this page. If you want to connect your own account, open the link that you got in this browser and sign in again."
  )

  /** Tells the window that opened this one, and whoever reads it. */
  const outcome = (session: AuthorizingSession, connector: string, error: string | null): RawReply => {
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

  /** The session as it is now: its time ends it, whoever has seen that yet. */
  const session = Effect.fnUntraced(function* (by: Parameters<ConnectionStore["Type"]["session"]>[0]) {
    const found = Option.getOrUndefined(yield* store.session(by))
    const now = yield* Clock.currentTimeMillis
    return found?.status === "open" && Date.parse(found.expiresAt) <= now
      ? { ...found, status: "expired" as const }
      : found
  })

  /** What a session is about, or nothing where it is over. */
  const about = Effect.fnUntraced(function* (session: AuthorizingSession) {
    const connection = yield* reads.byId(session.organisationId, session.connectionId)
    if (Option.isNone(connection)) return undefined
    const definition = yield* connectors.find(session.organisationId, connection.value.connector)
    if (Option.isNone(definition)) return undefined
    const method = definition.value.auth.find(({ id }) => id === session.authMethod)
    if (method === undefined) return undefined
    const given = session.config
    return { session, definition: definition.value, method, fields: fieldsOf(definition.value, method, given) }
  })

  type About = Exclude<Effect.Effect.Success<ReturnType<typeof about>>, undefined>

  /**
   * Where the form may lead, for the page's policy. Where the provider's address depends on what is entered: to any over
   * HTTPS, and to this machine if the operator lets the service call it.
   */
  const targetsOf = Effect.fnUntraced(function* ({ method, session }: About): Effect.fn.Return<ReadonlyArray<string>> {
    const back = session.redirectUrl === null ? [] : [new URL(session.redirectUrl).origin]
    if (method.type !== "oauth2" || method.authorizationUrl === undefined) return back
    const provider = configuredUrl(method.authorizationUrl, session.config)
    if (Either.isRight(provider)) return [...new Set([...back, new URL(provider.right).origin])]
    const local = yield* Effect.filter(localOrigins, (url) => Effect.isSuccess(egress.check(url)))
    return [...new Set([...back, "https:", ...local.map((url) => `${url}:*`)])]
  })

  const form = Effect.fnUntraced(function* (
    found: About,
    path: string,
    again: { readonly body: Uint8Array; readonly problem: Problem } | null
  ): Effect.fn.Return<RawReply> {
    const { definition, fields } = found
    return pageReply({
      status: again === null ? 200 : 422,
      title: `Connect ${definition.name}`,
      nonce: nonce(),
      body: formMarkup(fields, path, again && shownAgain(fields, again.body), again && again.problem),
      formTargets: yield* targetsOf(found)
    })
  })

  /** On to the provider, in this browser. A form that its page's policy keeps from going there gets a link instead. */
  const sent = Effect.fnUntraced(function* (found: About, url: string): Effect.fn.Return<RawReply> {
    const { origin: to, protocol, searchParams } = new URL(url)
    const targets = found.fields.length === 0 ? [to] : yield* targetsOf(found)
    const isCovered = targets.some((one) => one === to || one === protocol || to.startsWith(one.replace("*", "")))
    const { name } = found.definition
    const reply = isCovered
      ? redirectReply(url)
      : pageReply({
          status: 200,
          title: `Connect ${name}`,
          nonce: nonce(),
          body: html`<p><a href="${url}">Continue to ${name}</a></p>`
        })
    const cookie = boundCookie(digests.keyHash, origin, searchParams.get("state") ?? "")
    return { ...reply, headers: { ...reply.headers, "set-cookie": cookie } }
  })

  const submit = (found: About, path: string, body: Uint8Array): Effect.Effect<RawReply> => {
    const { connectionId, id, organisationId } = found.session
    const given = entered(found.fields, body)
    const lacking = lackingIn(found.fields, given)
    if (lacking !== undefined) return form(found, path, { body, problem: lacking })
    return connections.submit({ organisationId, connectionId, sessionId: id, ...given }).pipe(
      Effect.flatMap((done) =>
        done._tag === "Redirect"
          ? sent(found, done.url)
          : Effect.succeed(outcome(found.session, found.definition.slug, null))
      ),
      Effect.catchAll((failure) =>
        form(found, path, { body, problem: problemIn(found.definition.name, found.fields, failure) })
      )
    )
  }

  const link = Effect.fnUntraced(function* (request: RawRequest, token: string) {
    const opened = yield* session({ tokenHash: digests.sha256Hex(token) })
    if (opened === undefined) return ended()
    const found = opened.status === "open" ? yield* about(opened) : undefined
    if (found === undefined)
      return opened.status === "completed" ? told(200, "Connected", "The account is connected already.") : ended()
    const path = pathOf(request.target)
    if (request.method === "POST") {
      if (request.body.byteLength > formBytes) {
        const problem = { field: null, text: "That is more than this form takes." }
        return yield* form(found, path, { body: new Uint8Array(), problem })
      }
      return yield* submit(found, path, request.body)
    }
    // Nothing to enter: on to the provider.
    return found.fields.length === 0 ? yield* submit(found, path, new Uint8Array()) : yield* form(found, path, null)
  })

  const callback = Effect.fnUntraced(function* (request: RawRequest) {
    const params = queryOf(request.target)
    const state = params["state"]
    const opened = state === undefined ? undefined : yield* session({ stateHash: digests.sha256Hex(state) })
    if (state === undefined || opened === undefined || opened.status !== "open") return ended()
    // A code belongs to the address that the session asked the provider to send it to.
    const expected = opened.asked?.redirectUri ?? `${origin}${commonCallbackPath}`
    if (`${origin}${pathOf(request.target)}` !== expected) return ended()
    // Nothing is redeemed: whoever began the sign-in can still complete it.
    if (!isSameBrowser(digests.keyHash, request, state)) return elsewhere()
    const found = yield* about(opened)
    if (found === undefined) return ended()
    const { connectionId, id, organisationId } = opened
    const reply = yield* connections.complete({ organisationId, connectionId, sessionId: id, params }).pipe(
      Effect.map(() => outcome(opened, found.definition.slug, null)),
      Effect.catchAll((failure) => Effect.succeed(outcome(opened, found.definition.slug, saying(failure))))
    )
    return { ...reply, headers: { ...reply.headers, "set-cookie": endedCookie(digests.keyHash, origin, state) } }
  })

  const unavailable = ({ retryAfterSeconds }: Unavailable): RawReply => {
    const reply = told(503, "Not now", "The connection could not be made just now. Please try again in a moment.")
    return { ...reply, headers: { ...reply.headers, "retry-after": String(retryAfterSeconds) } }
  }

  const answered = (reply: Effect.Effect<RawReply, Unavailable>): Effect.Effect<RawReply> =>
    Effect.catchAll(reply, (failure) => Effect.succeed(unavailable(failure)))

  /** The reply to a request for one of these pages; `undefined` for all others. */
  const pageAt = (request: RawRequest): Effect.Effect<RawReply> | undefined => {
    const path = pathOf(request.target)
    const token = linkPattern.exec(path)?.[1]
    if (token === undefined && !isCallback(path))
      return path.startsWith("/connect/") ? Effect.succeed(ended()) : undefined
    const methods = token === undefined ? ["GET"] : ["GET", "POST"]
    if (!methods.includes(request.method)) {
      const reply = told(405, "Not here", `This page takes ${methods.join(" and ")}.`)
      return Effect.succeed({ ...reply, headers: { ...reply.headers, allow: methods.join(", ") } })
    }
    if (token !== undefined) return answered(link(request, token))
    const reply = answered(callback(request))
    return path !== commonCallbackPath
      ? reply
      : Effect.map(reply, (one) => ({ ...one, headers: { ...one.headers, deprecation: "true" } }))
  }

  /** For the path of a link: whose open session it is, if it is one; `undefined` for all other paths. */
  const isOpen = (path: string): Effect.Effect<string | undefined> | undefined => {
    const token = linkPattern.exec(path)?.[1]
    if (token === undefined) return undefined
    return session({ tokenHash: digests.sha256Hex(token) }).pipe(
      Effect.map((found) => (found?.status === "open" ? found.organisationId : undefined)),
      Effect.catchAll(() => Effect.succeed(undefined))
    )
  }

  return { pageAt, isOpen }
})
