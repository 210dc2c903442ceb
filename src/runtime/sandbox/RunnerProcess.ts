/**
 * The pool's side of one runner process: sends requests and receives answers. Callbacks instead of effects, for speed:
 * every turn passes here.
 */
import type { Buffer } from "node:buffer"
import type { GuestLimits } from "../../actors/ports/run/Sandbox.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { frame } from "../jail/Frames.js"
import type { Jail } from "../jail/Jail.js"
import { errorName, JailedProcess, type ListenerOptions } from "../jail/JailedProcess.js"
import { LoadedPrograms } from "./LoadedPrograms.js"
import { BegunTurn } from "./BegunTurn.js"
import type { LongTurns } from "./LongTurns.js"
import { readOutputs } from "./OutputReader.js"
import type { PendingTurn, RunnerAnswer } from "./PendingTurns.js"
import {
  type EventText,
  RunnerRequest,
  eventsFrame,
  idFrame,
  type TurnFailure,
  RunnerReply,
  turnFlag,
  turnHeader
} from "./runner/Protocol.js"
import { RunnerTurns } from "./RunnerTurns.js"

/** How long beyond its CPU limit a guest may give no answer before its runner is killed. */
const graceMillis = 500

export interface RunnerProcess {
  readonly pid: number | undefined
  /** The number of turns that are not yet answered. */
  readonly load: () => number
  readonly isAlive: () => boolean
  readonly start: (
    session: number,
    program: { readonly key: string; readonly script: string; readonly owner: ShareOwner },
    limits: GuestLimits,
    events: ReadonlyArray<EventText>,
    onAnswer: (answer: RunnerAnswer) => void
  ) => void
  readonly feed: (
    session: number,
    owner: ShareOwner,
    limits: GuestLimits,
    events: ReadonlyArray<EventText>,
    onAnswer: (answer: RunnerAnswer) => void
  ) => void
  /** Calls `then` once what was sent has left this process, or never will. */
  readonly whenSent: (then: () => void) => void
  readonly close: (session: number) => void
  /** The tenant that delays others here: its turn is long, or most turns of a long queue are its own. */
  readonly busyTenant: () => string | undefined
  /** The tenants whose turns were long on this runner lately. */
  readonly longTurns: LongTurns
  /**
   * Evicts the guests of queued turns that wait for another tenant's turn too long, if `canRunElsewhere`: the run
   * replays on another runner.
   */
  readonly evictWaiting: (canRunElsewhere: (tenant: string) => boolean) => void
  readonly kill: () => void
}

export interface RunnerOptions extends ListenerOptions {
  readonly jail: Jail
  readonly source: Buffer
  readonly wasm: Buffer
  readonly maxLiveGuests: number
  /** The runner has started; `engine` is the identity that it computed. */
  readonly onReady: (engine: string) => void
  /** The process has ended, ready or not. Called once. */
  readonly onGone: (why: string) => void
  /** A turn was queued behind another one. */
  readonly onQueued: () => void
}

