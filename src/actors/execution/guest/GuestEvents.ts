/** Makes the events that are fed to a guest: its start and the result of each call. */
import { Effect, Option } from "effect"
import type { Json } from "../../../domain/Json.js"
import type { RecordedResult } from "../../../domain/run/RunJournal.js"
import type { Digests } from "../../ports/Digests.js"
import { ChangeRefused } from "../../ports/run/Journal.js"
import type { GuestEvent } from "../../ports/run/Sandbox.js"
import type { HostCalls } from "../calls/HostCalls.js"
import type { Progress } from "../Progress.js"
import { secretGoneError } from "../RunErrors.js"
import { failRun, type RunSpec, type DriveFailure } from "../RunSpec.js"
import type { TimeSlices } from "./TimeSlices.js"

/** Makes the functions that build events; secrets are read through `host`. */
export const makeGuestEvents = (host: HostCalls, digests: Digests["Type"]) => {
  const contextOf = ({ run, start }: RunSpec): Json => ({
    input: start.input,
    headers: start.headers,
    customer: start.customer,
    installation: start.installation === null ? null : { id: start.installation.id, config: start.installation.config },
    ...(start.event === undefined ? {} : { event: { ...start.event } }),
    execution: {
      id: run.id,
      attempt: run.attempt,
      environment: run.record.environment,
      workflowVersion: run.record.workflowVersion
    }
  })

  const startEvent = (spec: RunSpec): GuestEvent => ({
    t: "start",
    now: spec.start.at,
    seed: digests.seed(spec.run.record.rootId),
    ctx: contextOf(spec)
  })

  /** The event of a journaled result. A secret is read again, in the version that the run read first. */
  const eventOf = (
    p: Progress,
    call: number,
    { at, json, ok, secret }: RecordedResult,
    slices: TimeSlices
  ): Effect.Effect<GuestEvent, DriveFailure> => {
    const event = { t: "done", id: call, now: at } as const
    if (secret === undefined) return Effect.succeed({ ...event, ok, json })
    return host.secretAt(p.spec, secret).pipe(
      Effect.catchAll(() => Effect.fail(new ChangeRefused({ reason: "a secret could not be read" }))),
      Effect.flatMap(
        Option.match({
          onNone: () => failRun(secretGoneError),
          onSome: (answer): Effect.Effect<GuestEvent> => {
            const fed: GuestEvent = { ...event, ok: true, v: answer.value }
            return answer.secret === undefined
              ? Effect.succeed(fed)
              : Effect.as(slices.through(p.hiding(answer.secret.text)), fed)
          }
        })
      )
    )
  }

  return { startEvent, eventOf }
}
