/** Completes a connect session with the answer that the provider sent through the browser; redeems its code once. */
import { Effect, Either, Redacted } from "effect"
import { credentialRefused, busy, type ConnectionOwner, orBusy } from "../ConnectionOwner.js"
import { authorizationRequestOf, commonCallbackPath, isSameAuthorization } from "../../../domain/connection/Callback.js"
import { configuredUrl } from "../../../domain/connector/request/BaseUrl.js"
import type { OAuth2Method } from "../../../domain/connector/AuthMethod.js"
import type { JsonObject } from "../../../domain/Json.js"
import { ConnectionStore } from "../../ports/connection/ConnectionStore.js"
import { Origin } from "../../ports/Origin.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import type { CommandRefusal, PayloadOf } from "../Protocol.js"
import { CredentialBuilder } from "./CredentialBuilder.js"
import { TokenRequests } from "./TokenRequests.js"
import { parseUrl } from "../../../domain/Url.js"
import {
  type ConnectStepOutcome,
  type SessionDetails,
  makeSessionDetails,
  sessionEnded,
  verifierPlace
} from "../SessionDetails.js"

/** Whether `iss` names another issuer than the provider's: a mix-up attack (RFC 9207). */
const isForeignIssuer = (method: OAuth2Method, config: JsonObject, iss: string | undefined): boolean => {
  if (iss === undefined) return false
  if (method.issuer !== undefined) {
    const expected = Either.getOrElse(configuredUrl(method.issuer, config), () => method.issuer)
    return iss !== expected && iss !== method.issuer
  }
  const origins = [method.authorizationUrl ?? "", method.tokenUrl].flatMap((url) =>
    Either.match(configuredUrl(url, config), { onLeft: () => [], onRight: (text) => [new URL(text).origin] })
  )
  return !origins.includes(parseUrl(iss)?.origin ?? "")
}

export const makeAuthorizationCallback = Effect.gen(function* () {
  const origin = yield* Origin
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const { buildFromGrant } = yield* CredentialBuilder
  const { clientOf } = yield* TokenRequests
  const { activateConnection, readSession } = yield* makeSessionDetails

  /** Ends the session with a refusal. A pending connection has failed; one that existed before stays unchanged. */
  const decline = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { connection, session }: SessionDetails,
    message: string
  ): Effect.fn.Return<never, CommandRefusal> {
    yield* connection.status === "pending"
      ? owners.change(
          self,
          connection.organisationId,
          { _tag: "Refuse", reason: message },
          { session: { id: session.id, status: "failed", error: message } }
        )
      : orBusy(store.failSession(session.id, message))
    return yield* credentialRefused(message)
  })

  /** Redeems the session, once, and stores the credential that its code yields. */
  const completeSession = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: PayloadOf<"Complete">
  ): Effect.fn.Return<ConnectStepOutcome, CommandRefusal> {
    const found = yield* readSession(self, request.organisationId, request.sessionId)
    const { method, session, target } = found
    if (method.type !== "oauth2") return yield* sessionEnded()
    const param = (name: string) => {
      const value = request.params[name]
      return value === undefined ? undefined : Redacted.value(value)
    }
    if (!(yield* orBusy(store.redeemSession(session.id)))) return yield* sessionEnded()
    const error = param("error")
    if (error !== undefined)
      return yield* decline(
        self,
        found,
        `the provider said ${error}: ${param("error_description") ?? "no more"}`.slice(0, 300)
      )
    if (isForeignIssuer(method, target.config, param("iss")))
      return yield* decline(self, found, "the answer came from another issuer than the one that was asked")
    const { clientId } = yield* clientOf(target, method, {})
    // Sessions of releases that did not record `asked` used the common callback.
    const asked = session.asked ?? {
      ...authorizationRequestOf(method, clientId, `${origin}${commonCallbackPath}`),
      pkce: session.verifier !== null
    }
    if (!isSameAuthorization(asked, method, clientId))
      return yield* decline(self, found, "the connector or its client was changed meanwhile: begin again")
    const code = request.params["code"]
    if (code === undefined) return yield* decline(self, found, "the provider sent no code")
    const doors = yield* owners.vaultOf(target.organisationId)
    const { verifier: sealed } = session
    const verifier =
      sealed === null
        ? null
        : yield* Effect.try({
            try: () => Redacted.make(Buffer.from(doors.open(verifierPlace(session.id), sealed)).toString("utf8")),
            catch: () => busy("the session does not open", 5)
          })
    const callbackConfig = Object.fromEntries(
      Object.entries(method.callbackConfig).flatMap(([member, name]) => {
        const value = param(name)
        return value === undefined ? [] : [[member, value]]
      })
    )
    const grant = { type: "authorization_code", code, redirectUri: asked.redirectUri, verifier } as const
    return yield* buildFromGrant(found.definition, method, target, grant, {}, callbackConfig).pipe(
      Effect.catchTag("TokenRequestFailed", ({ message }) => credentialRefused(message)),
      Effect.flatMap((candidate) => activateConnection(self, found, candidate)),
      Effect.catchIf(
        (failure) => failure._tag === "ValidationFailed" && failure.code === "CREDENTIAL_TEST_FAILED",
        ({ message }) => decline(self, found, message)
      )
    )
  })

  return { completeSession }
})
