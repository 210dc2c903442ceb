/**
 * Runs workflow code in a guest without host functions. The guest takes one event at a time and returns its host calls as
 * data; the caller makes them and feeds the results back. The same events in the same order always produce the same
 * outputs, so that a guest can be replayed.
 */
import { type Effect, Context, Data } from "effect"
import type { Json } from "../../../domain/Json.js"
import type { ShareOwner } from "../../../domain/share/ShareOwner.js"

/** Code ready to run. `key` names tenant and content: instances are reused for the same key only. */
export interface Program {
  readonly key: string
  /** A script that sets `globalThis.__workflow` to the workflow's function. */
  readonly script: string
  /** Whose share of the runners and of their memory it uses. */
  readonly owner: ShareOwner
  /** The engine that the run began on; absent: the current one. */
  readonly engine?: string
  /** Runs in a process without other guests, because it is suspected of killing its process. */
  readonly alone?: boolean
}

/** What a guest may use. Beyond it the guest ends with `OutOfMemory` or `CpuLimit`. */
export interface GuestLimits {
  readonly memoryBytes: number
  /** Computing time allowed between two events. */
  readonly cpuPerStepMillis: number
}

/** A failure as the guest sees it: thrown from the call's promise as an Error with these members. */
export interface GuestError {
  readonly name: string
  readonly message: string
  readonly code?: string
  /** Further members of the Error object, e.g. `status`, `body`, `category`. */
  readonly data?: Json
}

/** `now`: Unix milliseconds, the only clock that the guest can read. */
export type GuestEvent =
  | {
      readonly t: "start"
      readonly now: number
      /** Seeds the guest's randomness; four 32-bit numbers. */
      readonly seed: readonly [number, number, number, number]
      readonly ctx: Json
    }
  | { readonly t: "done"; readonly id: number; readonly now: number; readonly ok: true; readonly v: Json }
  | { readonly t: "done"; readonly id: number; readonly now: number; readonly ok: false; readonly e: GuestError }
  /** The same with the value, or the error, as JSON: bytes travel on as they came. */
  | {
      readonly t: "done"
      readonly id: number
      readonly now: number
      readonly ok: boolean
      readonly json: string | Uint8Array
    }

export type LogLevel = "debug" | "info" | "warn" | "error"

/** What a guest tells its host, in its order. */
export type GuestOutput =
  /** A host call, numbered from 0 in the order in which the guest made them. `name` is a path such as `connector.crm.list`. */
  | {
      readonly t: "call"
      readonly id: number
      readonly name: string
      readonly args: ReadonlyArray<Json>
      /** The arguments nest deeper than a call's may, and are left out. */
      readonly tooDeep?: true
      /** Its row in the trace, if it is not its number: rows are numbered over calls and steps. */
      readonly r?: number
      /** Its step with iterations, such as `sync[3].send`, and its number among the calls of the step's attempt. */
      readonly p?: string
      readonly n?: number
      /** The call is the step itself, which has this type and stands in the step `of`. */
      readonly own?: string
      readonly of?: string
      /** Targets of the step's mapping whose expression had no value. */
      readonly z?: ReadonlyArray<string>
    }
  | StepOutput
  /** Gives up calls of lists of steps that a failure has halted: their results reach no code any more. */
  | { readonly t: "cancel"; readonly ids: ReadonlyArray<number> }
  /** The step in whose code the guest stands, with no call that it waits for. */
  | { readonly t: "at"; readonly p: string }
  | { readonly t: "log"; readonly level: LogLevel; readonly m: string }
  /** `status`: of the answer; `continued`: a step has failed, and the flow went on. */
  | { readonly t: "ret"; readonly v: Json; readonly status?: number; readonly continued?: true }
  /**
   * What the workflow threw. `e` keeps name, message, code, stack, and the data of a failed host call; `step`: the path of the
   * flow's step that failed. `reply`: what the caller is answered.
   */
  | {
      readonly t: "throw"
      readonly e: GuestError & { readonly stack?: string; readonly step?: string }
      readonly reply?: { readonly status: number; readonly body: Json }
    }

/** The error of a step or of one of its attempts. */
export interface StepFailure {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly category?: string
}

