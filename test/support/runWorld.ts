/**
 * The actors of runs over ports in memory: a journal, a table of runs, a sandbox, and an egress that a test scripts.
 */
import { Sharding } from "@effect/cluster"
import { Duration, Effect, FiberId, Layer, Redacted, Runtime, TestClock } from "effect"
import { assert } from "vitest"
import * as ExecutionsLive from "../../src/actors/execution/Executions.js"
import * as RunPlaces from "../../src/actors/execution/RunPlaces.js"
import * as Sweep from "../../src/actors/execution/Sweep.js"
import { Patterns } from "../../src/actors/Patterns.js"
import { Computations } from "../../src/actors/ports/Computations.js"
import { ConnectedCalls } from "../../src/actors/ports/connection/ConnectedCalls.js"
import { UnifiedRecords } from "../../src/actors/ports/unified/UnifiedRecords.js"
import { ConnectionReads } from "../../src/actors/ports/connection/ConnectionReads.js"
import { Connectors } from "../../src/actors/ports/connection/Connectors.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { EndpointSubscriptions } from "../../src/actors/ports/delivery/EndpointSubscriptions.js"
import { Egress } from "../../src/actors/ports/Egress.js"
import type { StartRequest } from "../../src/actors/ports/run/Executions.js"
import { Identifiers } from "../../src/actors/ports/Identifiers.js"
import { Journal } from "../../src/actors/ports/run/Journal.js"
import type { Ownership } from "../../src/actors/ports/Ownership.js"
import { RunNotifications } from "../../src/actors/execution/calls/NotifyCalls.js"
import { OrganisationReads } from "../../src/actors/ports/organisation/OrganisationReads.js"
import { Records } from "../../src/actors/ports/Records.js"
import { SyncReports } from "../../src/actors/ports/run/SyncReports.js"
import { RunApprovals } from "../../src/actors/execution/calls/ApprovalCalls.js"
import { KeyValues } from "../../src/actors/execution/calls/StateCalls.js"
import { IntakeLoad } from "../../src/actors/ports/event/IntakeLoad.js"
import { type Runnable, Runnables } from "../../src/actors/ports/run/Runnables.js"
import { RunReads } from "../../src/actors/ports/run/RunReads.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { EventDispatch } from "../../src/actors/ports/event/EventRuns.js"
import { EventStream } from "../../src/actors/ports/event/EventStream.js"
import { Sandbox } from "../../src/actors/ports/run/Sandbox.js"
import { WorkspaceDb } from "../../src/actors/ports/run/WorkspaceDb.js"
import { defaultRetryPolicy } from "../../src/domain/run/Execution.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import type { StartEntry } from "../../src/domain/run/RunJournal.js"
import * as NodeStarts from "../../src/runtime/cluster/NodeStarts.js"
import * as ByteLedger from "../../src/runtime/memory/ByteLedger.js"
import { makeDigests, makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import * as Wakeups from "../../src/runtime/process/Wakeups.js"
import { aloneNode } from "./ownership.js"
import { organisation, space, workflow } from "./journal.js"
import { makeRunStore } from "./runStore.js"
import { type Guest, makeScriptedSandbox } from "./scriptedSandbox.js"

export const runnable = (more: Partial<Runnable> = {}): Runnable => ({
  organisationId: organisation,
  spaceId: space,
  workflowId: workflow,
  customerId: null,
  name: "test",
  enabled: true,
  tier: "standard",
  timeoutMillis: null,
  retry: defaultRetryPolicy,
  callbackUrl: null,
  version: 1,
  script: "main",
  contentHash: "h",
  inputContract: null,
  outputContract: null,
  bindings: [],
  waits: false,
  customAuth: null,
  ...more
})

export const startEntry = (at: number): StartEntry => ({
  kind: "start",
  at,
  input: {},
  headers: {},
  customer: null,
  installation: null,
  connections: null,
  script: null
})

export const request = (of: Runnable): StartRequest => ({
  runnable: of,
  environment: "live",
  retention: 30,
  accountId: of.organisationId,
  concurrentRuns: null,
  priority: 1,
  input: {},
  headers: {},
  customer: null,
  installation: null,
  connections: null,
  userId: null,
  trigger: { type: "api", keyId: null, keyName: null },
  metadata: {},
  callback: null,
  traceparent: null
})

export interface RunWorldOptions {
  readonly guests: { readonly [script: string]: Guest }
  /** The number of runs that the node drives at a time. */
  readonly slots?: number
  readonly caps?: ReadonlyMap<OrganisationId, number>
  /** How long a request takes. */
  readonly answerAfter?: Duration.DurationInput
  /** Finds the endpoints that get an event. Default: none, at once. */
  readonly subscribed?: EndpointSubscriptions["Type"]["subscribed"]
  /** Default: a node that is alone. */
  readonly node?: Layer.Layer<Ownership>
}

/**
 * Starts a node. Its egress never answers a request to a URL with `hang`, and answers any other request with its URL.
 */
export const makeRunWorld = ({
  answerAfter,
  caps,
  guests,
  node = aloneNode,
  slots = 10,
  subscribed = () => Effect.succeed([])
}: RunWorldOptions) => {
  const store = makeRunStore(caps)
  const guestHost = makeScriptedSandbox(guests)
  const sent: Array<string> = []
  const aborted: Array<string> = []
  /** Scripts of workflows by organisation, for runs that are loaded again; `main` for the other organisations. */
  const scripts = new Map<OrganisationId, string>()
  /** Runs when a request is sent, before its answer. */
  const onSend = { run: (_url: string): void => undefined }

  /** Answers by the clock of the test. */
  const egress = Layer.unwrapEffect(
    Effect.map(Effect.runtime<never>(), (runtime) => {
      const ask: Egress["Type"]["ask"] = ({ url }, _, done) => {
        sent.push(url)
        onSend.run(url)
        if (url.includes("hang")) return () => void aborted.push(url)
        const answer = Effect.sync(() => done({ status: 200, headers: [], body: Buffer.from(url), url }))
        const answering = Runtime.runFork(runtime)(
          answerAfter === undefined ? answer : Effect.delay(answer, answerAfter)
        )
        return () => answering.unsafeInterruptAsFork(FiberId.none)
      }
      return Layer.mock(Egress, { ask })
    })
  )

  const ports = Layer.mergeAll(
    Layer.succeed(Journal, store.journal),
    Layer.succeed(Runs, store.table),
    ByteLedger.layer({ bytes: 2 ** 28 }),
    Layer.succeed(EventStream, store.stream),
    Layer.succeed(EventDispatch, { dispatchLeased: () => Effect.void }),
    Layer.succeed(Sandbox, guestHost.sandbox),
    Layer.succeed(Digests, makeDigests({ pepper: Redacted.make("a pepper of at least 32 characters") })),
    Layer.succeed(Identifiers, makeIdentifiers()),
    node,
    NodeStarts.local,
    egress,
    Layer.succeed(EndpointSubscriptions, { subscribed, cached: () => undefined }),
    Layer.mock(Runnables, {
      version: (organisationId) =>
        Effect.succeed(runnable({ organisationId, script: scripts.get(organisationId) ?? "main" }))
    }),
    Layer.mock(Sharding.Sharding, {
      makeClient: () => Effect.succeed(() => elsewhere()),
      getShardId: () => elsewhere(),
      hasShardId: () => true
    }),
    Layer.succeed(IntakeLoad, { begin: () => undefined, end: () => undefined, comesFirst: () => false }),
    Layer.mock(Computations, {}),
    Layer.mock(Patterns, { _tag: "svc/Patterns" }),
    Layer.mock(ConnectedCalls, {}),
    Layer.mock(UnifiedRecords, {}),
    Layer.mock(ConnectionReads, {}),
    Layer.mock(Connectors, {}),
    Layer.mock(KeyValues, {}),
    Layer.mock(RunApprovals, {}),
    Layer.mock(SyncReports, {}),
    Layer.mock(OrganisationReads, {}),
    Layer.mock(Records, {}),
    Layer.mock(RunNotifications, {}),
    Layer.mock(RunReads, {}),
    Layer.mock(WorkspaceDb, {}),
    Wakeups.layer
  )
  const live = RunPlaces.layer.pipe(Layer.provideMerge(ports))
  const layer = Layer.merge(ExecutionsLive.layer({ slots }), Sweep.layer({ slots })).pipe(Layer.provideMerge(live))

  return { ...store, guestHost, sent, aborted, onSend, scripts, layer }
}

const elsewhere = () => {
  throw new Error("this node holds every shard: it has no messages to send")
}

/** Advances the test clock until the condition holds. Fails after 1,000 steps. */
export const passUntil = (condition: () => boolean, step: Duration.DurationInput = "100 millis") =>
  Effect.gen(function* () {
    for (let n = 0; n < 1_000; n++) {
      if (condition()) return
      yield* TestClock.adjust(step)
    }
    return assert.fail(`not within a thousand steps of ${Duration.toMillis(step)} ms`)
  })
