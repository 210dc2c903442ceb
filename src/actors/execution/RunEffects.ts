/** What a run's machine asks for that needs an effect: reads, state writes, checks and messages. */
import { Effect, Option } from "effect"
import type { Json } from "../../domain/Json.js"
import {
  type CallFailure,
  type DoneEntry,
  type IndexedResult,
  type RecordedResult,
  recordedValue
} from "../../domain/run/RunJournal.js"
import { Digests } from "../ports/Digests.js"
import { HeldBytes } from "../ports/HeldBytes.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Journal, type JournalUnavailable } from "../ports/run/Journal.js"
import { Runs } from "../ports/run/Runs.js"
import { CallPrediction } from "./calls/CallPrediction.js"
import { type CallNotes, failure, type HostCallResult, unavailableFailure } from "./calls/HostCall.js"
import { make as makeHostCalls } from "./calls/HostCalls.js"
import { make as makeEndMessages } from "./EndMessages.js"
import { makeHistoryReader } from "./guest/HistoryPages.js"
import { make as makeOutputCheck } from "./guest/OutputCheck.js"
import { makeStartEvent } from "./guest/StartEvent.js"
import { withoutSecrets } from "./trace/Trace.js"
import { makeCallPlanner, makeKeyOf } from "./machine/Launch.js"
import type { MachineParts } from "./machine/MachineState.js"
import type { MachineCommand, ReplayedResult, StateOutcome } from "./machine/Messages.js"
import type { Progress } from "./Progress.js"
import type { RunSpec } from "./RunSpec.js"

/** Makes the effects of this node's runs, and the functions that their machines share. */
export const make = Effect.gen(function* () {
  const journal = yield* Journal
  const runs = yield* Runs
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const host = yield* makeHostCalls
  const history = makeHistoryReader(journal, yield* HeldBytes)
  const parts: MachineParts = {
    progress: {
      offload: { id: () => identifiers.next("blob"), sha256: digests.sha256Hex },
      hash: (text) => digests.sha256Hex(text).slice(0, 22),
      keyOf: makeKeyOf(digests.sha256Hex)
    },
    planCall: makeCallPlanner(host.plan),
    startEvent: makeStartEvent(digests),
    prediction: new CallPrediction(),
    random: Math.random
  }

  const withSecrets = (spec: RunSpec, results: ReadonlyArray<RecordedResult>) =>
    results.every(({ secret }) => secret === undefined)
      ? Effect.succeed(results.map((result): ReplayedResult => ({ result })))
      : Effect.forEach(results, (result) =>
          result.secret === undefined
            ? Effect.succeed<ReplayedResult>({ result })
            : Effect.map(host.secretAt(spec, result.secret), (secret) => ({ result, secret: Option.getOrNull(secret) }))
        )

  /**
   * Reads the results of a page, and the secrets that they refer to. `hold`: called with what gives their memory back.
   * `waits`: for room; without it the answer is none if there is no room now.
   */
  const page = (
    { run, spec }: Progress,
    calls: ReadonlyArray<IndexedResult>,
    hold: (release: () => void) => void,
    waits: boolean
  ): Effect.Effect<Option.Option<ReadonlyArray<ReplayedResult>>, JournalUnavailable> =>
    Effect.flatMap(
      history.open(run, calls, hold, waits),
      Option.match({
        onNone: () => Effect.succeedNone,
        onSome: (results) => Effect.asSome(withSecrets(spec, results))
      })
    )

  /** The success that an earlier attempt of the run journaled; a secret is read again. */
  const reusedResult = (
    p: Progress,
    call: IndexedResult,
    notes: CallNotes
  ): Effect.Effect<HostCallResult, CallFailure> =>
    Effect.suspend(() => {
      let release = (): void => undefined
      const read = page(p, [call], (held) => void (release = held), true)
      return read.pipe(
        Effect.mapError(unavailableFailure),
        Effect.map(Option.getOrElse((): ReadonlyArray<ReplayedResult> => [])),
        Effect.flatMap(([replayed]) => {
          if (replayed?.secret === null) return Effect.fail(failure("SecretNotFound", "the secret is gone", "code"))
          if (replayed?.result.hidden !== undefined) notes.hidden = replayed.result.hidden
          return Effect.succeed<HostCallResult>(replayed?.secret ?? { value: recordedValue(replayed?.result) })
        }),
        Effect.ensuring(Effect.sync(() => release()))
      )
    })

  /** Marks the run's row before its guest computes. */
  const mark = ({ run, spec }: Progress): Effect.Effect<void, JournalUnavailable> =>
    Effect.map(runs.markComputing(run), () => {
      if (spec.mark !== undefined) spec.mark.isSet = true
    })

  /** Writes state with its row of the journal. */
  const writeState = (
    { redaction, run: { epoch, id } }: Progress,
    { at, call, plan, seq }: Extract<MachineCommand, { readonly _tag: "WriteState" }>
  ): Effect.Effect<StateOutcome> => {
    const entry = (value: Json): DoneEntry => ({
      kind: "done",
      call: call.id,
      hash: call.hash,
      at,
      ok: true,
      ...(call.place === undefined ? {} : { place: call.place }),
      outcome: "ok",
      json: JSON.stringify(value)
    })
    return plan
      .commit({ id, epoch, seq }, entry, (value) => withoutSecrets(value, redaction.scrub))
      .pipe(
        Effect.map((value): StateOutcome => ({ _tag: "Written", value })),
        Effect.catchAll((refused) =>
          Effect.succeed<StateOutcome>(
            refused._tag === "WriteRefused"
              ? { _tag: "Refused", failure: refused.failure }
              : { _tag: "Failed", failure: refused }
          )
        )
      )
  }

  const index = ({ run: { id, organisationId } }: Progress) => journal.index(organisationId, id)
  const { violationOf } = yield* makeOutputCheck
  const { cachedMessagesOf, messagesOf } = yield* makeEndMessages

  const takeOverSteps = (
    { run }: Progress,
    { open, rows }: Extract<MachineCommand, { readonly _tag: "TakeOverSteps" }>
  ) => journal.takeOverSteps(run, rows, open)

  return {
    cachedMessagesOf,
    index,
    mark,
    messagesOf,
    page,
    parts,
    reusedResult,
    takeOverSteps,
    violationOf,
    writeState
  }
})
