/** All host calls: decides from a call's name and arguments what it does, and of which kind it is. Makes no call itself. */
import { Effect, Option, Redacted } from "effect"
import { isSecretMember } from "../../../domain/access/SecretNames.js"
import { madeUp } from "../../../domain/connector/Mocking.js"
import type { Json } from "../../../domain/Json.js"
import { type Reader, RunReads, type SecretReference, type SecretValue } from "../../ports/run/RunReads.js"
import { approvalCall, makeApprovalCalls } from "./ApprovalCalls.js"
import { makeConnectorCalls } from "./ConnectorCalls.js"
import { makeDbCalls } from "./DbCalls.js"
import { makeDiffCalls } from "./DiffCalls.js"
import { makeFetchCalls } from "./FetchCalls.js"
import {
  failure,
  type HostCall,
  type HostCallResult,
  type HostRequest,
  refusedCall,
  unavailableFailure
} from "./HostCall.js"
import { makeNotifyCalls } from "./NotifyCalls.js"
import { makeStateCalls } from "./StateCalls.js"
import { makeUnifiedCalls } from "./UnifiedCalls.js"
import type { JournalUnavailable } from "../../ports/run/Journal.js"
import type { RunSpec } from "../RunSpec.js"

/** The value of a secret for the guest; a JSON secret is parsed. */
export const secretResult = (found: SecretValue): HostCallResult => {
  const text = Redacted.value(found.value)
  return {
    value: found.type === "json" ? parseJson(text) : text,
    secret: { secretId: found.secretId, number: found.number, text }
  }
}

/** The text was checked to be JSON when the secret was stored. */
const parseJson = (text: string): Json => JSON.parse(text)

/** Calls that have no effect, or that a rehearsal answers itself. */
const rehearsedCalls = new Set([
  "secrets.get",
  "envConfig.get",
  "state.get",
  "notify.send",
  "diff.compare",
  approvalCall
])

const isRecordCall = (name: string): boolean => name.startsWith("unified.") || name.startsWith("cdm.")

const isRehearsed = (name: string): boolean =>
  rehearsedCalls.has(name) || name.startsWith("connector.") || isRecordCall(name)

/** Makes the table of all host calls. */
export const make = Effect.gen(function* () {
  const reads = yield* RunReads
  const fetch = yield* makeFetchCalls
  const state = yield* makeStateCalls
  const db = yield* makeDbCalls
  const notify = yield* makeNotifyCalls
  const approval = yield* makeApprovalCalls
  const diff = yield* makeDiffCalls
  const connector = yield* makeConnectorCalls
  const unified = yield* makeUnifiedCalls

  const reader = ({ run, runnable }: RunSpec): Reader => ({
    organisationId: run.organisationId,
    spaceId: run.spaceId,
    workflowId: runnable.workflowId,
    customerId: run.customerId,
    installationId: run.record.installationId,
    environment: run.record.environment
  })

  // --- Secrets and configuration ---

  const isMocked = ({ start }: RunSpec): boolean => start.mocking?.mode === "full"

  const planSecret = ({ args, spec }: HostRequest): HostCall => {
    const name = args[0]
    if (typeof name !== "string") return refusedCall(failure("TypeError", "svc.secrets.get takes the name of a secret"))
    return {
      _tag: "Read",
      run: reads.secret(reader(spec), name).pipe(
        Effect.mapError(unavailableFailure),
        // A secret outside the scope of the run's key is reported like one that does not exist.
        Effect.map(Option.filter(({ secretId }) => spec.start.reach?.secrets?.includes(secretId) !== false)),
        Effect.flatMap(
          Option.match({
            onNone: () =>
              Effect.fail(
                failure(
                  "SecretNotFound",
                  `there is no secret ${name} for this run: create it with POST /api/v1/secrets`,
                  "code",
                  { code: "SecretNotFound" }
                )
              ),
            onSome: (found) => {
              const result = secretResult(found)
              return Effect.succeed(isMocked(spec) ? { value: madeUp(name, result.value) } : result)
            }
          })
        )
      )
    }
  }

  const planSetting = ({ args, spec }: HostRequest): HostCall => {
    const key = args[0]
    if (typeof key !== "string") return refusedCall(failure("TypeError", "svc.envConfig.get takes the name of a value"))
    return {
      _tag: "Read",
      run: reads.setting(reader(spec), `env.${key}`).pipe(
        Effect.map((found) => ({
          value: Option.match(found, {
            onNone: () => args[1] ?? null,
            onSome: (value) => (isMocked(spec) && isSecretMember(key) ? madeUp(key, value) : value)
          })
        })),
        Effect.mapError(unavailableFailure)
      )
    }
  }

  // --- svc.sync ---

  const refuseSync = (name: string): HostCall =>
    refusedCall(
      failure(
        "NotAvailable",
        `svc.${name}: this release keeps no records in sync; compare them with svc.diff.compare, and write what differs with svc.unified or svc.cdm`,
        "code",
        { code: "NOT_AVAILABLE" }
      )
    )

  // --- All calls ---

  const planners: Record<string, (request: HostRequest, now: number) => HostCall> = {
    "secrets.get": planSecret,
    "envConfig.get": planSetting,
    ...fetch,
    ...state.calls,
    ...db,
    ...notify,
    ...approval,
    ...diff
  }

  /** Calls that the prelude makes; a workflow cannot name them, so that errors do not list them. */
  const internalCalls = new Set(["db.begin", "db.commit", "db.rollback"])

  const refuseUnknown = (name: string): HostCall =>
    refusedCall(
      failure(
        "TypeError",
        `svc.${name} does not exist; a workflow has ${Object.keys(planners)
          .filter((call) => call.includes(".") && !internalCalls.has(call))
          .map((call) => `svc.${call}`)
          .join(", ")} and fetch`
      )
    )

  /** Decides what a call does, without doing it. `now`: Unix milliseconds. */
  const plan = (request: HostRequest, now: number): HostCall => {
    if (request.spec.start.mocking?.isRehearsal === true && !isRehearsed(request.name))
      return refusedCall(
        failure(
          "NotMocked",
          `${request.name}: this run makes no call that could have an effect: test the step with mock none`,
          "code",
          { code: "NO_MOCK" }
        )
      )
    const planner = Object.hasOwn(planners, request.name) ? planners[request.name] : undefined
    if (planner !== undefined) return planner(request, now)
    if (request.name.startsWith("connector.")) return connector.plan(request)
    if (isRecordCall(request.name)) return unified.plan(request)
    return request.name.startsWith("sync.") ? refuseSync(request.name) : refuseUnknown(request.name)
  }

  /** The value of a secret that the journal refers to; `None` when the secret is gone. */
  const secretAt = (
    spec: RunSpec,
    reference: SecretReference
  ): Effect.Effect<Option.Option<HostCallResult>, JournalUnavailable> =>
    Effect.map(reads.secretAt(spec.run.organisationId, reference), Option.map(secretResult))

  return { plan, secretAt }
})

/** What `make` returns: plans host calls, and reads journaled secrets. */
export type HostCalls = Effect.Effect.Success<typeof make>
