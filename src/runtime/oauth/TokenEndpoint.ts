/**
 * The port `TokenEndpoint` over the egress: RFC 6749, and the responses of real providers: form-encoded, without a
 * token type, with status 201, or with status 200 and an error in the body.
 */
import { Duration, Effect, Layer, Redacted } from "effect"
import { Egress, type EgressFailure, type EgressResponse } from "../../actors/ports/Egress.js"
import { type AnswerHolding, holdAnswers, HeldBytes } from "../../actors/ports/HeldBytes.js"
import {
  type OAuthGrant,
  type TokenClient,
  TokenEndpoint,
  type TokenRequest,
  TokenRequestFailed,
  type Tokens
} from "../../actors/ports/connection/TokenEndpoint.js"
import { tokenTimeout } from "../../domain/connection/Refresh.js"
import { readNumber } from "../../domain/expression/Numbers.js"
import { valueAt } from "../../domain/expression/Path.js"
import { answerJson, answerText, exactAnswerJson } from "../../domain/connector/request/ProviderAnswer.js"
import { isList, isObject, type JsonObject } from "../../domain/Json.js"
import { makeScrubber } from "../../domain/access/Redaction.js"
import { ShareOwners } from "../../actors/ports/organisation/ShareOwners.js"

/** The largest response, in bytes. */
const answerBytes = 256 * 1024
const messageLength = 300
const codeLength = 100
const mostCodes = 20

type Revocation = Parameters<TokenEndpoint["Type"]["revoke"]>[0]

type Pairs = ReadonlyArray<readonly [name: string, value: string]>

export const make = Effect.gen(function* () {
  const egress = yield* Egress
  const ledger = yield* HeldBytes
  const shareOwners = yield* ShareOwners

  const post = (
    { client, organisationId, url }: Pick<TokenRequest, "client" | "organisationId" | "url">,
    pairs: Pairs,
    write: Written = asForm
  ) => {
    const { body, type } = write([...pairs, ...clientPairs(client)])
    return Effect.flatMap(shareOwners.of(organisationId), (owner) =>
      egress.send({
        owner,
        method: "POST",
        url,
        headers: [["content-type", type], ["accept", "application/json"], ...clientHeaders(client)],
        body,
        timeout: tokenTimeout,
        maxBytes: answerBytes,
        // A redirect would send the client's secret to its target.
        redirects: 0
      })
    ).pipe(Effect.mapError(unreachable))
  }

  const request = Effect.fn("TokenEndpoint.request")(function* (asked: TokenRequest) {
    const pairs: Pairs = [...Object.entries(asked.params), ...grantPairs(asked.grant)]
    const response = yield* post(asked, pairs)
    const answer = answerOf(response)
    const scrub = makeScrubber([...secretsOf(asked.client), ...secretsIn(asked.grant), ...issuedIn(answer)]).scrubText
    const accessToken = textMember(answer, "access_token")
    if (accessToken === undefined || isErrorAnswer(answer) || response.status >= 300)
      return yield* refused(response, answer, scrub)
    return tokensOf(asked, accessToken, answer)
  })

  const revoke = Effect.fn("TokenEndpoint.revoke")(function* (asked: Revocation) {
    const { body, client, hint, token } = asked
    const ended = ["token", Redacted.value(token)] as const
    const response = yield* body === "json"
      ? post(asked, [ended], asJson)
      : post(asked, [ended, ["token_type_hint", hint]])
    if (response.status >= 300)
      return yield* refused(
        response,
        answerOf(response),
        makeScrubber([...secretsOf(client), Redacted.value(token)]).scrubText
      )
  })

  const held = <A, E>(
    { organisationId }: Pick<TokenRequest, "organisationId">,
    body: Effect.Effect<A, E, AnswerHolding>
  ) => Effect.flatMap(shareOwners.of(organisationId), (owner) => holdAnswers(ledger, owner, body))

  return TokenEndpoint.of({
    request: (asked) => held(asked, request(asked)),
    revoke: (asked) => held(asked, revoke(asked))
  })
})

export const layer = Layer.effect(TokenEndpoint, make)

// --- The request ---

type Written = (pairs: Pairs) => { readonly type: string; readonly body: string }

const asForm: Written = (pairs) => ({
  type: "application/x-www-form-urlencoded",
  body: new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
})

const asJson: Written = (pairs) => ({ type: "application/json", body: JSON.stringify(Object.fromEntries(pairs)) })

const grantPairs = (grant: OAuthGrant): Pairs => {
  switch (grant.type) {
    case "authorization_code":
      return [
        ["grant_type", grant.type],
        ["code", Redacted.value(grant.code)],
        ["redirect_uri", grant.redirectUri],
        ...(grant.verifier === null ? [] : [["code_verifier", Redacted.value(grant.verifier)] as const])
      ]
    case "refresh_token":
      return [
        ["grant_type", grant.type],
        ["refresh_token", Redacted.value(grant.refreshToken)]
      ]
    case "client_credentials":
      return [["grant_type", grant.type], ...(grant.scope === "" ? [] : [["scope", grant.scope] as const])]
  }
}

const secretText = ({ clientSecret }: TokenClient) => (clientSecret === null ? "" : Redacted.value(clientSecret))

const clientPairs = (client: TokenClient): Pairs => {
  if (client.auth === "basic") return []
  const secret = secretText(client)
  return [
    ["client_id", client.clientId],
    ...(client.auth === "none" || secret === "" ? [] : [["client_secret", secret] as const])
  ]
}

/** RFC 6749, 2.3.1: both are form-encoded before they are joined. */
const formEncoded = (text: string) => new URLSearchParams([["", text]]).toString().slice(1)

