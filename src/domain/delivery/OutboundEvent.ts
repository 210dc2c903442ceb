/** The events that the service tells an organisation's endpoints of. Contract: outbound events. */

/** Every type with what it means. */
export const outboundEventTypes = {
  "connection.created": "A customer's connection became active for the first time.",
  "connection.expired": "A connection's credential lapsed: the customer must connect again.",
  "connection.failed": "A connection does not work any more: the customer must connect again.",
  "connection.reactivated": "A connection works again.",
  "connection.deleted": "A connection was disconnected.",
  "connection.refresh_failed": "The refresh of a connection's token began to fail; it is retried.",
  "connection.abandoned": "A connection was begun and not completed in time.",
  "execution.completed": "A run completed.",
  "execution.failed": "A run failed.",
  "execution.timed_out": "A run took longer than its tier allows.",
  "execution.cancelled": "A run was cancelled.",
  "approval.requested": "A run waits for an approval.",
  "trigger.disabled": "A trigger was disabled because it kept failing.",
  "trigger.subscription_failed": "A trigger's subscription at a provider failed.",
  "dlq.entry_created": "An event, a run or a delivery was given up and kept as a dead letter.",
  "sync_report.created": "A synchronisation has a report.",
  "quota.warning": "A quota is used to 80 per cent.",
  "quota.exceeded": "A quota is used up.",
  "key.expiring": "An API key expires within seven days.",
  "installation.created": "An integration was installed for a customer.",
  "installation.updated": "An installation was changed.",
  "installation.removed": "An installation was uninstalled.",
  "workflow.deployed": "A version of a workflow was deployed to environments.",
  "webhook_endpoint.disabled": "An endpoint was disabled: it answered 410, or failed for five days."
} as const

/** Types that runs emit. They are for endpoints only: a run that they start emits them again, and would start itself for ever. */
const startsNothing = /^(?:execution\.|approval\.requested$|sync_report\.created$)/

/** Whether triggers take events of this type. */
export const startsTriggers = (type: string): boolean => !startsNothing.test(type)

/** Kinds of records of which the service tells, and of events that are routed by their trigger. */
const ownKinds: ReadonlySet<string> = new Set([
  ...Object.keys(outboundEventTypes).map((type) => type.slice(0, type.indexOf("."))),
  "webhook",
  "schedule",
  "manual"
])

/**
 * Whether no event can have a type like this: it is of a kind that the service keeps to itself, and the service emits none
 * for triggers. Other types are those of injected events.
 */
export const isNeverEmitted = (pattern: string): boolean => {
  const kind = /^([^.*]+)\./.exec(pattern)?.[1]
  if (kind === undefined || !ownKinds.has(kind)) return false
  const types = Object.keys(outboundEventTypes).filter((type) => !startsNothing.test(type))
  return !types.some((type) => isSubscribed([pattern], type))
}

/** The type of the event that `POST /webhook-endpoints/:id/test` sends. No endpoint subscribes to it. */
export const testEventType = "webhook_endpoint.test"

/** Whether a type is of a subscription: the type itself, or a pattern that ends in `*`. */
export const isSubscribed = (patterns: ReadonlyArray<string>, type: string): boolean =>
  patterns.some((pattern) => (pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type))

/** Whether a subscription's pattern stands for at least one type. */
export const namesEventType = (pattern: string): boolean =>
  Object.keys(outboundEventTypes).some((type) => isSubscribed([pattern], type))

/** The body of a delivery. `at`: RFC 3339. */
export const outboundBody = (type: string, at: string, data: object): string =>
  JSON.stringify({ type, timestamp: at, data })
