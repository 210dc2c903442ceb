/**
 * Serves the pages of connect sessions: the link that a person opens, and the callback to which providers redirect.
 * A link can be used once by anyone who has it; with OAuth, the callback must come from the browser that opened the link.
 * Contract: connection states; embed.
 */
import { Clock, Effect, Option } from "effect"
import { ConnectionReads } from "../../actors/ports/connection/ConnectionReads.js"
import { Connections } from "../../actors/ports/connection/Connections.js"
import { ConnectionStore } from "../../actors/ports/connection/ConnectionStore.js"
import type { AuthorizingSession } from "../../domain/connection/ConnectSession.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { Connectors } from "../../actors/ports/connection/Connectors.js"
import { Digests } from "../../actors/ports/Digests.js"
import { commonCallbackPath } from "../../domain/connection/Callback.js"
import type { Unavailable } from "../../domain/Failure.js"
import { Origin } from "../../actors/ports/Origin.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { clearingCookie, isSameBrowser } from "./BrowserCookie.js"
import { connectFields } from "../../domain/connection/ConnectForm.js"
import { failureText } from "./Problem.js"
import { makeOutcomePages } from "./OutcomePages.js"
import { makeSessionForm } from "./SessionForm.js"

const linkPattern = /^\/connect\/([A-Za-z0-9_-]{43})$/
const isCallbackPath = (path: string) => path === commonCallbackPath || path.startsWith(`${commonCallbackPath}/`)
const formBytes = 256 * 1024

const queryOf = (target: string): { readonly [name: string]: string } => {
  const at = target.indexOf("?")
  return at < 0 ? {} : Object.fromEntries(new URLSearchParams(target.slice(at + 1)))
}

/** Makes the handler of the connect pages. */
export const make = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const connections = yield* Connections
  const connectors = yield* Connectors
  const reads = yield* ConnectionReads
  const digests = yield* Digests
  const origin = yield* Origin

  const { formPage, submit } = yield* makeSessionForm
  const { limitedPage, linkEndedPage, messagePage, otherBrowserPage, outcomePage, unavailablePage } =
    yield* makeOutcomePages

  /** The stored session; an open one past its time is expired. */
  const findSession = Effect.fnUntraced(function* (by: Parameters<ConnectionStore["Type"]["session"]>[0]) {
    const found = Option.getOrUndefined(yield* store.session(by))
    const now = yield* Clock.currentTimeMillis
    return found?.status === "open" && Date.parse(found.expiresAt) <= now
      ? { ...found, status: "expired" as const }
      : found
  })

  /** The session with its connector's definition, auth method and fields; `undefined` if one of them no longer exists. */
  const loadDetails = Effect.fnUntraced(function* (session: AuthorizingSession) {
    const connection = yield* reads.byId(session.organisationId, session.connectionId)
    if (Option.isNone(connection)) return undefined
    const definition = yield* connectors.find(session.organisationId, connection.value.connector)
    if (Option.isNone(definition)) return undefined
    const method = definition.value.auth.find(({ id }) => id === session.authMethod)
    if (method === undefined) return undefined
    const config = session.config
    return { session, definition: definition.value, method, fields: connectFields(definition.value, method, config) }
  })

  const openLink = Effect.fnUntraced(function* (request: RawRequest, token: string) {
    const opened = yield* findSession({ tokenHash: digests.sha256Hex(token) })
    if (opened === undefined) return linkEndedPage()
    const found = opened.status === "open" ? yield* loadDetails(opened) : undefined
    if (found === undefined)
      return opened.status === "completed"
        ? messagePage(200, "Connected", "The account is connected already.")
        : linkEndedPage()
    const path = pathOf(request.target)
    if (request.method === "POST") {
      if (request.body.byteLength > formBytes) {
        const problem = { field: null, text: `The form is larger than ${formBytes / 1024} KiB.` }
        return yield* formPage(found, path, { body: new Uint8Array(), problem })
      }
      return yield* submit(found, path, request.body)
    }
    // Without fields the person is redirected to the provider at once.
    return found.fields.length === 0 ? yield* submit(found, path, new Uint8Array()) : yield* formPage(found, path, null)
  })

  const completeSignIn = Effect.fnUntraced(function* (request: RawRequest) {
    const params = queryOf(request.target)
    const state = params["state"]
    const opened = state === undefined ? undefined : yield* findSession({ stateHash: digests.sha256Hex(state) })
    if (state === undefined || opened === undefined || opened.status !== "open") return linkEndedPage()
    // A code is redeemed only at the redirect URI that the session sent to the provider.
    const expected = opened.asked?.redirectUri ?? `${origin}${commonCallbackPath}`
    if (`${origin}${pathOf(request.target)}` !== expected) return linkEndedPage()
    // The code is not redeemed, so the browser that began the sign-in can still complete it.
    if (!isSameBrowser(digests.keyHash, request, state)) return otherBrowserPage()
    const found = yield* loadDetails(opened)
    if (found === undefined) return linkEndedPage()
    const { connectionId, id, organisationId } = opened
    const reply = yield* connections.complete({ organisationId, connectionId, sessionId: id, params }).pipe(
      Effect.map(() => outcomePage(opened, found.definition.slug, null)),
      Effect.catchAll((failure) => Effect.succeed(outcomePage(opened, found.definition.slug, failureText(failure))))
    )
    return {
      ...reply,
      headers: { ...reply.headers, "set-cookie": clearingCookie(digests.keyHash, origin, state) }
    }
  })

  const orUnavailablePage = (reply: Effect.Effect<RawReply, Unavailable>): Effect.Effect<RawReply> =>
    Effect.catchAll(reply, (failure) => Effect.succeed(unavailablePage(failure)))

  /** The reply to a request for one of these pages; `undefined` for other paths. */
  const pageAt = (request: RawRequest): Effect.Effect<RawReply> | undefined => {
    const path = pathOf(request.target)
    const token = linkPattern.exec(path)?.[1]
    if (token === undefined && !isCallbackPath(path))
      return path.startsWith("/connect/") ? Effect.succeed(linkEndedPage()) : undefined
    const methods = token === undefined ? ["GET"] : ["GET", "POST"]
    if (!methods.includes(request.method)) {
      const reply = messagePage(405, "Not here", `This page takes ${methods.join(" and ")}.`)
      return Effect.succeed({ ...reply, headers: { ...reply.headers, allow: methods.join(", ") } })
    }
    if (token !== undefined) return orUnavailablePage(openLink(request, token))
    const reply = orUnavailablePage(completeSignIn(request))
    return path !== commonCallbackPath
      ? reply
      : Effect.map(reply, (one) => ({ ...one, headers: { ...one.headers, deprecation: "true" } }))
  }

  /** For the path of a link: the organisation of its session if that is open; `undefined` for other paths. */
  const organisationOfLink = (path: string): Effect.Effect<OrganisationId | undefined> | undefined => {
    const token = linkPattern.exec(path)?.[1]
    if (token === undefined) return undefined
    return findSession({ tokenHash: digests.sha256Hex(token) }).pipe(
      Effect.map((found) => (found?.status === "open" ? found.organisationId : undefined)),
      Effect.catchAll(() => Effect.succeed(undefined))
    )
  }

  return {
    pageAt,
    limitedPage,
    isLink: (path: string) => linkPattern.test(path),
    organisationOfLink
  }
})
