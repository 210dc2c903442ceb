/** The settings of a trigger as a form has them, and as the API takes them. */
import type { paths } from "console-api"
import type { ApiSchemas } from "../../api/Client.js"
import { parseJson } from "../../ui/parseJson.js"
import type { RetryRuleForm } from "../../ui/RetryFields.js"

type Trigger = ApiSchemas["Trigger"]
type Verification = ApiSchemas["Verification"]

export const triggerTypes = [
  ["webhook", "Webhook: a request to an address of its own"],
  ["schedule", "Schedule: at times"],
  ["app_event", "App event: a change in a connected system"],
  ["event", "Event: an event of svc"],
  ["manual", "Manual: only when it is fired"]
] as const
export type TypeOfTrigger = (typeof triggerTypes)[number][0]

/** How a webhook's requests are verified: nothing, a provider's way, or one's own. */
export interface VerifyForm extends Verification {
  readonly how: string
}

/** A route; its JSON is text. */
export interface RouteForm {
  /** For the list of the form; the API gives ids of its own. */
  readonly key: string
  readonly id: string | undefined
  readonly workflowId: string
  readonly environment: string
  readonly filter: string
  readonly headers: string
  readonly payload: string
}

/** All settings, also those of other types than the chosen one. */
export interface TriggerForm {
  readonly type: TypeOfTrigger
  readonly name: string
  readonly description: string
  readonly customerId: string
  readonly isEnabled: boolean
  readonly routes: ReadonlyArray<RouteForm>
  readonly delivery: RetryRuleForm
  /** `null`: as the configuration says. */
  readonly autoReplay: { readonly on: ReadonlyArray<string>; readonly maxReplays: number } | null
  readonly webhook: {
    readonly auth: string
    readonly executionMode: string
    readonly partitionKey: string
    readonly deduplicationKey: string
    readonly respond: string
    readonly bigIntegers: string
    readonly verify: VerifyForm
  }
  readonly schedule: {
    readonly mode: string
    readonly cron: string
    readonly n: number
    readonly unit: string
    readonly timezone: string
    readonly startsAt: string
    readonly runOnCreate: boolean
    readonly delayMinutes: number
    readonly overlap: string
    readonly catchUp: string
  }
  readonly appEvent: {
    readonly connector: string
    readonly connectionId: string
    readonly event: string
    readonly args: string
  }
  readonly event: string
}

let keys = 0
/** A route to a workflow, which may not be chosen yet. */
export const emptyRoute = (workflowId = ""): RouteForm => ({
  key: `route ${(keys += 1)}`,
  id: undefined,
  workflowId,
  environment: "",
  filter: "",
  headers: "",
  payload: ""
})

export const emptyTrigger = (type: TypeOfTrigger, workflowId: string): TriggerForm => ({
  type,
  name: "",
  description: "",
  customerId: "",
  isEnabled: true,
  routes: [emptyRoute(workflowId)],
  delivery: { maxAttempts: 3, backoff: "exponential", initialMs: 1_000, coefficient: 2, maxMs: 60_000, jitter: 0.2 },
  autoReplay: null,
  webhook: {
    auth: "access_key",
    executionMode: "parallel",
    partitionKey: "",
    deduplicationKey: "",
    respond: "ack",
    bigIntegers: "number",
    verify: { how: "", maxAgeSeconds: 300 }
  },
  schedule: {
    mode: "cron",
    cron: "0 9 * * MON-FRI",
    n: 1,
    unit: "hours",
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    startsAt: "",
    runOnCreate: false,
    delayMinutes: 0,
    overlap: "skip",
    catchUp: "one"
  },
  appEvent: { connector: "", connectionId: "", event: "", args: "" },
  event: ""
})

const jsonText = (value: unknown): string =>
  value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0)
    ? ""
    : JSON.stringify(value, null, 2)

