/** Tests a credential with the action that the connector defines as its test, and signs requests. */
import { Clock, Duration, Effect, Either, Redacted } from "effect"
import { type Credential, credentialValues } from "../../../domain/connection/Credential.js"
import { actionAnswer } from "../../../domain/connector/request/ActionAnswer.js"
import type { AuthMethod } from "../../../domain/connector/AuthMethod.js"
import { buildRequest, type UnsignedRequest } from "../../../domain/connector/request/UnsignedRequest.js"
import { findAction, type ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { injectedParts, injectedSecrets, injectParts } from "../../../domain/connector/request/Injection.js"
import { valueAt } from "../../../domain/expression/Path.js"
import { headerOf, type ProviderFailure } from "../../../domain/connector/request/ProviderAnswer.js"
import { answersChallenge, signRequest } from "../../../domain/connector/request/Signing.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { makeScrubber } from "../../../domain/access/Redaction.js"
import { Patterns } from "../../Patterns.js"
import { inSlices } from "../../SlicedWork.js"
import { placesFor } from "../../Places.js"
import { Egress, type EgressFailure } from "../../ports/Egress.js"
import { holdAnswers, HeldBytes } from "../../ports/HeldBytes.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { MailEgress } from "../../ports/delivery/MailEgress.js"
import { Digests } from "../../ports/Digests.js"
import { busy } from "../ConnectionOwner.js"
import type { CommandRefusal } from "../Protocol.js"
import type { ShareOwner } from "../../../domain/share/ShareOwner.js"
import { ShareOwners } from "../../ports/organisation/ShareOwners.js"

export type CredentialTestResult =
  /** Also if the connector defines no test. `config`: members that the test takes from the answer. */
  | { readonly _tag: "Passed"; readonly accountLabel: string | null; readonly config: JsonObject }
  /**
   * `refused`: the provider rejected the credential; otherwise it could not be reached. `final`: by the definition, the
   * provider rejects every other token as well.
   */
  | { readonly _tag: "NotPassed"; readonly refused: boolean; readonly final: boolean; readonly message: string }

const passedWithoutTest: CredentialTestResult = { _tag: "Passed", accountLabel: null, config: {} }
const maxAnswerBytes = 1024 * 1024
const maxLabelLength = 200

const noPlace = () => busy("too many connections are tested at the moment", 5)

const make = Effect.gen(function* () {
  const egress = yield* Egress
  const mail = yield* MailEgress
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const ledger = yield* HeldBytes
  const places = yield* placesFor("tests")
  const patterns = yield* Patterns
  const shareOwners = yield* ShareOwners

  /** The headers that sign a request by the method's own scheme; none if it has no such scheme. */
  const signatureHeaders = (
    method: AuthMethod,
    credential: { readonly [name: string]: string },
    request: Pick<UnsignedRequest, "method" | "url" | "body">,
    challenge: string | null
  ) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      method.type === "custom"
        ? signRequest(
            method,
            { method: request.method, url: request.url, body: request.body, challenge },
            { credential, now, nonce: Buffer.from(identifiers.bytes(16)).toString("hex"), digests }
          )
        : Either.right([])
    )

  const send = Effect.fnUntraced(function* (
    owner: ShareOwner,
    method: AuthMethod,
    credential: { readonly [name: string]: string },
    config: JsonObject,
    request: UnsignedRequest
  ) {
    const injected = yield* Either.flatMap(injectedParts(method, credential, config), (parts) =>
      injectParts(request, parts)
    )
    const sendSigned = (challenge: string | null) =>
      Effect.flatMap(signatureHeaders(method, credential, injected, challenge), (headers) => {
        const outgoing = {
          owner,
          method: injected.method,
          url: injected.url,
          headers: [...injected.headers, ...headers],
          body: injected.body,
          timeout: Duration.millis(Math.min(injected.timeoutMillis, 30_000))
        }
        return injected.url.startsWith("smtp")
          ? mail.send(outgoing)
          : egress.send({ ...outgoing, maxBytes: maxAnswerBytes, redirects: 3 })
      })
    const answer = yield* sendSigned(null)
    const challenge = headerOf(answer.headers, "www-authenticate")
    const isChallenged =
      answer.status === 401 && challenge !== undefined && method.type === "custom" && answersChallenge(method)
    return isChallenged ? yield* sendSigned(challenge) : answer
  })

  /** Fails with `Busy` if there is no place for the test; an unreachable provider is a result. */
  const testCredential = (
    organisation: OrganisationId,
    definition: ConnectorDefinition,
    method: AuthMethod,
    credential: Credential,
    config: JsonObject
  ): Effect.Effect<CredentialTestResult, CommandRefusal> => {
    const { test } = definition
    const action = test === undefined ? undefined : findAction(definition, test.action)
    if (test === undefined || action === undefined) return Effect.succeed(passedWithoutTest)
    const values = credentialValues(credential)
    const scrub = makeScrubber(Object.values(values)).scrubText
    // A provider may echo the secret, which must not become the label.
    const redactSecrets = makeScrubber(
      injectedSecrets(method, values).map((secret) => Redacted.value(secret))
    ).scrubJson
    const testing = Effect.fnUntraced(
      function* (owner: ShareOwner) {
        const request = yield* buildRequest(definition, action, {
          args: test.args ?? {},
          config,
          idempotencyKey: identifiers.token(32)
        })
        const compiled = yield* patterns.ofCondition(organisation, action.response.errorWhen)
        const answer = yield* send(owner, method, values, config, request)
        const now = yield* Clock.currentTimeMillis
        const answered = { answer, url: request.url, args: test.args ?? {} }
        const read = yield* inSlices(actionAnswer(definition, action, answered, now, compiled))
        return Either.match(read, {
          onLeft: failedResult(scrub),
          onRight: ({ exact }) => passedResult(test)(redactSecrets(exact))
        })
      },
      Effect.catchAll((error) =>
        Effect.succeed<CredentialTestResult>({
          _tag: "NotPassed",
          refused: false,
          final: false,
          message: scrub(reasonOf(error))
        })
      )
    )
    const partner = `${organisation}|${definition.slug}`
    return Effect.flatMap(shareOwners.of(organisation), (owner) => {
      const placed = Effect.catchTag(places.withPlace(owner, partner, testing(owner)), "NoPlace", () => noPlace())
      return holdAnswers(ledger, owner, placed)
    })
  }

  return { testCredential, signatureHeaders }
})

