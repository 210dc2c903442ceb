/**
 * Sends requests with a connection's credential. Only this module opens grants, and only for the time of their request.
 */
import { Clock, Duration, Effect, Either, Layer, Option } from "effect"
import { ConnectedEgress, type ConnectedRequest, GrantRefused } from "../../actors/connection/CallAttempt.js"
import { Connections } from "../../actors/ports/connection/Connections.js"
import {
  Egress,
  type EgressFailure,
  type EgressRequest,
  type EgressResponse,
  EgressUnreachable,
  type OpenRequest
} from "../../actors/ports/Egress.js"
import { MailEgress } from "../../actors/ports/delivery/MailEgress.js"
import { Vault } from "../../actors/ports/Vault.js"
import { grantOf, grantPlace, readGrant } from "../../domain/connection/Grant.js"
import { type InjectedPart, injectParts } from "../../domain/connector/request/Injection.js"
import { headerOf } from "../../domain/connector/request/ProviderAnswer.js"
import { type EchoFilter, echoFilter } from "./Echo.js"
import { parseUrl } from "../../domain/Url.js"
import { egress } from "../../domain/Limits.js"
import { ShareOwners } from "../../actors/ports/organisation/ShareOwners.js"

const refused = (reason: string) => new GrantRefused({ reason })

/**
 * A redirect to another origin drops headers that may be a credential, but not one in the query or the body: such
 * requests follow no redirect, and the response is returned as it is.
 */
const redirectsOf = (parts: ReadonlyArray<InjectedPart>): number =>
  parts.every((part) => part.in === "header") ? egress.redirects : 0

export const layer = Layer.effect(
  ConnectedEgress,
  Effect.gen(function* () {
    const egress = yield* Egress
    const mail = yield* MailEgress
    const vault = yield* Vault
    const connections = yield* Connections
    const shareOwners = yield* ShareOwners

    /** Opens a grant, if it is for this request. */
    const openGrant = Effect.fnUntraced(function* ({
      connectionId,
      executionId,
      grant,
      organisationId,
      origin,
      url
    }: ConnectedRequest) {
      const read = readGrant(grant)
      if (read === undefined) return yield* refused("this is no grant")
      const target = parseUrl(url)
      if (target === undefined || `${target.protocol}//${target.host}` !== origin)
        return yield* refused("the request goes to another origin than the grant is for")
      if (read.expiresAt <= (yield* Clock.currentTimeMillis)) return yield* refused("the grant's time is over")
      const doors = yield* Effect.mapError(vault.of(organisationId), () => refused("the vault cannot be opened"))
      const text = yield* Effect.try({
        try: () =>
          Buffer.from(doors.open(grantPlace(connectionId, origin, executionId, read.expiresAt), read.sealed)).toString(
            "utf8"
          ),
        catch: () => refused("the grant is for another request")
      })
      const granted = grantOf(text)
      return Option.isNone(granted) ? yield* refused("this is no grant") : granted.value
    })

    /**
     * Injects the credential, sends by `way`, and answers a challenge once. `discard` releases a response that is not
     * read.
     */
    const sendWithCredential = Effect.fnUntraced(function* <A extends Pick<EgressResponse, "status" | "headers">, B, R>(
      request: ConnectedRequest & Pick<OpenRequest, "upload">,
      way: (outgoing: EgressRequest) => Effect.Effect<A, EgressFailure, R>,
      filter: (echo: EchoFilter, answer: A) => B | EgressUnreachable,
      discard: (answer: A) => void = () => undefined
    ) {
      const { connectionId, organisationId } = request
      const owner = yield* shareOwners.of(organisationId)
      const { parts, secrets, signs } = yield* openGrant(request)
      if (request.upload !== undefined && (signs || parts.some((part) => part.in === "body")))
        return yield* refused("the credential needs the request's body, which is still coming in")
      const echo = echoFilter(secrets)
      const placed = injectParts(request, parts)
      if (Either.isLeft(placed)) return yield* refused(`${placed.left.path} ${placed.left.message}`)
      const { body, headers, method, timeoutMillis, url } = placed.right
      const signature = (challenge: string | null) =>
        signs
          ? Effect.mapError(
              connections.sign({ organisationId, connectionId, method, url, body, challenge }),
              (failure) => refused(`the request is not signed: ${failure._tag}`)
            )
          : Effect.succeed([])
      const go = (signed: ReadonlyArray<readonly [string, string]>) => {
        const all = [...headers, ...signed]
        const timeout = Duration.millis(timeoutMillis)
        // A signature is valid for one URL.
        const redirects = signs ? 0 : redirectsOf(parts)
        const sent = way({
          owner,
          method,
          url,
          headers: all,
          body,
          timeout,
          maxBytes: request.maxBytes,
          redirects
        })
        return Effect.mapError(sent, echo.failure)
      }
      const read = (answer: A) => {
        const filtered = filter(echo, answer)
        return filtered instanceof EgressUnreachable ? Effect.fail(filtered) : Effect.succeed(filtered)
      }
      const answer = yield* go(yield* signature(null))
      const challenge = headerOf(answer.headers, "www-authenticate")
      if (!signs || answer.status !== 401 || challenge === undefined) return yield* read(answer)
      const answered = yield* signature(challenge)
      // Only schemes with challenges change the request now.
      if (!answered.some(([name]) => name === "authorization")) return yield* read(answer)
      discard(answer)
      return yield* read(yield* go(answered))
    })

    return ConnectedEgress.of({
      send: (request) =>
        sendWithCredential(
          request,
          (outgoing) => (outgoing.url.startsWith("smtp") ? mail.send(outgoing) : egress.send(outgoing)),
          (echo, answer) => echo.refusal(answer) ?? { ...echo.answer(answer), shortSecrets: echo.shortSecrets(answer) }
        ),
      open: ({ stall, ...request }) =>
        sendWithCredential(
          request,
          (outgoing) => egress.open({ ...outgoing, stall, upload: request.upload }),
          (echo, answer) => echo.opened(answer),
          ({ cancel }) => cancel()
        )
    })
  })
)
