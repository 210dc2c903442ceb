/** The form of a connect session: shown, shown again with what is wrong, and submitted. */
import { Effect, Either } from "effect"
import type { ConnectionReads } from "../../actors/ports/connection/ConnectionReads.js"
import type { Connections } from "../../actors/ports/connection/Connections.js"
import type { AuthorizingSession, ConnectionStore } from "../../actors/ports/connection/ConnectionStore.js"
import type { Connectors } from "../../actors/ports/connection/Connectors.js"
import type { Egress } from "../../actors/ports/Egress.js"
import type { Digests } from "../../actors/ports/Digests.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { configuredUrl } from "../../domain/connector/request/BaseUrl.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { Origin } from "../../actors/ports/Origin.js"
import type { RawReply } from "../Wire.js"
import { startCookie } from "./BrowserCookie.js"
import { readEntries, type fieldsOf, formMarkup, type Problem, displayedValues } from "./Form.js"
import { missingField, problemOf } from "./Problem.js"
import { html } from "../Markup.js"
import { pageReply, redirectReply } from "./PageReply.js"

/** Origins of providers on the same machine, used in development. */
const localOrigins = ["http://127.0.0.1", "http://localhost", "http://[::1]"]

/** A stored session with its connector's definition, auth method and fields. */
export interface LinkedSession {
  readonly session: AuthorizingSession
  readonly definition: ConnectorDefinition
  readonly method: AuthMethod
  readonly fields: ReturnType<typeof fieldsOf>
}

/** What the pages need. */
export interface PageContext {
  readonly store: ConnectionStore["Type"]
  readonly connections: Connections["Type"]
  readonly connectors: Connectors["Type"]
  readonly reads: ConnectionReads["Type"]
  readonly digests: Digests["Type"]
  readonly origin: Origin["Type"]
  readonly egress: Egress["Type"]
  readonly nonce: () => string
  readonly linkEndedPage: () => RawReply
  readonly messagePage: (status: number, title: string, text: string) => RawReply
  readonly otherBrowserPage: () => RawReply
  readonly outcomePage: (session: AuthorizingSession, connector: string, error: string | null) => RawReply
  readonly unavailablePage: ({ retryAfterSeconds }: Unavailable) => RawReply
}

/**
 * Origins to which the form may redirect, for the content security policy. If the provider's address depends on entered
 * values: any HTTPS origin, and this machine if the operator allows the service to call it.
 */
const targetsOf = Effect.fnUntraced(function* (
  { egress }: PageContext,
  { method, session }: LinkedSession
): Effect.fn.Return<ReadonlyArray<string>> {
  const back = session.redirectUrl === null ? [] : [new URL(session.redirectUrl).origin]
  if (method.type !== "oauth2" || method.authorizationUrl === undefined) return back
  const provider = configuredUrl(method.authorizationUrl, session.config)
  if (Either.isRight(provider)) return [...new Set([...back, new URL(provider.right).origin])]
  const local = yield* Effect.filter(localOrigins, (url) => Effect.isSuccess(egress.check(url)))
  return [...new Set([...back, "https:", ...local.map((url) => `${url}:*`)])]
})

export const formPage = Effect.fnUntraced(function* (
  context: PageContext,
  found: LinkedSession,
  path: string,
  again: { readonly body: Uint8Array; readonly problem: Problem } | null
): Effect.fn.Return<RawReply> {
  const { definition, fields } = found
  return pageReply({
    status: again === null ? 200 : 422,
    title: `Connect ${definition.name}`,
    nonce: context.nonce(),
    body: formMarkup(fields, path, again && displayedValues(fields, again.body), again && again.problem),
    formTargets: yield* targetsOf(context, found)
  })
})

/** Redirects to the provider and sets the cookie. If the page's policy forbids the redirect, the reply is a link. */
const redirectToProvider = Effect.fnUntraced(function* (
  context: PageContext,
  found: LinkedSession,
  url: string
): Effect.fn.Return<RawReply> {
  const { origin: to, protocol, searchParams } = new URL(url)
  const targets = found.fields.length === 0 ? [to] : yield* targetsOf(context, found)
  const isCovered = targets.some((one) => one === to || one === protocol || to.startsWith(one.replace("*", "")))
  const { name } = found.definition
  const reply = isCovered
    ? redirectReply(url)
    : pageReply({
        status: 200,
        title: `Connect ${name}`,
        nonce: context.nonce(),
        body: html`<p><a href="${url}">Continue to ${name}</a></p>`
      })
  const cookie = startCookie(context.digests.keyHash, context.origin, searchParams.get("state") ?? "")
  return { ...reply, headers: { ...reply.headers, "set-cookie": cookie } }
})

export const submit = (
  context: PageContext,
  found: LinkedSession,
  path: string,
  body: Uint8Array
): Effect.Effect<RawReply> => {
  const { connectionId, id, organisationId } = found.session
  const entries = readEntries(found.fields, body)
  const empty = missingField(found.fields, entries)
  if (empty !== undefined) return formPage(context, found, path, { body, problem: empty })
  return context.connections.submit({ organisationId, connectionId, sessionId: id, ...entries }).pipe(
    Effect.flatMap((done) =>
      done._tag === "Redirect"
        ? redirectToProvider(context, found, done.url)
        : Effect.succeed(context.outcomePage(found.session, found.definition.slug, null))
    ),
    Effect.catchAll((failure) =>
      formPage(context, found, path, { body, problem: problemOf(found.definition.name, found.fields, failure) })
    )
  )
}