const basicOf = (client: TokenClient) =>
  Buffer.from(`${formEncoded(client.clientId)}:${formEncoded(secretText(client))}`).toString("base64")

const clientHeaders = (client: TokenClient): Pairs =>
  client.auth === "basic" ? [["authorization", `Basic ${basicOf(client)}`]] : []

// --- Secrets that a response may repeat ---

const secretsOf = (client: TokenClient): ReadonlyArray<string> => {
  const secret = secretText(client)
  return secret === "" ? [] : [secret, formEncoded(secret), basicOf(client)]
}

const secretsIn = (grant: OAuthGrant): ReadonlyArray<string> => {
  switch (grant.type) {
    case "authorization_code":
      return [grant.code, ...(grant.verifier === null ? [] : [grant.verifier])].map(Redacted.value)
    case "refresh_token":
      return [Redacted.value(grant.refreshToken)]
    case "client_credentials":
      return []
  }
}

/** The tokens of a response: an error may contain some, too. */
const issuedIn = (answer: JsonObject): ReadonlyArray<string> =>
  ["access_token", "refresh_token", "id_token"].flatMap((name) => textMember(answer, name) ?? [])

// --- The answer ---

/** The body as an object. It is read as JSON or as a form, also where its content type is wrong; an empty object if it is neither. */
const answerOf = (response: EgressResponse): JsonObject => {
  const json = answerJson(response)
  // Ids of accounts are kept, digit by digit.
  if (isObject(json)) return (exactAnswerJson(response) ?? json) as JsonObject
  const text = json === undefined ? answerText(response) : ""
  return formStart.test(text) ? Object.fromEntries(new URLSearchParams(text)) : {}
}
const formStart = /^[\w.%+[\]-]+=/

const textMember = (answer: JsonObject, name: string): string | undefined => {
  const value = Object.hasOwn(answer, name) ? answer[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The scopes of an answer as one text, also where the provider sends a list; `undefined`: it names none. */
const scopeOf = (answer: JsonObject, separator: string): string | undefined => {
  const scope = Object.hasOwn(answer, "scope") ? answer["scope"] : undefined
  if (!isList(scope)) return textMember(answer, "scope")
  const names = scope.filter((one) => typeof one === "string")
  return names.length === 0 ? undefined : names.join(separator)
}

const tokensOf = (asked: TokenRequest, accessToken: string, answer: JsonObject): Tokens => {
  const refreshToken = textMember(answer, "refresh_token")
  const expiresIn = valueAt(answer, asked.expiresInField)
  const seconds = typeof expiresIn === "number" || typeof expiresIn === "string" ? readNumber(expiresIn) : Number.NaN
  const scope = scopeOf(answer, asked.scopeSeparator)
  return {
    accessToken: Redacted.make(accessToken),
    refreshToken: refreshToken === undefined ? null : Redacted.make(refreshToken),
    expiresInSeconds: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
    scopes:
      scope === undefined
        ? null
        : scope.split(asked.scopeSeparator === "," ? /[\s,]+/ : asked.scopeSeparator).filter((one) => one !== ""),
    config: Object.fromEntries(
      Object.entries(asked.config).flatMap(([member, path]) => {
        const value = valueAt(answer, path)
        return value === undefined || value === null ? [] : [[member, value]]
      })
    )
  }
}

/** Whether the answer has an error: as text, or as an object or a list with its parts. */
const isErrorAnswer = (answer: JsonObject): boolean =>
  textMember(answer, "error") !== undefined || nestedErrors(answer).length > 0

const nestedErrors = (answer: JsonObject): ReadonlyArray<JsonObject> =>
  ["error", "errors"].flatMap((name) => {
    const value = Object.hasOwn(answer, name) ? answer[name] : undefined
    return (isList(value) ? value : [value]).filter(isObject)
  })

const codeMembers = ["error", "code", "type", "status"] as const

/** The error codes of an answer: of its own members, and of those of a nested error. */
const errorCodes = (answer: JsonObject): ReadonlyArray<string> =>
  [answer, ...nestedErrors(answer)].flatMap((part) => codeMembers.flatMap((name) => textMember(part, name) ?? []))

const refused = (response: EgressResponse, answer: JsonObject, scrub: (text: string) => string) => {
  const codes = errorCodes(answer)
  const [nested] = nestedErrors(answer)
  const [said = ""] = [answer, ...(nested === undefined ? [] : [nested])].flatMap(
    (part) => textMember(part, "error_description") ?? textMember(part, "message") ?? []
  )
  const reason = [...codes.slice(0, 1), said].filter((part) => part !== "").join(": ")
  return new TokenRequestFailed({
    // An error with a success status counts as a client error.
    status: response.status < 300 && codes.length > 0 ? 400 : response.status,
    // Scrubbed before it is truncated: a truncated secret would not be recognised.
    codes: codes.slice(0, mostCodes).map((code) => scrub(code).slice(0, codeLength)),
    message: scrub(
      `the token endpoint answered ${response.status}${reason === "" ? " without a token" : `: ${reason}`}`
    ).slice(0, messageLength)
  })
}

const unreachable = (failure: EgressFailure): TokenRequestFailed => {
  const message = {
    EgressBlocked: () => "the token endpoint's URL may not be called",
    EgressUnreachable: () => "the token endpoint cannot be reached",
    EgressNoMemory: () => "the service has no memory for the token endpoint's answer now",
    EgressTimedOut: () => `the token endpoint did not answer within ${Duration.toSeconds(tokenTimeout)} s`,
    EgressTooLarge: () => "the token endpoint's answer is too large",
    EgressBusy: () => "the token endpoint was not called: no connection was free"
  }[failure._tag]()
  return new TokenRequestFailed({ status: null, codes: [], message })
}
