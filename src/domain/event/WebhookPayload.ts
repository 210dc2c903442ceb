/** Reads the requests of webhooks: forms as JSON, challenges, several events in one delivery. Pure. */
import { Either } from "effect"
import type { Decoder } from "../CharacterSets.js"
import { meetsCondition } from "../expression/ConditionEvaluation.js"
import type { ConnectorDefinition } from "../connector/Definition.js"
import { valueAt } from "../expression/Path.js"
import type { PatternLookup } from "../expression/PatternProgram.js"
import { eventSteps, StepBudget } from "../expression/StepBudget.js"
import { type FormProblem, readFormFields } from "../FormFields.js"
import type { EventDefinition, WebhookDefinition } from "../connector/Webhook.js"
import { isList, type Json, type JsonObject } from "../Json.js"
import { type RoundedIntegers, roundedWithin } from "../LargeIntegers.js"

/**
 * The form of a body by its content type; `undefined`: it is not read. `plain`: a text, or no content type, which some
 * senders of JSON say, as Amazon SNS does.
 */
export const bodyForm = (contentType: string | undefined): "json" | "form" | "plain" | undefined => {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "application/x-www-form-urlencoded") return "form"
  if (type === "" || type === "text/plain") return "plain"
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(type) ? "json" : undefined
}

/** Fields by their name; one that is sent several times is a list. */
export type Fields = { readonly [name: string]: string | ReadonlyArray<string> }

/** Collects fields by their name. */
const makeFields = () => {
  const fields = new Map<string, string | Array<string>>()
  const add = (name: string, value: string): void => {
    const before = fields.get(name)
    if (before === undefined) fields.set(name, value)
    else if (typeof before === "string") fields.set(name, [before, value])
    else before.push(value)
  }
  // `Object.fromEntries` creates own members, also of the name `__proto__`.
  return { add, all: (): Fields => Object.fromEntries(fields) }
}

/** The fields of a query. */
export const queryFields = (query: string): Fields => {
  const fields = makeFields()
  for (const [name, value] of new URLSearchParams(query)) fields.add(name, value)
  return fields.all()
}

/** The fields of a form. Left: why it is refused. `most`: fields. `decoder`: of `formDecoder`; default UTF-8. */
export const formFields = (body: Uint8Array, most: number, decoder?: Decoder): Either.Either<Fields, FormProblem> => {
  const fields = makeFields()
  const problem = readFormFields(body, most, fields.add, decoder)
  return problem === undefined ? Either.right(fields.all()) : Either.left(problem)
}

// --- Challenges ---

/** Characters of a challenge that is repeated. */
const maxChallengeLength = 2_000

/** Names of query parameters with which providers challenge a URL. */
const challengeNames = ["hub.challenge", "validationToken", "challenge"]

/** The text that answers a challenge in the query; `undefined` if there is none. */
export const queryChallenge = (query: Fields): string | undefined => {
  const found = challengeNames.map((name) => query[name]).find((value) => value !== undefined)
  return typeof found === "string" && found.length <= maxChallengeLength ? found : undefined
}

/** How a challenge is recognised and answered. */
type Challenge = NonNullable<WebhookDefinition["challenge"]>

/** The challenge of Slack's Events API. */
export const slackChallenge: Challenge = {
  when: { path: "type", op: "eq", value: "url_verification" },
  respond: "challenge"
}

/** The answer to a challenge in the body; `undefined` if the body is none. */
export const bodyChallenge = (
  challenge: Challenge | undefined,
  payload: Json,
  patterns: PatternLookup
): string | undefined => {
  if (challenge === undefined) return undefined
  if (!meetsCondition(challenge.when, payload, { patterns, budget: new StepBudget(eventSteps) })) return undefined
  const found = valueAt(payload, challenge.respond)
  return typeof found === "string" && found.length <= maxChallengeLength ? found : undefined
}

// --- Events ---

