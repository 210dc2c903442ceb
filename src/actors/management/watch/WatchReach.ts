/** What of the committed changes a watcher is told: what the lists of its topics would show it. */
import { Forbidden } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { type RecordChange, type RecordTopic, topicPermissions } from "../../../domain/watch/WatchTopic.js"
import { missingPermission, type Principal } from "../Caller.js"
import { nounOf } from "../../../domain/access/CallerKind.js"

/** Topics whose changes do not tell all that a scope is about. */
const closedToNarrowed: ReadonlySet<RecordTopic> = new Set(["events", "triggers", "notifications"])
/** Topics with records that all customers share, which a caller of some customers sees. */
const withShared: ReadonlySet<RecordTopic> = new Set(["triggers"])

/** The refusal of a caller that may not watch the topic at all. */
export const topicRefusal = (caller: Principal, topic: RecordTopic): Forbidden | undefined => {
  const permission = topicPermissions[topic]
  const missing = permission === null ? undefined : missingPermission(caller, permission)
  if (missing !== undefined) return missing
  return closedToNarrowed.has(topic) && Object.keys(caller.scope).length > 0
    ? new Forbidden({
        code: "RESOURCE_OUT_OF_SCOPE",
        message: `this ${nounOf(caller)} is narrowed to particular resources: ${topic} cannot be watched with it`
      })
    : undefined
}

const reachesCustomer = ({ customers }: Principal, { customerId, topic }: RecordChange): boolean => {
  if (customers === "all") return true
  return customerId === null ? withShared.has(topic) : customers.has(customerId as CustomerId) // as it is stored
}

const isInScope = ({ scope }: Principal, change: RecordChange): boolean => {
  const { connector, environment, id, topic, workflowId } = change
  if (topic === "executions")
    return scope.workflow?.has(workflowId ?? "") !== false && scope.environment?.has(environment ?? "") !== false
  if (topic === "connections")
    return scope.connection?.has(id) !== false && scope.connector?.has(connector ?? "") !== false
  return true
}

const isReader = ({ person }: Principal, { reader }: RecordChange): boolean =>
  reader === null || reader === (person?.userId ?? "")

/** Whether the caller reaches the record of a change. */
export const reachesChange = (caller: Principal, change: RecordChange): boolean =>
  change.organisationId === caller.organisationId &&
  (change.spaceId === null || change.spaceId === caller.spaceId) &&
  reachesCustomer(caller, change) &&
  isInScope(caller, change) &&
  isReader(caller, change)

const setText = (set: "all" | ReadonlySet<string>): unknown => (set === "all" ? set : [...set].sort())

/** Callers of one text reach the same. It differs after each change of what a caller may do. */
export const reachText = ({ customers, organisationId, permissions, person, scope, spaceId }: Principal): string =>
  JSON.stringify([
    organisationId,
    spaceId,
    setText(permissions),
    setText(customers),
    Object.entries(scope).map(([type, ids]) => [type, setText(ids)]),
    person?.userId ?? null
  ])
