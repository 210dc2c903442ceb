/**
 * Drives runs: tells a run's machine what happened, and does what it asks. Plain callbacks, since every turn and every call
 * passes here; effects run only where a command needs one, each in a fiber of its own.
 */
import {
  Cause,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberId,
  FiberRef,
  FiberRefs,
  HashMap,
  Option,
  Runtime
} from "effect"
import { BriefMap, BriefSet } from "../../domain/BriefMap.js"
import { guest } from "../../domain/Limits.js"
import type { CallFailure } from "../../domain/run/RunJournal.js"
import { type FaultPoint, Faults, noFaults } from "../ports/Faults.js"
import { AnswerHolding, HeldBytes, type Holding } from "../ports/HeldBytes.js"
import { Ownership } from "../ports/Ownership.js"
import { Journal, type JournalUnavailable } from "../ports/run/Journal.js"
import { type GuestSession, Sandbox, type TurnAnswer } from "../ports/run/Sandbox.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { type CallEnd, failure, type HostCallResult, type Postponement } from "./calls/HostCall.js"
import { ReplayPages } from "./guest/ReplayPages.js"
import { SliceOrder } from "./guest/TimeSlices.js"
import type { MachineCommand, MachineEvent } from "./machine/Messages.js"
import { RunMachine } from "./machine/RunMachine.js"
import type { PendingCall } from "./PendingCall.js"
import type { Progress } from "./Progress.js"
import { make as makeRunEffects } from "./RunEffects.js"
import { type CallAnswer, RunMemory } from "./RunMemory.js"
import type { DriveOutcome, RunSpec } from "./RunSpec.js"
import { ownerOfRun } from "../../domain/share/ShareOwner.js"

/** A run that is driven here. */
export interface DrivenRun {
  readonly progress: Progress
  /** Begins to drive it. */
  readonly begin: () => void
  /** Tells that its start must be committed now, that its deadline has passed, or that an approval of it was decided. */
  readonly signal: (event: "StartOverdue" | "DeadlinePassed" | "ApprovalDecided") => void
  /** Gives up everything that the run does; returns once its calls have ended. The run is not settled. */
  readonly stop: Effect.Effect<void>
}

const guestLimits = { memoryBytes: guest.memoryBytes, cpuPerStepMillis: Duration.toMillis(guest.cpuPerStep) }

/** Gives a new fiber these log annotations. Cheaper than `Effect.annotateLogs`, which also restores the previous ones. */
const withLogFields = (fields: { readonly [name: string]: string }) => {
  let value: HashMap.HashMap<string, unknown> | undefined
  return (refs: FiberRefs.FiberRefs, fiberId: FiberId.Runtime): FiberRefs.FiberRefs => {
    value ??= HashMap.fromIterable(Object.entries(fields))
    return FiberRefs.updateAs(refs, { fiberId, fiberRef: FiberRef.currentLogAnnotations, value })
  }
}

type CallEffect<R = never> = Effect.Effect<HostCallResult, CallFailure | Postponement, R>

/**
 * The call, counted in the holding. It must run in a fiber of its own, which keeps the holding: to restore the context as
 * `Effect.provideService` does takes longer than the rest of the fiber.
 */
const countedIn = (holding: Holding, call: CallEffect<AnswerHolding>): CallEffect =>
  Effect.zipRight(
    FiberRef.update(FiberRef.currentContext, Context.add(AnswerHolding, holding)),
    // The context has what the call needs.
    call as CallEffect
  )

const brokenCall = failure("InternalError", "the service failed while it made this call", "transient")

const endOf = (exit: Exit.Exit<HostCallResult, CallFailure | Postponement>): CallEnd => {
  if (Exit.isSuccess(exit)) return { _tag: "Succeeded", result: exit.value }
  const error = Option.getOrElse(Cause.failureOption(exit.cause), () => brokenCall)
  return "_tag" in error ? error : { _tag: "Failed", failure: error }
}

type CommandOf<Tag extends MachineCommand["_tag"]> = Extract<MachineCommand, { readonly _tag: Tag }>
type RunFiber = Fiber.RuntimeFiber<unknown, unknown>

