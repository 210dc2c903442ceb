/** Makes the events that are fed to a guest: its start and the result of each call. */
import { Effect, Option } from "effect"
import { isObject, type Json } from "../../domain/Json.js"
import type { CallFailure, DoneEntry } from "../../domain/RunJournal.js"
import type { Digests } from "../ports/Digests.js"
import { ChangeRefused } from "../ports/Journal.js"
import type { GuestEvent } from "../ports/Sandbox.js"
import type { HostCalls } from "./HostCalls.js"
import type { Progress } from "./Progress.js"
import { secretGoneError } from "./RunErrors.js"
import { failRun, type RunSpec, type DriveFailure } from "./RunSpec.js"
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

  const fedError = ({ category, code, data, message, name }: CallFailure, step: string) => ({
    name,
    message,
    ...(code === undefined ? {} : { code }),
    data: { ...(isObject(data ?? null) ? (data as object) : {}), category, step }
  })

  /** The event of a journaled result. A secret is read again, in the version that the run read first. */
  const eventOf = (
    p: Progress,
    entry: DoneEntry,
    step: string,
    slices: TimeSlices
  ): Effect.Effect<GuestEvent, DriveFailure> => {
    const event = { t: "done", id: entry.call, now: entry.at } as const
    if (!entry.result.ok) return Effect.succeed({ ...event, ok: false, e: fedError(entry.result.failure, step) })
    if (entry.secret === undefined) return Effect.succeed({ ...event, ok: true, v: entry.result.value })
    return host.secretAt(p.spec, entry.secret).pipe(
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

  return { startEvent, eventOf, fedError }
}
