/** The turns of a run's guest: its start, the replay of its journal, the results that it is fed, and its loss. */
import { Duration } from "effect"
import { ownerOfRun } from "../../../domain/share/ShareOwner.js"
import { buildHistory, indexEntries, type IndexedEntry } from "../../../domain/run/RunJournal.js"
import type { GuestEvent, SessionLost, Turn, TurnAnswer } from "../../ports/run/Sandbox.js"
import { type GuestLosses, isPoison, noLosses, pauseAfter, withLoss } from "../guest/GuestLosses.js"
import { Progress } from "../Progress.js"
import { poisonedError, sandboxError } from "../RunErrors.js"
import type { RunSpec } from "../RunSpec.js"
import type { MachineState } from "./MachineState.js"
import type { MachineCommand, ReplayedResult } from "./Messages.js"
import { absorbTurn } from "./Recording.js"
import { Replay } from "./Replay.js"

export class GuestTurns {
  private losses: GuestLosses = noLosses

  constructor(private readonly machine: MachineState) {}

  /** Starts the guest, and replays the run's history. */
  open(): void {
    this.machine.commitAhead()
    this.readPage(new Replay(this.machine.progress))
  }

  /** Feeds results to the guest, which computes until it waits again. */
  feed(events: ReadonlyArray<GuestEvent>): void {
    this.machine.commitAhead()
    if (this.machine.progress.needsMark)
      return this.machine.ask({ _tag: "MarkComputing" }, "Marked", () => this.compute(events))
    this.compute(events)
  }

  reopen(spec: RunSpec): void {
    this.replace(new Progress(spec, this.machine.parts.progress))
  }

  private replace(progress: Progress): void {
    this.machine.emit({ _tag: "CloseGuest" })
    this.machine.progress = progress
    this.open()
  }

  private compute(events: ReadonlyArray<GuestEvent>): void {
    const p = this.machine.progress
    this.turn({ _tag: "Feed", events }, (turn) => {
      p.addUsage(turn, false)
      this.machine.work(absorbTurn(p, turn, events), () => this.machine.goOn())
    })
  }

  private turn(command: MachineCommand, next: (turn: Turn) => void): void {
    this.machine.ask(command, "Turned", ({ answer }) => this.ifTurned(answer, next))
  }

  private ifTurned(answer: TurnAnswer, next: (turn: Turn) => void): void {
    if (answer._tag === "Turn") return next(answer)
    if (answer._tag === "SessionLost") this.restart(answer)
    else this.machine.fail(sandboxError(answer))
  }

  // --- Replay ---

  private readPage(replay: Replay): void {
    if (replay.page.length === 0) return this.feedPage(replay, [])
    const { next, page } = replay
    this.machine.ask({ _tag: "ReadPage", page, next }, "PageRead", ({ results }) => this.feedPage(replay, results))
  }

  private feedPage(replay: Replay, results: ReadonlyArray<ReplayedResult>): void {
    const { parts, progress: p } = this.machine
    const secrets = replay.isFirst ? [...(p.spec.start.hidden ?? [])] : []
    const events = replay.eventsOf(results, (text) => secrets.push(text))
    if ("message" in events) return this.machine.fail(events)
    const hideAll = function* (): Generator<void, void> {
      for (const secret of secrets) yield* p.redaction.hide(secret)
    }
    this.machine.work(hideAll(), () => {
      const started = replay.isFirst ? [parts.startEvent(p.spec), ...events] : events
      const command: MachineCommand = replay.isFirst
        ? { _tag: "StartGuest", program: programOf(p), events: started }
        : { _tag: "Feed", events }
      this.turn(command, (turn) => this.takePage(replay, turn))
    })
  }

  private takePage(replay: Replay, turn: Turn): void {
    this.machine.progress.addUsage(turn, replay.isReplay)
    this.machine.work(replay.take(turn.outputs), (error) => {
      if (error !== undefined) this.machine.fail(error)
      else if (replay.isOver) this.replayed()
      else this.readPage(replay)
    })
  }

  /** The steps of a resumed run that it has not made itself are those of its parent. */
  private replayed(): void {
    const { progress: p } = this.machine
    if (!p.earlier.isTakenOver(p.run)) return this.machine.goOn()
    const open = [...p.calls.values()].map(({ row }) => row)
    this.machine.ask({ _tag: "TakeOverSteps", rows: p.rowCount, open }, "StepsTakenOver", () => this.machine.goOn())
  }

  // --- Loss ---

  /** Starts a lost guest again and replays it, after a back-off; its calls in flight go on meanwhile. */
  private restart(lost: SessionLost): void {
    const { machine } = this
    const p = machine.progress
    this.losses = withLoss(this.losses, lost, p.hasAdvanced)
    if (isPoison(this.losses)) return machine.fail(poisonedError(this.losses.deaths))
    if (!p.hasRow) return this.replay(indexEntries(p.unwrittenEntries, 1))
    machine.commits.flush(p, () =>
      machine.ask({ _tag: "ReadIndex" }, "IndexRead", ({ index }) => this.replay(index.rest))
    )
  }

  private replay(rest: ReadonlyArray<IndexedEntry>): void {
    const { machine } = this
    const { progress: lost } = machine
    const reopen = (): void => {
      // During a pause the start may have been committed.
      const { callsOfLostGuest, hasRow, inFlight, journalBytes, run, spec } = lost
      const next = new Progress(
        {
          ...spec,
          run,
          hasRow,
          history: buildHistory(spec.start, rest),
          nextSeq: rest.length + 1,
          journalBytes,
          alone: spec.alone === true || this.losses.deaths > 0
        },
        machine.parts.progress
      )
      for (const [id, call] of [...callsOfLostGuest, ...inFlight]) next.callsOfLostGuest.set(id, call)
      if (!hasRow) next.adopt(lost)
      this.replace(next)
    }
    const pause = pauseAfter(this.losses)
    if (pause === undefined) reopen()
    else machine.ask({ _tag: "Pause", until: machine.now + Duration.toMillis(pause) }, "Woken", reopen)
  }
}

const programOf = ({ program, run, spec }: Progress) => ({
  key: program,
  script: spec.runnable.script,
  owner: ownerOfRun(run),
  engine: run.engine,
  alone: spec.alone === true
})
