/**
 * Where workflow code runs: a guest that holds no host function. It is given one event at a time and
 * answers with what it asks for, as data; whoever drives it decides what to do and feeds the results back.
 * The same events in the same order always produce the same outputs, which is what makes replay possible.
 */
import type { Effect } from "effect"
import { Context, Data } from "effect"
import type { Json } from "../../domain/Json.js"

/** Code ready to run. `key` names tenant and content: instances are reused for the same key only. */
export interface Program {
  readonly key: string
  /** A script that sets `globalThis.__workflow` to the workflow's function. */
  readonly script: string
  /** Which of the carried engines it began on; absent, the current one. */
  readonly engine?: string
  /** Runs in a process that no other guest shares: it is suspected of ending the one that it runs in. */
  readonly alone?: boolean
}

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

export type LogLevel = "debug" | "info" | "warn" | "error"

export type GuestOutput =
  /** A host call, numbered from 0 in the order in which the guest made them. `name` is a path such as `connector.crm.list`. */
  | {
      readonly t: "call"
      readonly id: number
      readonly name: string
      readonly args: ReadonlyArray<Json>
      /** The arguments nest deeper than a call's may, and are left out. */
      readonly tooDeep?: true
    }
  | { readonly t: "log"; readonly level: LogLevel; readonly m: string }
  | { readonly t: "ret"; readonly v: Json }
  /** What the workflow threw. `e` keeps name, message, code, stack, and the data of a failed host call. */
  | { readonly t: "throw"; readonly e: GuestError & { readonly stack?: string } }

/** What feeding events led to: the outputs of each event, in order, and what it cost. */
export interface Turn {
  readonly session: GuestSession
  readonly outputs: ReadonlyArray<ReadonlyArray<GuestOutput>>
  readonly cpuMillis: number
  readonly memoryBytes: number
}

/** One live guest. Feed it from one fiber at a time. */
export interface GuestSession {
  /** Delivers the events one after the other; stops early once the workflow has ended. */
  readonly feed: (events: ReadonlyArray<GuestEvent>) => Effect.Effect<Turn, SandboxFailure>
  /** Gives the guest back. May be called at any time and more than once. */
  readonly close: Effect.Effect<void>
}

/** The guest asked for more memory than it may have. */
export class OutOfMemory extends Data.TaggedError("OutOfMemory")<{ readonly limitBytes: number }> {}
/** The guest computed longer than it may, or hung inside a built-in and had to be killed. */
export class CpuLimit extends Data.TaggedError("CpuLimit")<{ readonly limitMillis: number }> {}
/** The guest's output is larger than a workflow may return or ask. */
export class OutputTooLarge extends Data.TaggedError("OutputTooLarge")<{ readonly limitBytes: number }> {}

/** What it said in one step holds more values than may be handled at once; an object or an array counts five. */
export class TooManyValues extends Data.TaggedError("TooManyValues")<{ readonly limit: number }> {}
/** The code failed while it was loaded, before any event. */
export class LoadFailed extends Data.TaggedError("LoadFailed")<{ readonly name: string; readonly message: string }> {}
/**
 * The guest is gone: its process died, or its place was needed. Replay it. `diedAtWork`: its process died while it worked on
 * this very guest, which may be the reason.
 */
export class SessionLost extends Data.TaggedError("SessionLost")<{
  readonly reason: "diedAtWork" | "runnerDied" | "evicted" | "closed"
}> {}

export type SandboxFailure = OutOfMemory | CpuLimit | OutputTooLarge | TooManyValues | LoadFailed | SessionLost

/** How well the guest is jailed; anything but `full` is told in `/readyz`. */
export interface JailReport {
  readonly level: "full" | "userNamespace" | "none"
  readonly detail: string
}

export class Sandbox extends Context.Tag("svc/Sandbox")<
  Sandbox,
  {
    /**
     * Starts a guest and feeds it the first event and then `replay`, if any.
     * If the caller is interrupted the guest is given back.
     */
    readonly start: (
      program: Program,
      limits: GuestLimits,
      first: GuestEvent,
      replay?: ReadonlyArray<GuestEvent>
    ) => Effect.Effect<Turn, SandboxFailure>
    readonly jail: Effect.Effect<JailReport>
    /** Identifies wasm, prelude and host protocol: a journal is replayed only by the engine that it was made with. */
    readonly engine: string
    /** Every engine that runs can go on with here, the current one first. */
    readonly engines: ReadonlyArray<string>
  }
>() {}