const failedResult =
  (scrub: (text: string) => string) =>
  ({ category, isFinal = false, message, status }: ProviderFailure): CredentialTestResult => ({
    _tag: "NotPassed",
    refused: category === "auth",
    final: isFinal,
    message: scrub(`the provider answered ${status ?? "nothing"}: ${message}`).slice(0, 500)
  })

const passedResult =
  ({ accountLabel, config }: NonNullable<ConnectorDefinition["test"]>) =>
  (result: Json): CredentialTestResult => {
    const label = accountLabel === undefined ? undefined : valueAt(result, accountLabel)
    return {
      _tag: "Passed",
      accountLabel:
        typeof label === "string" || typeof label === "number" ? String(label).slice(0, maxLabelLength) : null,
      config: Object.fromEntries(
        Object.entries(config).flatMap(([member, path]) => {
          const value = valueAt(result, path)
          return value === undefined ? [] : [[member, value]]
        })
      )
    }
  }

const reasonOf = (
  error: EgressFailure | Unavailable | { readonly _tag: "CallMistake"; readonly path: string; readonly message: string }
): string => {
  switch (error._tag) {
    case "CallMistake":
      return `${error.path} ${error.message}`
    case "Unavailable":
      return error.reason
    case "EgressNoMemory":
      return "the service had no memory for the provider's answer: try again"
    case "EgressBlocked":
      return `the provider's URL ${error.reason}`
    case "EgressUnreachable":
      return `the provider cannot be reached: ${error.reason}`
    case "EgressTimedOut":
      return `the provider did not answer within ${error.afterMillis / 1000} s`
    case "EgressTooLarge":
      return `the provider's answer is larger than ${error.limitBytes} bytes`
    case "EgressBusy":
      return `the provider was not called: ${error.reason}`
  }
}

/** One per node. */
export class CredentialTest extends Effect.Service<CredentialTest>()("svc/connection/CredentialTest", {
  effect: make
}) {}
