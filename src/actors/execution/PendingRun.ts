/** The row, the first journal entry and the claim of a run that is being accepted. */
import { Duration } from "effect"
import { type Event, originOf } from "../../domain/event/Event.js"
import { tiers } from "../../domain/run/Execution.js"
import type { ExecutionId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { eventQueueTimeout, idempotencyLifetime, queueTimeout } from "../../domain/Limits.js"
import { redactMembers } from "../../domain/access/SecretNames.js"
import type { AttemptEntry, StartEntry, StartingEvent } from "../../domain/run/RunJournal.js"
import type { StartRequest } from "../ports/run/Executions.js"
import type { Claim, OpenRun, RunRecord } from "../ports/run/Journal.js"

/** What the node adds to a request. `now`: Unix milliseconds. */
export interface RunIdentity {
  readonly id: ExecutionId
  readonly shard: number
  /** The sandbox engine that the run begins on. */
  readonly engine: string
  readonly now: number
}

/** How long the run may take: its tier's ceiling, or less if the workflow says so. */
const ceilingMillis = ({ runnable, synchronousMillis }: StartRequest): number =>
  runnable.tier === "instant" && synchronousMillis !== undefined
    ? synchronousMillis
    : Math.min(Duration.toMillis(tiers[runnable.tier].ceiling), runnable.timeoutMillis ?? Infinity)

/**
 * How long the run may wait for its start. An Instant run that its caller waits for has no more than its ceiling.
 */
const startTimeout = (request: StartRequest): number => {
  if (request.event !== undefined) return Duration.toMillis(eventQueueTimeout)
  return request.runnable.tier === "instant" ? ceilingMillis(request) : Duration.toMillis(queueTimeout)
}

/** What the record keeps of the event that starts the run. */
const eventMembers = ({
  event,
  lane,
  routeId,
  trigger
}: StartRequest): Pick<RunRecord, "event" | "routeId" | "lane"> => ({
  // An event of a connector names no trigger, and has several.
  ...(event === undefined ? {} : { event: { ...originOf(event), triggerId: event.triggerId ?? trigger.id ?? null } }),
  ...(routeId === undefined ? {} : { routeId }),
  ...(lane === undefined ? {} : { lane })
})

const accountMember = ({ accountId, runnable }: StartRequest): Pick<RunRecord, "accountId"> =>
  accountId === runnable.organisationId ? {} : { accountId }

const triggerOf = ({ event, trigger }: StartRequest): RunRecord["trigger"] => ({
  type: trigger.type,
  id: trigger.id ?? trigger.personId ?? null,
  eventId: event?.id ?? null,
  keyId: trigger.keyId,
  keyName: trigger.keyName
})

const recordOf = (request: StartRequest, id: ExecutionId, shownInput: Json): RunRecord => ({
  workflowName: request.runnable.name,
  workflowVersion: request.runnable.version,
  environment: request.environment,
  customerRef: request.customer?.ref ?? null,
  installationId: request.installation?.id ?? null,
  userId: request.userId,
  trigger: triggerOf(request),
  maxAttempts: request.runnable.retry.enabled ? request.runnable.retry.maxAttempts : 1,
  ceilingMillis: ceilingMillis(request),
  parentId: request.parent?.id ?? null,
  rootId: request.parent?.resumes?.rootId ?? id,
  metadata: request.metadata,
  ...accountMember(request),
  contentHash: request.runnable.contentHash,
  callbackUrl: request.callback?.url ?? request.runnable.callbackUrl,
  callbackEvents: request.callback?.events ?? null,
  traceparent: request.traceparent,
  ...eventMembers(request),
  ...(request.connections === null ? {} : { connections: request.connections }),
  ...(shownInput === request.input ? {} : { inputRedacted: true })
})

/** The run as it is accepted, not yet started. Its input is redacted. */
export const pendingRun = (request: StartRequest, { engine, id, now, shard }: RunIdentity): OpenRun => {
  const input = redactMembers(request.input)
  return {
    id,
    organisationId: request.runnable.organisationId,
    spaceId: request.runnable.spaceId,
    shard,
    epoch: 1,
    engine,
    retention: request.retention,
    status: "pending",
    tier: request.runnable.tier,
    priority: request.priority,
    workflowId: request.runnable.workflowId,
    customerId: request.customer?.id ?? null,
    triggerType: request.trigger.type,
    attempt: 1,
    mock: request.mocking?.mode ?? "none",
    activations: 0,
    progress: 0,
    wakeAt: null,
    deadlineAt: now + startTimeout(request),
    waiting: null,
    createdAt: now,
    startedAt: null,
    record: recordOf(request, id, input),
    input
  }
}

/** What the guest learns of the event. */
const startingEvent = ({ connectionId, id, receivedAt, record, source, triggerId, type }: Event): StartingEvent => ({
  id,
  type,
  source,
  triggerId,
  connectionId,
  entity: record.entity,
  action: record.action,
  occurredAt: record.occurredAt === null ? null : new Date(record.occurredAt).toISOString(),
  receivedAt: new Date(receivedAt).toISOString()
})

/** The first entry of the journal: everything that the guest gets, exactly. A draft's script goes with it. */
export const startEntry = (request: StartRequest, now: number): StartEntry => ({
  kind: "start",
  at: now,
  input: request.input,
  headers: request.headers,
  customer: request.customer,
  installation: request.installation,
  connections: request.connections,
  ...(request.event === undefined ? {} : { event: startingEvent(request.event) }),
  ...(request.reach === undefined ? {} : { reach: request.reach }),
  ...(request.hidden === undefined ? {} : { hidden: request.hidden }),
  ...(request.mocking === undefined ? {} : { mocking: request.mocking }),
  script: request.runnable.version === null ? request.runnable.script : null
})

/** The entry of the journal that begins a run which takes over what another has completed. `id`: of the run that begins. */
export const attemptOf = (
  { anew, attempt }: NonNullable<NonNullable<StartRequest["parent"]>["resumes"]>,
  id: ExecutionId
): AttemptEntry => (anew === undefined ? attempt : { ...attempt, anew: { steps: anew, rootId: id } })

/** The claim of the request's Idempotency-Key, if it has one. */
export const claimOf = (request: StartRequest, now: number): Claim | undefined =>
  request.idempotency === undefined
    ? undefined
    : {
        scope: "idem",
        key: request.idempotency.key,
        hash: request.idempotency.hash,
        expiresAt: now + Duration.toMillis(idempotencyLifetime)
      }
