/** The form of a connect session: shown, shown again with what is wrong, and submitted. */
import { Effect, Either } from "effect"
import { Connections } from "../../actors/ports/connection/Connections.js"
import type { AuthorizingSession } from "../../domain/connection/ConnectSession.js"
import { Egress } from "../../actors/ports/Egress.js"
import { Digests } from "../../actors/ports/Digests.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { configuredUrl } from "../../domain/connector/request/BaseUrl.js"
import { Origin } from "../../actors/ports/Origin.js"
import type { RawReply } from "../Wire.js"
import { startCookie } from "./BrowserCookie.js"
import type { connectFields } from "../../domain/connection/ConnectForm.js"
import { readEntries, formMarkup, type Problem, displayedValues } from "./Form.js"
import { makeOutcomePages } from "./OutcomePages.js"
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
  readonly fields: ReturnType<typeof connectFields>
}

/** The form of the connect pages. */
export const makeSessionForm = Effect.gen(function* () {
  const connections = yield* Connections
  const digests = yield* Digests
  const origin = yield* Origin
  const egress = yield* Egress
  const { nonce, outcomePage } = yield* makeOutcomePages

  /**
   * Origins to which the form may redirect, for the content security policy. If the provider's address depends on entered
   * values: any HTTPS origin, and this machine if the operator allows the service to call it.
   */
  const targetsOf = Effect.fnUntraced(function* ({ method, session }: LinkedSession) {
    const back = session.redirectUrl === null ? [] : [new URL(session.redirectUrl).origin]
    if (method.type !== "oauth2" || method.authorizationUrl === undefined) return back
    const provider = configuredUrl(method.authorizationUrl, session.config)
    if (Either.isRight(provider)) return [...new Set([...back, new URL(provider.right).origin])]
    const local = yield* Effect.filter(localOrigins, (url) => Effect.isSuccess(egress.check(url)))
    return [...new Set([...back, "https:", ...local.map((url) => `${url}:*`)])]
  })

  const formPage = Effect.fnUntraced(function* (
    found: LinkedSession,
    path: string,
    again: { readonly body: Uint8Array; readonly problem: Problem } | null
  ): Effect.fn.Return<RawReply> {
    const { definition, fields } = found
    return pageReply({
      status: again === null ? 200 : 422,
      title: `Connect ${definition.name}`,
      nonce: nonce(),
      body: formMarkup(fields, path, again && displayedValues(fields, again.body), again && again.problem),
      formTargets: yield* targetsOf(found)
    })
  })

  /** Redirects to the provider and sets the cookie. If the page's policy forbids the redirect, the reply is a link. */
  const redirectToProvider = Effect.fnUntraced(function* (found: LinkedSession, url: string) {
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
    const cookie = startCookie(digests.keyHash, origin, searchParams.get("state") ?? "")
    return { ...reply, headers: { ...reply.headers, "set-cookie": cookie } }
  })

  const submit = (found: LinkedSession, path: string, body: Uint8Array): Effect.Effect<RawReply> => {
    const { connectionId, id, organisationId } = found.session
    const entries = readEntries(found.fields, body)
    const empty = missingField(found.fields, entries)
    if (empty !== undefined) return formPage(found, path, { body, problem: empty })
    return connections.submit({ organisationId, connectionId, sessionId: id, ...entries }).pipe(
      Effect.flatMap((done) =>
        done._tag === "Redirect"
          ? redirectToProvider(found, done.url)
          : Effect.succeed(outcomePage(found.session, found.definition.slug, null))
      ),
      Effect.catchAll((failure) =>
        formPage(found, path, { body, problem: problemOf(found.definition.name, found.fields, failure) })
      )
    )
  }

  return { formPage, submit }
})
