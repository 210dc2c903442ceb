/** Accepts runs, inline or into the start queue, and ends them from outside. */
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { decide, evolve, isEnd, type RunEnd, tiers } from "../../domain/Execution.js"
import { InvalidState, NotFound, TooManyRuns, Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { guest, idempotencyLifetime, queueTimeout } from "../../domain/Limits.js"
import { redactMembers } from "../../domain/SecretNames.js"
import type { StartEntry } from "../../domain/RunJournal.js"
import { Executions, type Started, type StartRequest } from "../ports/Executions.js"
import { Faults } from "../ports/Faults.js"
import {
  type AppendFailure,
  type Claim,
  type FinishedRun,
  Journal,
  type OpenRun,
  type RunRecord
} from "../ports/Journal.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Ownership } from "../ports/Ownership.js"
import { Runnables } from "../ports/Runnables.js"
import { Runs } from "../ports/Runs.js"
import { Sandbox } from "../ports/Sandbox.js"
import { callbackDeliveries, finishedRun } from "./RunResult.js"
import { LiveRuns } from "./LiveRuns.js"
import { Execution } from "./Protocol.js"
import { type DriveOutcome, runError, type RunSpec } from "./RunSpec.js"

/** Ids tried until one belongs to a shard that this node holds. */
const idTries = 64

const unavailable = (reason: string) => new Unavailable({ reason, retryAfterSeconds: 1 })

export const layer = (options: { readonly slots: number }) =>
  Layer.effect(
    Executions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const identifiers = yield* Identifiers
      const ownership = yield* Ownership
      const runs = yield* Runs
      const runnables = yield* Runnables
      const sandbox = yield* Sandbox
      const live = yield* LiveRuns
      const execution = yield* Execution.client
      const clock = yield* Effect.clock
      const faults = yield* Faults

      // --- Acceptance ---

      /** An id whose shard this node holds, so that the run needs no message to another node. */
      const ownId = (): ExecutionId => {
        let id = identifiers.next("exec")
        for (let i = 0; i < idTries && !ownership.holds(ownership.shardOf(id)); i++) id = identifiers.next("exec")
        return id
      }

      const ceiling = ({ runnable }: StartRequest): number =>
        Math.min(Duration.toMillis(tiers[runnable.tier].ceiling), runnable.timeoutMillis ?? Infinity)

      const record = (request: StartRequest, id: ExecutionId, shownInput: Json): RunRecord => ({
        workflowName: request.runnable.name,
        workflowVersion: request.runnable.version,
        environment: request.environment,
        customerRef: request.customer?.ref ?? null,
        installationId: request.installation?.id ?? null,
        userId: request.userId,
        trigger: {
          type: request.trigger.type,
          id: null,
          eventId: null,
          keyId: request.trigger.keyId,
          keyName: request.trigger.keyName
        },
        maxAttempts: request.runnable.retry.enabled ? request.runnable.retry.maxAttempts : 1,
        ceilingMillis: ceiling(request),
        parentId: request.parent?.id ?? null,
        rootId: request.parent?.rootId ?? id,
        metadata: request.metadata,
        contentHash: request.runnable.contentHash,
        callbackUrl: request.callback?.url ?? request.runnable.callbackUrl,
        callbackEvents: request.callback?.events ?? null,
        traceparent: request.traceparent,
        ...(request.connections === null ? {} : { connections: request.connections }),
        ...(shownInput === request.input ? {} : { inputRedacted: true })
      })

      /** The run as it is accepted: not started. */
      const pendingRun = (request: StartRequest, id: ExecutionId, now: number): OpenRun => {
        const instant = request.runnable.tier === "instant"
        const input = redactMembers(request.input)
        return {
          id,
          organisationId: request.runnable.organisationId,
          spaceId: request.runnable.spaceId,
          shard: ownership.shardOf(id),
          epoch: 1,
          engine: sandbox.engine,
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
          deadlineAt: now + (instant ? ceiling(request) : Duration.toMillis(queueTimeout)),
          waiting: null,
          createdAt: now,
          startedAt: null,
          record: record(request, id, input),
          input
        }
      }

      const startEntry = (request: StartRequest, now: number): StartEntry => ({
        kind: "start",
        at: now,
        input: request.input,
        headers: request.headers,
        customer: request.customer,
        installation: request.installation,
        connections: request.connections,
        ...(request.reach === undefined ? {} : { reach: request.reach }),
        ...(request.mocking === undefined ? {} : { mocking: request.mocking }),
        script: request.runnable.version === null ? request.runnable.script : null
      })

      const claim = (request: StartRequest, now: number): Claim | undefined =>
        request.idempotency === undefined
          ? undefined
          : {
              scope: "idem",
              key: request.idempotency.key,
              hash: request.idempotency.hash,
              expiresAt: now + Duration.toMillis(idempotencyLifetime)
            }

      const inline = (request: StartRequest, run: OpenRun, start: StartEntry): Effect.Effect<Started, Unavailable> => {
        const taken = claim(request, run.createdAt)
        const spec: RunSpec = {
          run,
          runnable: request.runnable,
          start,
          history: null,
          opened: false,
          nextSeq: 1,
          ...(taken === undefined ? {} : { claim: taken }),
          ...(request.audit === undefined ? {} : { audit: request.audit(run.id) })
        }
        // Whoever asked may go away meanwhile: the run goes on.
        const settled = Effect.async<DriveOutcome>((resume) =>
          live.launch(spec, (outcome) => resume(Effect.succeed(outcome)))
        )
        return Effect.flatMap(settled, (outcome) => answered(run, outcome))
      }

      const answered = (run: OpenRun, outcome: DriveOutcome): Effect.Effect<Started, Unavailable> => {
        switch (outcome._tag) {
          case "Ended":
            return Effect.succeed({ _tag: "Ended", end: outcome.end })
          case "Repeated":
            return Effect.succeed({ _tag: "Repeated", target: targetOf(outcome.target), hash: outcome.hash })
          case "Suspended":
            return Effect.succeed({ _tag: "Accepted", run })
          case "Fenced":
            return Effect.fail(unavailable("the run goes on on another node"))
          case "Unwritten":
            return Effect.fail(unavailable(outcome.reason))
        }
      }

      const queued = (request: StartRequest, run: OpenRun, start: StartEntry): Effect.Effect<Started, Unavailable> => {
        const taken = claim(request, run.createdAt)
        const history = (request.parent?.journal ?? []).map((entry, i) => ({ seq: i + 1, entry }))
        return Effect.zipRight(
          faults.at("parsed"),
          journal.append({
            id: run.id,
            organisationId: run.organisationId,
            spaceId: run.spaceId,
            retention: run.retention,
            epoch: null,
            open: run,
            journal: [{ seq: 0, entry: start }, ...history],
            ...(request.parent === undefined ? {} : { steps: request.parent.steps }),
            enqueue: { notBefore: run.createdAt },
            ...(taken === undefined ? {} : { claim: taken }),
            ...(request.audit === undefined ? {} : { audit: request.audit(run.id) })
          })
        ).pipe(
          Effect.zipLeft(faults.at("committed")),
          Effect.as({ _tag: "Accepted", run } as const),
          Effect.catchTag("ClaimTaken", ({ hash, target }) =>
            Effect.succeed({ _tag: "Repeated", target: targetOf(target), hash } as const)
          ),
          Effect.mapError((error) => unavailable(reasonOf(error)))
        )
      }

      const start: Executions["Type"]["start"] = (request) =>
        Effect.suspend(() => {
          if (request.runnable.version !== null) return accept(request)
          return Effect.zipRight(runnables.keepDraft(request.runnable, request.retention), accept(request))
        })

      const accept: Executions["Type"]["start"] = (request) =>
        Effect.suspend((): ReturnType<Executions["Type"]["start"]> => {
          const now = clock.unsafeCurrentTimeMillis()
          const run = pendingRun(request, ownId(), now)
          const entry = startEntry(request, now)
          if (request.runnable.tier !== "instant" || request.parent !== undefined) return queued(request, run, entry)
          const { concurrentRuns } = request
          if (concurrentRuns !== null && (live.byOrganisation().get(run.organisationId) ?? 0) >= concurrentRuns)
            return Effect.fail(new TooManyRuns({ limit: concurrentRuns }))
          if (live.size() >= options.slots * 4) return Effect.fail(unavailable("this node runs as much as it can"))
          const started = decide(run, { _tag: "Start", at: now })
          return started._tag === "Started" ? inline(request, evolve(run, started), entry) : queued(request, run, entry)
        })

      // --- Ending from outside ---

      const endOf = (run: OpenRun, { status, statusReason }: RunEnd, now: number): FinishedRun =>
        finishedRun(
          run,
          {
            status,
            statusReason,
            output: null,
            at: now,
            error: runError({ name: "Cancelled", category: "cancelled", message: "the run was cancelled" })
          },
          null,
          guest.memoryBytes
        )

      const cancel: Executions["Type"]["cancel"] = Effect.fn("Executions.cancel")(function* (organisation, id, audit) {
        const found = yield* runs.get(organisation, id).pipe(Effect.mapError((error) => unavailable(error.reason)))
        if (Option.isNone(found)) return yield* new NotFound({ what: "execution" })
        const run = found.value
        const event = decide(run, { _tag: "Cancel" })
        if (!isEnd(event))
          return yield* new InvalidState({ state: run.status, message: "the run cannot be cancelled any more" })
        const end = endOf(run, event, yield* Clock.currentTimeMillis)
        const deliveries = callbackDeliveries(end, () => identifiers.next("dlv"))
        yield* journal
          .append({
            id,
            organisationId: organisation,
            spaceId: run.spaceId,
            retention: run.retention,
            epoch: run.epoch,
            end,
            audit,
            deliveries
          })
          .pipe(
            Effect.mapError((error): Unavailable | "moved" =>
              error._tag === "Fenced" ? "moved" : unavailable(reasonOf(error))
            ),
            Effect.catchIf(
              (error): error is "moved" => error === "moved",
              () => new InvalidState({ state: "running", message: "the run moved on meanwhile" })
            )
          )
        yield* live.stop(id, Option.some(end))
        if (!ownership.holds(run.shard)) {
          // Its owner stops at its next append anyway: this only saves it the work until then.
          yield* execution(id)
            .Stop({ status: "cancelled" })
            .pipe(Effect.timeout("1 second"), Effect.sandbox, Effect.ignore, Effect.forkDaemon)
        }
        return end
      })

      /** Between reading and ending, the run may have been taken over: then it is read again. */
      const persistently: Executions["Type"]["cancel"] = (organisation, id, audit) =>
        cancel(organisation, id, audit).pipe(
          Effect.retry({ times: 3, while: (error) => error._tag === "InvalidState" })
        )

      return Executions.of({ start, cancel: persistently, live: Effect.sync(() => live.size()) })
    })
  )

const reasonOf = (error: AppendFailure): string => ("reason" in error ? error.reason : error._tag)

/** A claim of runs always names a run. */
const targetOf = (target: string): ExecutionId => target as ExecutionId
