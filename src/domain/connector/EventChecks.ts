/** Finds mistakes in events and webhooks. */
import { configRoot } from "./AuthChecks.js"
import { prefixMistakes, type SchemaMistakes } from "./ActionChecks.js"
import {
  conditionMistakes,
  duplicateMistakes,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  referenceMistakes,
  type RootCheck,
  templatesIn,
  mistakeUnless
} from "../expression/Checks.js"
import type { ConnectorDefinition } from "./Definition.js"
import { patternMistake } from "../expression/Pattern.js"
import { headerMistakes, verificationMistakes } from "./VerificationChecks.js"
import type { EventDefinition, WebhookDefinition } from "./Webhook.js"

/** The mistakes in all events and webhooks. */
export const eventMistakes = (definition: ConnectorDefinition, findSchemaMistakes: SchemaMistakes): Mistakes => {
  const { events, webhooks } = definition
  const actions = new Set(definition.actions.map(({ name }) => name))
  return [
    ...duplicateMistakes(
      "events",
      "id",
      events.map(({ id }) => id)
    ),
    ...duplicateMistakes(
      "webhooks",
      "id",
      webhooks.map(({ id }) => id)
    ),
    ...mistakesInEach("events", events, (event, path) => [
      ...oneEventMistakes(definition, event, path, actions),
      ...prefixMistakes(`${path}.payloadSchema`, findSchemaMistakes(event.payloadSchema))
    ]),
    ...mistakesInEach("webhooks", webhooks, (webhook, path) => oneWebhookMistakes(definition, webhook, path, actions))
  ]
}

const oneEventMistakes = (
  { entities, webhooks }: ConnectorDefinition,
  event: EventDefinition,
  path: string,
  actions: ReadonlySet<string>
): Mistakes => {
  const ids = new Set(webhooks.map(({ id }) => id))
  const polled = event.delivery === "poll"
  return [
    ...mistakeUnless(
      !polled || event.poll !== undefined,
      `${path}.poll`,
      "REQUIRED",
      "is required by the delivery poll"
    ),
    ...mistakeUnless(
      polled || webhooks.length > 0,
      `${path}.delivery`,
      "INVALID_VALUE",
      "the connector has no webhooks"
    ),
    ...mistakeUnless(
      polled || event.webhook !== undefined || webhooks.length <= 1,
      `${path}.webhook`,
      "REQUIRED",
      "is required if there are several webhooks"
    ),
    ...referenceMistakes(`${path}.webhook`, event.webhook, ids, "webhook"),
    ...referenceMistakes(`${path}.entity`, event.entity, new Set(entities.map(({ name }) => name)), "entity"),
    ...referenceMistakes(`${path}.poll.action`, event.poll?.action, actions, "action"),
    ...pathMistakes(`${path}.poll.key`, event.poll?.key),
    ...pathMistakes(`${path}.poll.changedAt`, event.poll?.changedAt)
  ]
}

const rootsOf =
  (config: RootCheck, ...names: ReadonlyArray<string>): RootCheck =>
  (path) =>
    path[0] === "connection"
      ? config(path)
      : path[0] === "args" || names.includes(path.slice(0, 2).join("."))
        ? undefined
        : `"${path.join(".")}" is not known here: use ${names.join(", ")}, args or connection.config`

const oneWebhookMistakes = (
  definition: ConnectorDefinition,
  webhook: WebhookDefinition,
  path: string,
  actions: ReadonlySet<string>
): Mistakes => {
  const config = configRoot(definition)
  const { account, challenge, renew, subscribe, unsubscribe } = webhook
  const later = rootsOf(config, "subscription.id", "event.key", "webhook.url", "webhook.secret")
  return [
    ...pathMistakes(`${path}.items`, webhook.items),
    ...pathMistakes(`${path}.eventKey`, webhook.eventKey),
    ...(webhook.eventHeader === undefined ? [] : headerMistakes(webhook.eventHeader, `${path}.eventHeader`)),
    ...mistakeUnless(
      webhook.eventKey !== undefined || webhook.eventHeader !== undefined || eventsOf(definition, webhook) <= 1,
      `${path}.eventKey`,
      "REQUIRED",
      "is required if a webhook delivers several events"
    ),
    ...mistakeUnless(
      account === undefined || account.payload !== undefined || account.header !== undefined,
      `${path}.account.payload`,
      "REQUIRED",
      "is required, unless there is a header"
    ),
    ...appMistakes(webhook, path),
    ...pathMistakes(`${path}.account.payload`, account?.payload),
    ...pathMistakes(`${path}.account.connection`, account?.connection),
    ...mistakeUnless(
      webhook.type === "app" || subscribe !== undefined,
      `${path}.subscribe`,
      "REQUIRED",
      "is required by the type per_event"
    ),
    ...referenceMistakes(`${path}.subscribe.action`, subscribe?.action, actions, "action"),
    ...templatesIn(
      `${path}.subscribe.args`,
      subscribe?.args,
      rootsOf(config, "event.key", "event.id", "webhook.url", "webhook.secret")
    ),
    ...(["idFrom", "expiresFrom", "secretFrom"] as const).flatMap((name) =>
      pathMistakes(`${path}.subscribe.${name}`, subscribe?.[name])
    ),
    ...referenceMistakes(`${path}.unsubscribe.action`, unsubscribe?.action, actions, "action"),
    ...templatesIn(`${path}.unsubscribe.args`, unsubscribe?.args, later),
    ...referenceMistakes(`${path}.renew.action`, renew?.action, actions, "action"),
    ...templatesIn(`${path}.renew.args`, renew?.args, later),
    ...mistakeUnless(
      renew === undefined || subscribe?.expiresFrom !== undefined,
      `${path}.subscribe.expiresFrom`,
      "REQUIRED",
      "is required by renew"
    ),
    ...verificationMistakes(webhook.verify, `${path}.verify`),
    ...conditionMistakes(`${path}.challenge.when`, challenge?.when, patternMistake),
    ...pathMistakes(`${path}.challenge.respond`, challenge?.respond)
  ]
}

/** The mistakes in a webhook whose address is the same for all accounts, and no secret. */
const appMistakes = ({ account, subscribe, type, verify }: WebhookDefinition, path: string): Mistakes =>
  type === "per_event"
    ? []
    : [
        ...mistakeUnless(account !== undefined, `${path}.account`, "REQUIRED", "is required by the type app"),
        ...mistakeUnless(
          verify.scheme !== "none",
          `${path}.verify.scheme`,
          "INVALID_VALUE",
          "must not be none: anyone could send to the address of an app"
        ),
        ...mistakeUnless(
          verify.subscriptionSecret !== true || subscribe !== undefined,
          `${path}.verify.subscriptionSecret`,
          "INVALID_VALUE",
          "needs subscribe: an app without subscriptions is verified with secretName or clientSecret"
        )
      ]

const eventsOf = ({ events, webhooks }: ConnectorDefinition, { id }: WebhookDefinition): number =>
  events.filter((event) => event.delivery === "webhook" && (event.webhook === id || webhooks.length === 1)).length