/** The state of a step that is more than a host call. Repeated in a replay. Times are Unix milliseconds. */
export interface StepOutput {
  readonly t: "step"
  /** Its row in the trace. */
  readonly r: number
  /** Its path with iterations, and that of the step around it. */
  readonly p: string
  readonly of?: string
  /** Its type. */
  readonly k: string
  readonly s: "running" | "completed" | "failed" | "skipped"
  readonly at: number
  /** Its output is what a run that resumes this one takes. */
  readonly keep?: boolean
  /** The output is that of the run which is resumed. */
  readonly reused?: boolean
  /** Its input and its output; or the characters of one that is too large to be shown. */
  readonly i?: Json
  readonly iSize?: number
  readonly v?: Json
  readonly vSize?: number
  /** Its input is its output. */
  readonly same?: true
  readonly e?: StepFailure
  /** Failed attempts. */
  readonly a?: ReadonlyArray<{ readonly at: number; readonly to: number; readonly e: StepFailure }>
  readonly z?: ReadonlyArray<string>
}

/** The outputs of each fed event, in order, and what they cost. */
export interface Turn {
  readonly _tag: "Turn"
  readonly outputs: ReadonlyArray<ReadonlyArray<GuestOutput>>
  readonly cpuMillis: number
  readonly memoryBytes: number
}

/** What comes of the events that a guest was given. */
export type TurnAnswer = Turn | SandboxFailure

/** One live guest. Feed it again only once the turn before is answered. */
export interface GuestSession {
  /**
   * Delivers the events one after the other; stops early once the workflow has ended. Calls `done` once, unless the guest
   * is closed before.
   */
  readonly feed: (events: ReadonlyArray<GuestEvent>, done: (answer: TurnAnswer) => void) => void
  /** Calls `then` once what the guest was given has left this process, or at once if there is nothing to wait for. */
  readonly whenSent: (then: () => void) => void
  /** Gives the guest back. May be called at any time and more than once. */
  readonly close: () => void
}

/** The guest asked for more memory than it may have. */
export class OutOfMemory extends Data.TaggedError("OutOfMemory")<{ readonly limitBytes: number }> {}
/** The guest computed longer than it may, or hung inside a built-in and had to be killed. `step`: the path of the step that did. */
export class CpuLimit extends Data.TaggedError("CpuLimit")<{ readonly limitMillis: number; readonly step?: string }> {}
/** The guest's output is larger than a workflow may return or pass to a host call. */
export class OutputTooLarge extends Data.TaggedError("OutputTooLarge")<{ readonly limitBytes: number }> {}

/** The guest's outputs of one step have too many values; an object or an array counts as five. */
export class TooManyValues extends Data.TaggedError("TooManyValues")<{ readonly limit: number }> {}
/** The code failed while it was loaded, before any event. */
export class LoadFailed extends Data.TaggedError("LoadFailed")<{ readonly name: string; readonly message: string }> {}
/**
 * The guest is gone because its process died or it was evicted: replay it. `diedAtWork`: the process died while it worked
 * on this guest, which may be the cause.
 */
export class SessionLost extends Data.TaggedError("SessionLost")<{
  readonly reason: "diedAtWork" | "runnerDied" | "evicted" | "closed"
}> {}

/** Why a guest ended without a result. After `SessionLost` it can be restored from the journal. */
export type SandboxFailure = OutOfMemory | CpuLimit | OutputTooLarge | TooManyValues | LoadFailed | SessionLost

/** How well the guest is jailed; `/readyz` reports anything but `full`. */
export interface JailReport {
  readonly level: "full" | "userNamespace" | "none"
  readonly detail: string
}

export class Sandbox extends Context.Tag("svc/Sandbox")<
  Sandbox,
  {
    /**
     * Starts a guest and feeds it the events, of which the first is its start. Callbacks instead of effects, for speed:
     * calls `done` once, unless the guest is closed before.
     */
    readonly start: (
      program: Program,
      limits: GuestLimits,
      events: ReadonlyArray<GuestEvent>,
      done: (answer: TurnAnswer) => void
    ) => GuestSession
    readonly jail: Effect.Effect<JailReport>
    /** Identifies wasm, prelude and host protocol: a journal is replayed only by the engine that it was made with. */
    readonly engine: string
    /** All engines that this node has, the current one first. */
    readonly engines: ReadonlyArray<string>
  }
>() {}