export const formOfTrigger = (trigger: Trigger): TriggerForm => {
  const empty = emptyTrigger(trigger.type, "")
  const { appEvent, schedule, webhook } = trigger
  return {
    ...empty,
    name: trigger.name,
    description: trigger.description,
    customerId: trigger.customerId ?? "",
    isEnabled: trigger.status === "active",
    routes: trigger.routes.map(({ environment, filter, headers, id, payload, workflowId }) => ({
      ...emptyRoute(workflowId),
      id,
      environment,
      filter: jsonText(filter),
      headers: jsonText(headers),
      payload: jsonText(payload)
    })),
    delivery: trigger.delivery,
    autoReplay: trigger.autoReplay,
    webhook:
      webhook === null
        ? empty.webhook
        : {
            auth: webhook.auth,
            executionMode: webhook.executionMode,
            partitionKey: webhook.partitionKey ?? "",
            deduplicationKey: webhook.deduplicationKey ?? "",
            respond: webhook.respond,
            bigIntegers: webhook.bigIntegers,
            verify:
              webhook.verify === null
                ? empty.webhook.verify
                : { ...webhook.verify, how: webhook.verify.preset ?? webhook.verify.scheme ?? "standard" }
          },
    schedule:
      schedule === null
        ? empty.schedule
        : {
            ...schedule,
            cron: schedule.cron ?? "",
            n: schedule.every?.n ?? 1,
            unit: schedule.every?.unit ?? "hours",
            startsAt: schedule.startsAt ?? ""
          },
    appEvent:
      appEvent === null
        ? empty.appEvent
        : {
            connector: appEvent.connector,
            connectionId: appEvent.connectionId ?? "",
            event: appEvent.event,
            args: jsonText(appEvent.args)
          },
    event: trigger.event?.type ?? ""
  }
}

/** The value of a text that may be empty. */
const valueOf = (text: string, otherwise: unknown): unknown => {
  if (text.trim() === "") return otherwise
  const parsed = parseJson(text)
  return parsed.ok ? parsed.value : otherwise
}
const isJson = (text: string): boolean => text.trim() === "" || parseJson(text).ok
const orNull = (text: string): string | null => (text.trim() === "" ? null : text)

/** Whether all JSON of the form can be read, and what is required is there. */
export const isTriggerReady = ({ appEvent, event, name, routes, type }: TriggerForm): boolean =>
  name.trim() !== "" &&
  routes.length > 0 &&
  routes.every(
    ({ filter, headers, payload, workflowId }) =>
      workflowId !== "" && isJson(filter) && isJson(headers) && isJson(payload)
  ) &&
  (type !== "event" || event.trim() !== "") &&
  (type !== "app_event" || (appEvent.connector !== "" && appEvent.event !== "" && isJson(appEvent.args)))

const presets: ReadonlyArray<string> = ["standard-webhooks", "stripe", "slack", "github", "shopify", "svc"]

const verifyOf = ({ how, preset: _preset, scheme: _scheme, ...members }: VerifyForm): Verification | null => {
  if (how === "") return null
  const set = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== "" && value !== undefined))
  return { ...set, ...(presets.includes(how) ? { preset: how } : { scheme: how }) } as Verification
}

const scheduleOf = ({ cron, n, startsAt, unit, ...schedule }: TriggerForm["schedule"]) => ({
  ...schedule,
  cron: schedule.mode === "cron" ? cron : null,
  every: schedule.mode === "cron" ? null : schedule.mode === "interval" ? { n, unit } : { n },
  startsAt: orNull(startsAt)
})

const settingsOf = (form: TriggerForm): object => {
  const { appEvent, event, schedule, type, webhook } = form
  if (type === "webhook")
    return {
      webhook: {
        ...webhook,
        partitionKey: orNull(webhook.partitionKey),
        deduplicationKey: orNull(webhook.deduplicationKey),
        verify: verifyOf(webhook.verify)
      }
    }
  if (type === "schedule") return { schedule: scheduleOf(schedule) }
  if (type === "app_event")
    return {
      appEvent: { ...appEvent, connectionId: orNull(appEvent.connectionId), args: valueOf(appEvent.args, {}) }
    }
  return type === "event" ? { event: { type: event.trim() } } : {}
}

type Created = NonNullable<paths["/api/v1/triggers"]["post"]["requestBody"]>["content"]["application/json"]

/** What changes a trigger, or with more members creates one. */
export const bodyOfTrigger = (form: TriggerForm): Omit<Created, "type" | "customerId" | "status"> => {
  const body: object = {
    name: form.name,
    description: form.description,
    delivery: form.delivery,
    autoReplay: form.autoReplay,
    routes: form.routes.map(({ environment, filter, headers, id, payload, workflowId }) => ({
      ...(id === undefined ? {} : { id }),
      workflowId,
      ...(environment === "" ? {} : { environment }),
      filter: valueOf(filter, null),
      headers: valueOf(headers, {}),
      ...(form.type === "schedule" ? { payload: valueOf(payload, null) } : {})
    })),
    ...settingsOf(form)
  }
  // The service checks what was typed, and names what is wrong by its path.
  return body as Omit<Created, "type" | "customerId" | "status">
}
