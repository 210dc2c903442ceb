/** Finds what in the settings of a trigger cannot fire, with its paths; what depends on other records is checked elsewhere. */
import type { Condition } from "../expression/Condition.js"
import {
  conditionMistakes,
  mistakeAt,
  type Mistakes,
  mistakesInEach,
  mistakeUnless,
  type PatternMistake,
  pathMistakes
} from "../expression/Checks.js"
import { verificationMistakes } from "../connector/VerificationChecks.js"
import type { WebhookVerification } from "../connector/Webhook.js"
import { refusalOf, type ValidationFailed } from "../Failure.js"
import { triggerLimits } from "../Limits.js"
import { scheduleMistakes } from "./Schedule.js"
import { secretNamePattern } from "../access/Secret.js"
import type { RouteInput, TriggerKind, UpdateTrigger } from "./Trigger.js"
import { settingsMember } from "./TriggerChanges.js"

type Settings = Pick<UpdateTrigger, "appEvent" | "event" | "routes" | "schedule" | "webhook">

/**
 * The refusal of settings with mistakes; `undefined` if there are none. `now`: Unix milliseconds. `patternMistake`: what is
 * wrong with a pattern of the routes.
 */
export const settingsRefusal = (
  type: TriggerKind,
  input: Settings,
  now: number,
  patternMistake: PatternMistake
): ValidationFailed | undefined => {
  return refusalOf([
    ...memberMistakes(type, input),
    ...mistakesInEach("routes", input.routes ?? [], (route, path) => routeMistakes(type, route, path, patternMistake)),
    ...(input.schedule === null || input.schedule === undefined ? [] : scheduleMistakes(input.schedule, now)),
    ...webhookMistakes(input.webhook),
    ...eventMistakes(input.event)
  ])
}

/** The mistake of a new trigger without the settings of its type. */
export const missingSettings = (type: TriggerKind, input: Settings): Mistakes => {
  const member = settingsMember[type]
  return mistakeUnless(
    member === null || member === "webhook" || (input[member] !== null && input[member] !== undefined),
    member ?? "",
    "REQUIRED",
    `is required by the type ${type}`
  )
}

const members = ["webhook", "schedule", "appEvent", "event"] as const

const memberMistakes = (type: TriggerKind, input: Settings): Mistakes =>
  members.flatMap((member) =>
    mistakeUnless(
      member === settingsMember[type] || input[member] === null || input[member] === undefined,
      member,
      "NOT_ALLOWED",
      `must be absent or null: the type is ${type}`
    )
  )

const routeMistakes = (
  type: TriggerKind,
  { filter, payload }: RouteInput,
  path: string,
  patternMistake: PatternMistake
): Mistakes => [
  ...mistakeUnless(
    type === "schedule" || payload === null || payload === undefined,
    `${path}.payload`,
    "NOT_ALLOWED",
    "must be absent or null: only schedules have a payload"
  ),
  ...(filter === null || filter === undefined ? [] : filterMistakes(filter, `${path}.filter`, patternMistake))
]

const filterMistakes = (filter: Condition, path: string, patternMistake: PatternMistake): Mistakes => {
  const { comparisons, depth } = extentOf(filter)
  const { comparisons: maxComparisons, filterBytes, filterDepth } = triggerLimits
  if (depth > filterDepth) return mistakeAt(path, "OUT_OF_RANGE", `nests deeper than ${filterDepth} levels`)
  if (comparisons > maxComparisons)
    return mistakeAt(path, "OUT_OF_RANGE", `has more than ${maxComparisons} comparisons`)
  if (JSON.stringify(filter).length > filterBytes)
    return mistakeAt(path, "OUT_OF_RANGE", `must have at most ${filterBytes} bytes of JSON`)
  return conditionMistakes(path, filter, patternMistake)
}

const extentOf = (condition: Condition): { readonly comparisons: number; readonly depth: number } => {
  if ("path" in condition) return { comparisons: 1, depth: 1 }
  const parts = ("all" in condition ? condition.all : "any" in condition ? condition.any : [condition.not]).map(
    extentOf
  )
  return {
    comparisons: parts.reduce((sum, part) => sum + part.comparisons, 0),
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth))
  }
}

const webhookMistakes = (webhook: Settings["webhook"]): Mistakes =>
  webhook === null || webhook === undefined
    ? []
    : [
        ...pathMistakes("webhook.partitionKey", webhook.partitionKey ?? undefined),
        ...pathMistakes("webhook.deduplicationKey", webhook.deduplicationKey ?? undefined),
        ...mistakeUnless(
          webhook.partitionKey === null || webhook.partitionKey === undefined || webhook.executionMode === "sequential",
          "webhook.partitionKey",
          "NOT_ALLOWED",
          "must be absent or null unless executionMode is sequential"
        ),
        ...(webhook.verify === null || webhook.verify === undefined
          ? []
          : secretMistakes(webhook.verify, "webhook.verify"))
      ]

const secretMistakes = (verify: WebhookVerification, path: string): Mistakes => [
  ...verificationMistakes(verify, path),
  ...(["clientSecret", "subscriptionSecret"] as const).flatMap((member) =>
    mistakeUnless(
      verify[member] !== true,
      `${path}.${member}`,
      "NOT_ALLOWED",
      "must be absent or false: a trigger's webhook is verified with the secret that secretName names"
    )
  ),
  ...mistakeUnless(
    verify.secretName !== undefined || isUnverified(verify),
    `${path}.secretName`,
    "REQUIRED",
    "is required unless the scheme is none"
  ),
  ...mistakeUnless(
    verify.secretName === undefined || secretNamePattern.test(verify.secretName),
    `${path}.secretName`,
    "INVALID_VALUE",
    "must be the name of a secret"
  )
]

const isUnverified = ({ preset, scheme }: WebhookVerification) => preset === undefined && scheme === "none"

/** Parts of lower-case letters, digits, `_` and `-`, with full stops between; `*` only at the end. */
const eventType = /^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:\.?\*)?|\*)$/

const eventMistakes = (event: Settings["event"]): Mistakes =>
  event === null || event === undefined ? [] : eventTypeMistakes(event.type, "event.type")

/** The mistake of a type that no event can have. */
export const eventTypeMistakes = (type: string, path: string): Mistakes =>
  mistakeUnless(
    eventType.test(type),
    path,
    "INVALID_VALUE",
    "must be an event's type, such as connection.expired or connection.*"
  )

/** Whether an event's type matches the type of a trigger, which may end with `*`. */
export const matchesEventType = (pattern: string, type: string): boolean =>
  pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type
