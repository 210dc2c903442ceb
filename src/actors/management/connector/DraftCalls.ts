/**
 * Calls a provider with an action of a draft. The draft determines the action alone: how the connection signs in, and where
 * its credential may go, is of the published version that it uses.
 */
import { Clock, Effect, Either, Option, Redacted } from "effect"
import { makeScrubber } from "../../../domain/access/Redaction.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import type { ActionDefinition } from "../../../domain/connector/Action.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import {
  type ActionTest,
  passedTest,
  refusedTest,
  staysWithin,
  testedDefinition,
  withoutProviderSecrets
} from "../../../domain/connector/request/ActionTest.js"
import type { ActionAnswer } from "../../../domain/connector/request/ActionAnswer.js"
import { connectionOrigins } from "../../../domain/connector/request/BaseUrl.js"
import { buildRequest } from "../../../domain/connector/request/UnsignedRequest.js"
import { type Failure, Forbidden, invalid, NotFound, refusalOf, refuseWith } from "../../../domain/Failure.js"
import { isObject, type JsonObject } from "../../../domain/Json.js"
import { ownerOfAccount } from "../../../domain/share/ShareOwner.js"
import { makeActionCalls } from "../../ActionCalls.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { CallFailed } from "../../ports/connection/ConnectedCalls.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { type AnswerHolding, HeldBytes, holdAnswers } from "../../ports/HeldBytes.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { CallContext } from "../CallContext.js"
import { answerCallFailures } from "../unified/ProviderFailures.js"

/** The longest time of a call. */
const longestMillis = 30_000

/** What is called, before its call is sent: for the audit entry. */
export interface TestedCall {
  readonly connectorId: string
  readonly connector: string
  /** The action's name, or the webhook's id and its call. */
  readonly called: string
  /** `null`: a mock answers. */
  readonly connectionId: string | null
  /** Another origin than the connector's, which gets the credential of the connection. */
  readonly origin: string | null
}

/** Hears of the call that is about to be sent. */
export type NoteCall = (call: TestedCall) => void

/** The draft, or the newest version without one, and the connection that is tested with. */
export interface TestedDraft {
  readonly connectorId: string
  readonly draft: ConnectorDefinition
  readonly connection: Connection
}

/** A call of an action of the draft. */
export interface DraftCall extends TestedDraft {
  readonly called: string
  readonly action: ActionDefinition
  readonly args: JsonObject
  /** Secrets in the answer besides those of the credential. */
  readonly secretsOf: (answer: ActionAnswer) => ReadonlyArray<string>
}

export interface DraftCallOutcome {
  readonly outcome: ActionTest
  /** Without secrets. `null`: the call failed. */
  readonly answer: Pick<ActionAnswer, "exact" | "result"> | null
}

/** The refusal of a call that would give the credential to an origin that is not the connector's. */
const otherOrigin = () =>
  new Forbidden({
    code: "FORBIDDEN",
    needs: "connections:decrypt",
    message:
      "the draft sends this request to another origin than the connector of the connection does: its credential goes there only for a caller with connections:decrypt"
  })