export const startRunner = (options: RunnerOptions): RunnerProcess => {
  const begunTurn = new BegunTurn()
  let frames = 0
  const turns = new RunnerTurns(() => begunTurn.read(frames))
  let hungSession: number | undefined

  /** Calls one turn's callback; an exception in it does not affect the other turns. */
  const deliverAnswer = (onAnswer: PendingTurn["onAnswer"], answer: RunnerAnswer): void => {
    try {
      options.onListener?.("answer")
      onAnswer(answer)
    } catch (cause) {
      options.onDefect("answer", cause)
    }
  }

  // --- Answers ---

  const addTurn = (
    session: number,
    owner: ShareOwner,
    limits: GuestLimits,
    onAnswer: (answer: RunnerAnswer) => void
  ): void => {
    turns.add(session, {
      onAnswer,
      limitMillis: limits.cpuPerStepMillis,
      tenant: owner.account,
      askedAt: performance.now()
    })
    jailed.watch()
    // A guest that yielded counts: it may compute long once it goes on.
    if (turns.size > 1) options.onQueued()
  }

  /** Removes the turn that the runner has answered, and returns a function that delivers the answer. */
  const takeTurn = (session: number, cpuMillis?: number): ((answer: RunnerAnswer) => void) => {
    const turn = turns.take(session, cpuMillis)
    return (answer) => {
      if (turn !== undefined) deliverAnswer(turn.onAnswer, answer)
    }
  }

  const onFrame = (kind: number, payload: Buffer): void => {
    frames++
    const session = payload.readUInt32BE(0)
    switch (kind) {
      case RunnerReply.turn: {
        const flags = payload[4] ?? 0
        const cpuMillis = payload.readDoubleBE(5)
        const answer = takeTurn(session, cpuMillis)
        return readOutputs(
          payload.subarray(turnHeader),
          (outputs) =>
            answer({
              tag: "Turn",
              outputs,
              ended: (flags & turnFlag.ended) !== 0,
              cpuMillis,
              memoryBytes: payload.readDoubleBE(13)
            }),
          (cause) => {
            answer({ tag: "RunnerDied", wasAtWork: true })
            jailed.end(`the runner broke the protocol: ${errorName(cause)}`)
          }
        )
      }
      case RunnerReply.failed: {
        const refusal = JSON.parse(payload.toString("utf8", 4)) as TurnFailure
        return takeTurn(session)(refusal)
      }
      case RunnerReply.yielded:
        return turns.yield(session)
      case RunnerReply.begin:
        return turns.begin(session)
      case RunnerReply.ready:
        jailed.markReady()
        return options.onReady(payload.toString("utf8", 4))
      default:
        throw new Error(`the runner sent a frame of unknown kind ${kind}`)
    }
  }

  const evictWaiting = (canRunElsewhere: (tenant: string) => boolean): void => {
    for (const [session, { onAnswer }] of turns.takeMovable(canRunElsewhere)) {
      jailed.send(idFrame(RunnerRequest.close, session))
      deliverAnswer(onAnswer, { tag: "SessionLost", reason: "evicted" })
    }
  }

  // --- The end ---

  const onGone = (why: string): void => {
    const culprit = turns.sessionAtWork()
    const waiting = turns.takeAll()
    begunTurn.close()
    try {
      options.onGone(why)
    } catch (cause) {
      options.onDefect("child", cause)
    }
    for (const [session, { limitMillis, onAnswer }] of waiting) {
      deliverAnswer(
        onAnswer,
        session === hungSession
          ? { tag: "CpuLimit", limit: limitMillis }
          : { tag: "RunnerDied", wasAtWork: session === culprit }
      )
    }
  }

  const jailed = new JailedProcess({
    ...options,
    name: "runner",
    sharedFile: begunTurn.descriptor,
    watch: {
      isBusy: () => turns.size > 0,
      work: () => {
        const id = turns.sessionAtWork()
        if (id === undefined) return undefined
        return { id, startedAt: turns.workStartedAt, allowedMillis: turns.limitOf(id) + graceMillis }
      },
      onHung: ({ id }) => {
        hungSession = id
        jailed.end("a guest hung and its runner was killed")
      }
    },
    onFrame,
    onGone
  })
  const programs = new LoadedPrograms((bytes) => jailed.send(bytes))
  const init = frame(RunnerRequest.init, 4 + options.wasm.length)
  init.writeUInt32BE(options.maxLiveGuests, 5)
  options.wasm.copy(init, 9)
  jailed.send(init)

  return {
    pid: jailed.pid,
    load: () => turns.size,
    isAlive: () => jailed.isAlive,
    start: (session, program, limits, events, onAnswer) => {
      const id = programs.idOf(program.key, program.script)
      addTurn(session, program.owner, limits, onAnswer)
      jailed.send(
        eventsFrame(RunnerRequest.start, [session, id, limits.memoryBytes, Math.ceil(limits.cpuPerStepMillis)], events)
      )
    },
    feed: (session, owner, limits, events, onAnswer) => {
      addTurn(session, owner, limits, onAnswer)
      jailed.send(eventsFrame(RunnerRequest.feed, [session], events))
    },
    whenSent: (then) => jailed.whenSent(then),
    close: (session) => jailed.send(idFrame(RunnerRequest.close, session)),
    busyTenant: () => turns.busyTenant(),
    longTurns: turns.longTurns,
    evictWaiting,
    kill: () => jailed.kill()
  }
}