/** Makes the function that drives runs of this node. */
export const make = Effect.gen(function* () {
  const sandbox = yield* Sandbox
  const wakeups = yield* Wakeups
  const journal = yield* Journal
  const ledger = yield* HeldBytes
  const faults = yield* Faults
  const ownership = yield* Ownership
  const clock = yield* Effect.clock
  const effects = yield* makeRunEffects
  const sliceOrder = new SliceOrder(clock)
  // Runs need no service of the program, of which a call that provides one of its own would copy all.
  const runtime = Runtime.updateContext(yield* Effect.runtime<never>(), () => Context.empty())
  const runFork = Runtime.runFork(runtime)

  class RunDriver implements DrivenRun {
    private readonly machine: RunMachine
    private readonly slices
    private readonly updateRefs
    private readonly memory: RunMemory
    private readonly inbox: Array<MachineEvent> = []
    private isStepping = false
    /** The run is left to others: commands that its machine gave before are dropped. */
    private hasGivenUp = false
    private session: GuestSession | undefined
    /** Functions that give up the calls that are being made. */
    private readonly calls = new BriefMap<PendingCall, () => void>()
    /** Answers what the machine asked. */
    private asked: RunFiber | undefined
    private timer: RunFiber | undefined
    /** Fibers that have not ended. */
    private readonly fibers = new BriefSet<RunFiber>()
    private readonly pages = new ReplayPages(
      (page, hold, waits) => effects.page(this.progress, page, hold, waits),
      (reading) => this.fork(reading, () => undefined)
    )

    constructor(
      spec: RunSpec,
      private readonly settled: (outcome: DriveOutcome) => void
    ) {
      const { id, organisationId } = spec.run
      this.machine = new RunMachine(spec, effects.parts)
      const owner = ownerOfRun(spec.run)
      this.memory = new RunMemory(ledger, owner)
      this.slices = sliceOrder.of(owner)
      this.updateRefs = withLogFields({ organisationId, executionId: id })
    }

    get progress(): Progress {
      return this.machine.progress
    }

    begin(): void {
      this.tell({ _tag: "Begun" })
    }

    signal(event: Parameters<DrivenRun["signal"]>[0]): void {
      this.tell({ _tag: event })
    }

    get stop(): Effect.Effect<void> {
      return Effect.suspend(() => {
        this.tell({ _tag: "Stopped" })
        return Effect.asVoid(Fiber.awaitAll([...this.fibers.values()]))
      })
    }

    /** Tells the machine what happened, and does what it asks, until it waits. */
    private readonly tell = (event: MachineEvent): void => {
      this.inbox.push(event)
      if (this.isStepping) return
      this.isStepping = true
      this.slices.restart()
      try {
        for (let next = this.inbox.shift(); next !== undefined; next = this.inbox.shift())
          for (const command of this.machine.step(next, clock.unsafeCurrentTimeMillis())) this.execute(command)
      } catch (cause) {
        this.die(Cause.die(cause))
      }
      this.isStepping = false
    }

    private execute(command: MachineCommand): void {
      if (this.hasGivenUp) return
      switch (command._tag) {
        case "StartGuest":
          this.session = sandbox.start(command.program, guestLimits, command.events, this.onTurn)
          return this.pages.readAhead(this.session)
        case "Feed":
          this.session?.feed(command.events, this.onTurn)
          return this.pages.readAhead(this.session)
        case "CloseGuest":
          this.pages.drop()
          this.session?.close()
          this.session = undefined
          return
        case "Commit":
          return this.commit(command)
        case "MakeCall":
          return this.makeCall(command)
        case "ReuseResult":
          return this.forkCall(command.call, effects.reusedResult(this.progress, command.entry, command.call.notes))
        case "HoldArguments":
          return this.holdArguments(command.bytes)
        case "Wait":
        case "Pause":
          if (command._tag === "Wait") wakeups.signalSlot()
          return this.wakeAt(command.until)
        case "Continue":
          if (!this.slices.isOver) return void this.inbox.push({ _tag: "Continued" })
          return this.ask(this.slices.yield, () => ({ _tag: "Continued" }))
        case "AbortCall":
          return this.calls.get(command.call)?.()
        case "AbortCalls":
          return this.abort()
        case "Settle":
          return this.settled(command.outcome)
        default:
          return this.askFor(command)
      }
    }

    /** Asks for what needs an effect. */
    private askFor(
      command: CommandOf<
        "TakeOverSteps" | "WriteState" | "ReadPage" | "ReadIndex" | "MarkComputing" | "CheckOutput" | "FindMessages"
      >
    ): void {
      const { progress } = this
      switch (command._tag) {
        case "WriteState":
          return this.ask(effects.writeState(progress, command), (outcome) => ({ _tag: "StateWritten", outcome }))
        case "ReadPage": {
          const read = this.pages.open(command.page, command.next)
          return this.ask(read, (results) => ({ _tag: "PageRead", results }))
        }
        case "TakeOverSteps":
          return this.ask(effects.takeOverSteps(progress, command), () => ({ _tag: "StepsTakenOver" }))
        case "ReadIndex":
          return this.ask(effects.index(progress), (index) => ({ _tag: "IndexRead", index }))
        case "MarkComputing":
          return this.ask(effects.mark(progress), () => ({ _tag: "Marked" }))
        case "CheckOutput":
          return this.ask(effects.violationOf(progress.spec.runnable, command.value), (violation) => ({
            _tag: "OutputChecked",
            violation
          }))
        case "FindMessages": {
          const cached = effects.cachedMessagesOf(command.end)
          if (cached !== undefined) return void this.inbox.push({ _tag: "MessagesFound", messages: cached })
          return this.ask(effects.messagesOf(command.end), (messages) => ({ _tag: "MessagesFound", messages }))
        }
      }
    }

    // --- Effects ---

    private fork<A, E>(effect: Effect.Effect<A, E>, done: (exit: Exit.Exit<A, E>) => void): Fiber.RuntimeFiber<A, E> {
      const fiber = runFork(effect, { updateRefs: this.updateRefs })
      const remove = this.fibers.add(fiber)
      fiber.addObserver((exit) => {
        remove()
        done(exit)
      })
      return fiber
    }

    /** Answers what the machine asked with the result of an effect. */
    private ask<A>(effect: Effect.Effect<A, JournalUnavailable>, answer: (result: A) => MachineEvent): void {
      this.asked = this.fork(effect, (exit) => {
        if (Exit.isSuccess(exit)) return this.tell(answer(exit.value))
        // What was interrupted may have failed as well: a read that others share goes on until its end.
        const failed = Cause.failureOption(exit.cause)
        if (Option.isSome(failed)) this.tell({ _tag: "Unavailable", failure: failed.value })
        else if (!Cause.isInterruptedOnly(exit.cause)) this.die(exit.cause)
      })
    }

    private wakeAt(until: number | undefined): void {
      this.stopTimer()
      if (until === undefined) return
      const millis = Math.max(0, until - clock.unsafeCurrentTimeMillis())
      this.timer = this.fork(Effect.sleep(millis), (exit) => {
        if (Exit.isSuccess(exit)) this.tell({ _tag: "Woken" })
      })
    }

    private stopTimer(): void {
      this.timer?.unsafeInterruptAsFork(FiberId.none)
      this.timer = undefined
    }

    private abort(): void {
      this.stopTimer()
      for (const giveUp of this.calls.values()) giveUp()
      this.calls.clear()
      this.asked?.unsafeInterruptAsFork(FiberId.none)
      this.asked = undefined
      this.pages.drop()
      this.memory.releaseAll()
    }

    /** A bug: the run goes on from its journal, later. */
    private die(cause: Cause.Cause<unknown>): void {
      const { id } = this.progress.run
      runFork(Effect.annotateLogs(Effect.logError("run.driving_failed", cause), { executionId: id }))
      this.giveUp({ _tag: "Unwritten", reason: "an unexpected error; the run goes on" })
    }

    /** Leaves the run to its owner, which may be this node again. */
    private leave(): void {
      this.giveUp({ _tag: "Fenced" })
    }

    private giveUp(outcome: DriveOutcome): void {
      this.hasGivenUp = true
      this.machine.step({ _tag: "Stopped" }, clock.unsafeCurrentTimeMillis())
      this.abort()
      this.session?.close()
      this.settled(outcome)
    }

    /** Goes on with `next` after a point at which a test may kill the process. */
    private at(point: FaultPoint, next: () => void): void {
      if (faults === noFaults) next()
      else this.fork(faults.at(point), next)
    }

    // --- The guest, and commits ---

    private readonly onTurn = (answer: TurnAnswer): void => {
      this.pages.endPage()
      this.tell({ _tag: "Turned", answer })
    }

    private commit({ change, releases }: CommandOf<"Commit">): void {
      const committed = (): void => {
        for (const release of releases) release()
        this.tell({ _tag: "Committed", failure: undefined })
      }
      this.at("beforeAppend", () =>
        journal.commit(change, (failure) => {
          if (failure !== undefined) return this.tell({ _tag: "Committed", failure })
          this.at("appended", change.end === undefined ? committed : () => this.at("terminal", committed))
        })
      )
    }

    // --- Calls ---

    private makeCall({ call, plan }: CommandOf<"MakeCall">): void {
      if (plan._tag === "Read") return this.forkCall(call, plan.run)
      const answer = this.memory.openAnswer()
      const { run } = plan
      this.at("beforeCall", () => {
        // Only a test's fault point takes time, in which the run may have ended.
        if (this.machine.isOver) return
        // This node was frozen, cut off or slow, and another may have the run: its owner goes on with it.
        if (!ownership.owns(this.progress.run.shard)) return this.leave()
        if (typeof run === "function") this.beginCall(call, (done) => run(answer.holding, done), answer)
        else this.forkCall(call, countedIn(answer.holding, run), answer)
      })
    }

    private forkCall(call: PendingCall, effect: CallEffect, answer?: CallAnswer): void {
      const begin = (done: (end: CallEnd) => void) => {
        const fiber = this.fork(effect, (exit) => done(endOf(exit)))
        return () => fiber.unsafeInterruptAsFork(FiberId.none)
      }
      this.beginCall(call, begin, answer)
    }

    /** Begins a call, which calls `done` once. `answer`: what its answer is counted in. */
    private beginCall(
      call: PendingCall,
      begin: (done: (end: CallEnd) => void) => () => void,
      answer: CallAnswer | undefined
    ): void {
      let isOver = false
      const giveUp = begin((end) => {
        if (isOver) return
        isOver = true
        this.calls.delete(call)
        if (end._tag === "Succeeded" && answer !== undefined) this.at("called", () => this.endCall(call, end, answer))
        else this.endCall(call, end, answer)
      })
      if (isOver) return
      this.calls.set(call, () => {
        isOver = true
        this.calls.delete(call)
        giveUp()
        answer?.release()
      })
    }

    private endCall(call: PendingCall, end: CallEnd, answer: CallAnswer | undefined): void {
      if (answer === undefined) return this.tell({ _tag: "CallEnded", call, end })
      const isHeld = end._tag !== "Postponement" && answer.holding.bytes > 0
      if (!isHeld) answer.release()
      const held = isHeld ? { bytes: answer.holding.bytes, release: answer.release } : undefined
      this.tell({ _tag: "CallEnded", call, end, held })
    }

    private holdArguments(bytes: number): void {
      const held = this.memory.holdArguments(bytes)
      if (held === undefined) return void this.inbox.push({ _tag: "ArgumentsHeld", hasRoom: true })
      const result = Effect.match(held, { onSuccess: () => true, onFailure: () => false })
      this.ask(result, (hasRoom) => ({ _tag: "ArgumentsHeld", hasRoom }))
    }
  }

  /** `settled`: called once, unless the run is stopped. */
  return (spec: RunSpec, settled: (outcome: DriveOutcome) => void): DrivenRun => new RunDriver(spec, settled)
})
