/** The journal and the table of runs on a fresh database, and builders of runs and their changes. */
import { Effect, Layer } from "effect"
import type { OpenRun, RunChange } from "../../src/actors/ports/run/Journal.js"
import type { CustomerId, ExecutionId, OrganisationId, SpaceId, WorkflowId } from "../../src/domain/Ids.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import * as Journal from "../../src/runtime/postgres/journal/Journal.js"
import * as Runs from "../../src/runtime/postgres/run/Runs.js"
import * as StartQueue from "../../src/runtime/postgres/run/StartQueue.js"
import { layerPostgres } from "../../src/runtime/vault/DataKeys.js"
import { keyringOf } from "./keyring.js"
import { aloneNode } from "./ownership.js"
import * as Vault from "../../src/runtime/vault/Vault.js"
import * as Wakeups from "../../src/runtime/process/Wakeups.js"
import { layer as database, TestDatabase } from "./Database.js"

export const organisation = "org_01jd0000000000000000000000" as OrganisationId
export const space = "spc_01jd0000000000000000000000" as SpaceId
export const workflow = "wf_0123456789ab" as WorkflowId
const identifiers = makeIdentifiers()

export const layer = Layer.unwrapEffect(
  Effect.map(TestDatabase, ({ urls }) =>
    Layer.mergeAll(
      Journal.layer({ capacity: 10_000, writer: urls.writer }),
      Runs.layer,
      Layer.provide(StartQueue.layer, aloneNode)
    )
  )
).pipe(
  Layer.provideMerge(Vault.layer({ keyring: keyringOf() }).pipe(Layer.provide(layerPostgres))),
  Layer.provideMerge(Wakeups.layer),
  Layer.provideMerge(database)
)

export const executionId = (): ExecutionId => identifiers.next("exec")

/** A run in progress, due now. `overrides` replaces members. */
export const openRun = (overrides: Partial<OpenRun> = {}): OpenRun => {
  const id = overrides.id ?? executionId()
  const now = Date.now()
  return {
    id,
    organisationId: organisation,
    spaceId: space,
    shard: 1,
    epoch: 1,
    engine: "test",
    retention: 365,
    status: "running",
    tier: "standard",
    priority: 1,
    workflowId: workflow,
    customerId: null as CustomerId | null,
    triggerType: "api",
    attempt: 1,
    mock: "none",
    activations: 0,
    progress: 0,
    wakeAt: now,
    deadlineAt: now + 60_000,
    waiting: null,
    createdAt: now,
    startedAt: now,
    input: {},
    record: {
      workflowName: "test",
      workflowVersion: 1,
      environment: "live",
      customerRef: null,
      installationId: null,
      userId: null,
      trigger: { type: "api", id: null, eventId: null, keyId: null, keyName: null },
      maxAttempts: 1,
      ceilingMillis: 900_000,
      parentId: null,
      rootId: id,
      metadata: {},
      contentHash: "h",
      callbackUrl: null,
      callbackEvents: null,
      traceparent: null
    },
    ...overrides
  }
}

/** A change of a run that has a row already. */
export const change = (run: OpenRun, more: Partial<RunChange> = {}): RunChange => ({
  id: run.id,
  organisationId: run.organisationId,
  spaceId: run.spaceId,
  retention: run.retention,
  epoch: run.epoch,
  ...more
})

export const openingChange = (run: OpenRun, more: Partial<RunChange> = {}): RunChange => ({
  ...change(run),
  epoch: null,
  open: run,
  journal: [
    {
      seq: 0,
      entry: {
        kind: "start",
        at: run.createdAt,
        input: {},
        headers: {},
        customer: null,
        installation: null,
        connections: null,
        script: null
      }
    }
  ],
  ...more
})

export const doneEntry = (seq: number, call = seq - 1) => ({
  seq,
  entry: {
    kind: "done" as const,
    call,
    hash: `h${call}`,
    at: Date.now(),
    ok: true,
    outcome: "ok" as const,
    json: JSON.stringify({ call })
  }
})