/** One event of a delivery. */
export interface DeliveredEvent {
  /** The key by which the definition names the event; `null` if the delivery has none. */
  readonly key: string | null
  /** The value that tells the connection; `null` if the definition matches none or the delivery lacks it. */
  readonly account: string | null
  readonly payload: Json
  /** Integers of the payload that are not those that were sent. */
  readonly rounded: RoundedIntegers | undefined
  /** Its place among the events of the delivery. */
  readonly index: number
}

/**
 * The events of a delivery to a webhook of a connector: the items of the list that the definition names, each a payload of
 * its own; without it the payload. `headers`: names in lower case. `exact`: the payload with every large integer as text, by
 * which keys and accounts are compared.
 */
export const deliveredEvents = (
  { account, eventHeader, eventKey, items }: WebhookDefinition,
  { exact, payload, rounded }: DeliveredPayload,
  headers: { readonly [name: string]: string }
): ReadonlyArray<DeliveredEvent> => {
  const listIn = (value: Json) => (items === undefined ? [value] : valueAt(value, items))
  const [list, exactList] = [listIn(payload), listIn(exact)]
  if (!isList(list) || !isList(exactList)) return []
  return list.map((item, index) => {
    const exactItem = exactList[index] ?? null
    return {
      key: textAt(exactItem, eventKey) ?? headerAt(headers, eventHeader),
      account:
        textAt(exactItem, account?.payload) ?? textAt(exact, account?.payload) ?? headerAt(headers, account?.header),
      payload: item,
      rounded: items === undefined ? rounded : roundedWithin(rounded, `${plainPath(items)}[${index}]`),
      index
    }
  })
}

/** The parsed body of a delivery. */
export interface DeliveredPayload {
  readonly payload: Json
  readonly exact: Json
  readonly rounded: RoundedIntegers | undefined
}

/** A path without its `$`, as the places of integers are named. */
const plainPath = (path: string): string => path.replace(/^\$\.?/, "")

/** A schema of the delivery in which the contract is that of each event. */
export const contractOfDelivery = ({ items }: WebhookDefinition, contract: JsonObject): JsonObject => {
  if (items === undefined) return contract
  // References lead to the contract's own definitions.
  const { $defs, definitions } = contract
  const inner = plainPath(items)
    .split(".")
    .reduceRight<JsonObject>((schema, name) => ({ properties: { [name]: schema } }), { items: contract })
  return { ...inner, ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) }
}

/** The id of one event of a delivery, the same in all its attempts. */
export const eventDeliveryId = (deliveryId: string | null, index: number, count: number): string | null =>
  deliveryId === null || count === 1 ? deliveryId : `${deliveryId}#${index}`

/** The events of the definition that a webhook delivers under this key; without a key, its only event. */
export const eventsOfKey = (
  { events, webhooks }: Pick<ConnectorDefinition, "events" | "webhooks">,
  webhook: WebhookDefinition,
  key: string | null
): ReadonlyArray<EventDefinition> => {
  const delivered = events.filter(
    (event) => event.delivery === "webhook" && (event.webhook === webhook.id || webhooks.length === 1)
  )
  const isKeyed = webhook.eventKey !== undefined || webhook.eventHeader !== undefined
  return isKeyed ? delivered.filter((event) => (event.key ?? event.id) === key) : delivered.slice(0, 1)
}

/** The text of an account's value: strings and numbers are compared as text. */
export const accountText = (value: Json | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : null

/** The account of a connection, which deliveries name: a member of its config, `config.…`, or `accountLabel`. */
export const accountOfConnection = (
  { account }: Pick<WebhookDefinition, "account">,
  { accountLabel, config }: { readonly accountLabel: string | null; readonly config: JsonObject }
): string | null => textAt({ ...config, config, accountLabel }, account?.connection)

const textAt = (value: Json, path: string | undefined): string | null =>
  path === undefined ? null : accountText(valueAt(value, path))

const headerAt = (headers: { readonly [name: string]: string }, name: string | undefined): string | null =>
  name === undefined ? null : accountText(headers[name.toLowerCase()])
