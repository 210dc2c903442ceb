/** Use cases that test parts of a draft at their provider: an action, or the calls of a webhook. Contract: connector definition. */
import { Effect } from "effect"
import { makeScrubber } from "../../../domain/access/Redaction.js"
import { closestName } from "../../../domain/ClosestName.js"
import { notActiveReason } from "../../../domain/connection/ConnectionStates.js"
import { type ConnectorDefinition, findAction } from "../../../domain/connector/Definition.js"
import { findMock } from "../../../domain/connector/Mocking.js"
import {
  type ActionTest,
  type ExecuteWebhook,
  passedTest,
  type TestAction,
  withoutProviderSecrets,
  type WebhookTest
} from "../../../domain/connector/request/ActionTest.js"
import type { ActionAnswer } from "../../../domain/connector/request/ActionAnswer.js"
import { accountText } from "../../../domain/event/WebhookPayload.js"
import { valueAt } from "../../../domain/expression/Path.js"
import { renderAll } from "../../../domain/expression/Template.js"
import { ConnectionInactive, type Failure, invalid, NotFound } from "../../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../../domain/Json.js"
import { expiryOf } from "../../../domain/trigger/Subscription.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { findLivingConnection } from "../connection/ConnectionRecords.js"
import { ConnectorRecords, definitionOf } from "./ConnectorRecords.js"
import { makeDraftCalls, type NoteCall, type TestedDraft } from "./DraftCalls.js"

/** Characters of a subscription's id that are shown. */
const longestId = 1_000

const noSecrets = () => []

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const { call, checkArguments } = yield* makeDraftCalls
  const records = yield* ConnectorRecords

  /** The draft, or the newest version without one. */
  const findDraft = Effect.fnUntraced(function* (tx: Tx, { caller }: CallContext, idOrSlug: string) {
    const found = yield* records.find(tx, caller, idOrSlug)
    const draft = yield* definitionOf(tx, found, undefined)
    return { connectorId: found._tag === "Own" ? found.record.id : found.id, draft }
  })

  /** The draft with an active connection to the connector. */
  const findSubject = Effect.fnUntraced(function* (
    tx: Tx,
    context: CallContext,
    idOrSlug: string,
    connectionId: string
  ): Effect.fn.Return<TestedDraft, Failure> {
    const found = yield* findDraft(tx, context, idOrSlug)
    const connection = yield* findLivingConnection(tx, context, connectionId)
    if (connection.connector !== found.draft.slug)
      return yield* invalid("connectionId", "INVALID_VALUE", `must be a connection to ${found.draft.slug}`)
    if (connection.status !== "active") return yield* new ConnectionInactive({ message: notActiveReason(connection) })
    return { ...found, connection }
  })

  const actionOf = (draft: ConnectorDefinition, name: string) => {
    const action = findAction(draft, name)
    const meant = closestName(
      name,
      draft.actions.map((one) => one.name)
    )
    return action === undefined
      ? new NotFound({ what: "action", ...(meant === undefined ? {} : { meant }) })
      : Effect.succeed(action)
  }

  /** Answers from the action's mocks. */
  const runMock = Effect.fnUntraced(function* (
    context: CallContext,
    idOrSlug: string,
    name: string,
    args: JsonObject,
    note: NoteCall
  ): Effect.fn.Return<ActionTest, Failure> {
    const { connectorId, draft } = yield* read(context, (tx) => findDraft(tx, context, idOrSlug))
    const action = yield* actionOf(draft, name)
    yield* checkArguments(context, draft, action, args, "args")
    const mock = findMock({ mode: "full", fixtures: [] }, draft.slug, action, args)
    if (mock === undefined)
      return yield* invalid(
        "mock",
        "NO_MOCK",
        "needs a mock of the action that is for these arguments: add one to mocks"
      )
    note({ connectorId, connector: draft.slug, called: name, connectionId: null, origin: null })
    return passedTest(withoutProviderSecrets(mock.output, makeScrubber([])), { status: null, durationMs: 0 })
  })

  const run = Effect.fnUntraced(function* (
    context: CallContext,
    idOrSlug: string,
    name: string,
    { args = {}, connectionId, mock = false }: TestAction,
    note: NoteCall
  ): Effect.fn.Return<ActionTest, Failure> {
    if (mock) {
      if (connectionId !== undefined)
        return yield* invalid("connectionId", "NOT_ALLOWED", "cannot be sent with mock: a mock needs no connection")
      return yield* runMock(context, idOrSlug, name, args, note)
    }
    if (connectionId === undefined)
      return yield* invalid("connectionId", "REQUIRED", "is required, or mock: whose credential the call has")
    const subject = yield* read(context, (tx) => findSubject(tx, context, idOrSlug, connectionId))
    const action = yield* actionOf(subject.draft, name)
    yield* checkArguments(context, subject.draft, action, args, "args")
    const { outcome } = yield* call(context, { ...subject, called: name, action, args, secretsOf: noSecrets }, note)
    return outcome
  })

  const runWebhook = Effect.fnUntraced(function* (
    context: CallContext,
    idOrSlug: string,
    id: string,
    { connectionId, input = {}, snippet }: ExecuteWebhook,
    note: NoteCall
  ): Effect.fn.Return<WebhookTest, Failure> {
    const subject = yield* read(context, (tx) => findSubject(tx, context, idOrSlug, connectionId))
    const { connection, draft } = subject
    const webhook = draft.webhooks.find((one) => one.id === id)
    if (webhook === undefined) return yield* new NotFound({ what: "webhook" })
    const rule = webhook[snippet]
    if (rule === undefined) return yield* invalid("snippet", "NOT_FOUND", "is not defined by this webhook")
    const action = findAction(draft, rule.action)
    if (action === undefined)
      return yield* invalid("snippet", "UNKNOWN_NAME", `calls ${rule.action}, which is no action of the connector`)
    const { args: given = {}, event = {}, subscription = {}, webhook: received = {} } = input
    const { config } = connection
    const scope = { args: given, event, subscription, webhook: received, connection: { config } }
    const args = renderAll(rule.args ?? {}, scope)
    if (!isObject(args)) return yield* invalid(`${snippet}.args`, "INVALID_VALUE", "must be an object")
    yield* checkArguments(context, draft, action, args, `${snippet}.args`)
    const { expiresFrom, idFrom, secretFrom } = webhook.subscribe ?? {}
    const at = (value: Json, path: string | undefined) => (path === undefined ? undefined : valueAt(value, path))
    const secretsOf = ({ exact }: ActionAnswer) => {
      const secret = at(exact, secretFrom)
      return typeof secret === "string" ? [secret] : []
    }
    const called = `${id}.${snippet}`
    const { answer, outcome } = yield* call(context, { ...subject, called, action, args, secretsOf }, note)
    if (answer === null || snippet === "unsubscribe") return { ...outcome, subscription: null }
    const expiry = expiryOf(at(answer.result, expiresFrom))
    return {
      ...outcome,
      subscription: {
        id: snippet === "subscribe" ? (accountText(at(answer.exact, idFrom))?.slice(0, longestId) ?? null) : null,
        expiresAt: expiry === null ? null : new Date(expiry).toISOString()
      }
    }
  })

  return { run, runWebhook }
})

/**
 * Tests parts of drafts at their provider. `idOrSlug`: of the connector. Fails with `NotFound` for a connector, an action, a
 * webhook or a connection that the caller does not reach.
 */
export class ActionTests extends Effect.Service<ActionTests>()("svc/ActionTests", { effect: make }) {}