/** Makes the functions that check the arguments of a call, and call. */
export const makeDraftCalls = Effect.gen(function* () {
  const { compute } = yield* Computations
  const callAction = yield* makeActionCalls
  const connectors = yield* Connectors
  const identifiers = yield* Identifiers
  const ledger = yield* HeldBytes

  /** Refuses arguments that break the action's schema. `path`: where they stand. */
  const checkArguments = Effect.fnUntraced(function* (
    { caller: { organisationId } }: CallContext,
    { schemas }: ConnectorDefinition,
    { inputSchema }: ActionDefinition,
    args: JsonObject,
    path: string
  ): Effect.fn.Return<void, Failure> {
    const own = inputSchema["$defs"]
    const schema = { ...inputSchema, $defs: { ...schemas, ...(own !== undefined && isObject(own) ? own : {}) } }
    const mistakes = yield* compute("checkValue", organisationId, { schema, value: args }).pipe(
      Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("", error)]))
    )
    yield* refuseWith(
      refusalOf(mistakes.map((one) => ({ ...one, path: one.path === "" ? path : `${path}.${one.path}` })))
    )
  })

  /** The version that the connection uses: its owner signs in by it. */
  const findUsed = Effect.fnUntraced(function* (
    { caller: { organisationId } }: CallContext,
    { connector, connectorVersion }: Connection
  ): Effect.fn.Return<ConnectorDefinition, Failure> {
    const own = yield* connectors.find(organisationId, connector, connectorVersion)
    const used = Option.isSome(own) ? own : yield* connectors.find(organisationId, connector)
    return Option.isSome(used) ? used.value : yield* new NotFound({ what: "published version of this connector" })
  })

  /** The definition to call with, and the other origin to which the request goes, if the caller may send it there. */
  const checkTarget = Effect.fnUntraced(function* (
    context: CallContext,
    { action, args, connection, draft }: DraftCall
  ): Effect.fn.Return<{ readonly definition: ConnectorDefinition; readonly origin: string | null }, Failure> {
    const used = yield* findUsed(context, connection)
    const definition = testedDefinition(used, draft)
    const { config } = connection
    const built = buildRequest(definition, action, { args, config, idempotencyKey: "" })
    if (Either.isLeft(built)) return yield* invalid(built.left.path, "INVALID_VALUE", built.left.message)
    const origins = Either.getOrElse(connectionOrigins(used, config), () => [])
    if (staysWithin(origins, built.right)) return { definition, origin: null }
    if (!context.caller.permissions.has("connections:decrypt")) return yield* otherOrigin()
    const method = used.auth.find(({ id }) => id === connection.authMethod)
    if (method?.type === "custom" && method.sign !== undefined)
      return yield* invalid(
        "connectionId",
        "NOT_ALLOWED",
        "is of a connection that signs its requests, which it does for the origins of its connector only"
      )
    return { definition, origin: built.right.origin }
  })

  /** Calls the action once. A refusal by the provider is an outcome. */
  const call = Effect.fnUntraced(function* (
    context: CallContext,
    draftCall: DraftCall,
    note: NoteCall
  ): Effect.fn.Return<DraftCallOutcome, Failure> {
    const { action, args, called, connection, connectorId, draft, secretsOf } = draftCall
    const { organisationId } = context.caller
    const { definition, origin } = yield* checkTarget(context, draftCall)
    note({ connectorId, connector: draft.slug, called, connectionId: connection.id, origin })
    const startedAt = yield* Clock.currentTimeMillis
    const scrubber = makeScrubber([])
    let status: number | null = null
    const sent = callAction({
      organisationId,
      connection,
      executionId: null,
      definition,
      action,
      args,
      idempotencyKey: identifiers.token(32),
      retries: "none",
      timeoutMillis: Math.min(action.timeoutMs, longestMillis),
      ...(origin === null ? {} : { anyOrigin: true }),
      onStatus: (answered) => {
        status = answered
      },
      onAttempt: ({ shortSecrets }) => {
        for (const secret of shortSecrets) scrubber.hide(Redacted.value(secret))
      }
    }).pipe(
      Effect.catchTag("InvalidArguments", ({ message, path }) => invalid(path, "INVALID_VALUE", message)),
      Effect.map((answer) => ({ answer })),
      Effect.catchTag("ProviderRefused", ({ failure }) => Effect.succeed({ failure }))
    )
    const judged = Effect.gen(function* (): Effect.fn.Return<DraftCallOutcome, Failure | CallFailed, AnswerHolding> {
      const ended = yield* sent
      const durationMs = (yield* Clock.currentTimeMillis) - startedAt
      if ("failure" in ended) return { outcome: refusedTest(ended.failure, scrubber, durationMs), answer: null }
      for (const secret of secretsOf(ended.answer)) scrubber.hide(secret)
      const { exact, result } = ended.answer
      const clean = withoutProviderSecrets(result, scrubber)
      return {
        outcome: passedTest(clean, { status, durationMs }),
        answer: { result: clean, exact: exact === result ? clean : withoutProviderSecrets(exact, scrubber) }
      }
    })
    return yield* holdAnswers(ledger, ownerOfAccount(context.caller), answerCallFailures(draft.slug, judged))
  })

  return { checkArguments, call }
})
