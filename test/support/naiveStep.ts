/**
 * What tests know of a type of step: how it runs, from the description of flows alone, and how random flows have it. Nothing
 * here is shared with the service.
 */
import type { JsonObject } from "../../src/domain/Json.js"
import type { Interpreter } from "./naiveFlow.js"
import type { Generator, Scope } from "./randomFlows.js"

// oxlint-disable-next-line typescript/no-explicit-any -- Documents and data of any kind.
export type Any = any

export class Failed extends Error {
  /** For each step that may be the first to fail: the calls from which that follows. */
  causes: ReadonlyArray<ReadonlySet<string>> = []
  constructor(
    readonly paths: ReadonlySet<string>,
    message: string,
    readonly isTransient = false
  ) {
    super(message)
  }
}

export interface Env {
  readonly variables: { readonly [name: string]: Any }
  readonly steps: { [name: string]: { readonly output: Any; readonly error: Any } }
  readonly prefix: string
  readonly after: ReadonlySet<string>
  /** The calls of iterations before: once they have ended too, this one has begun. */
  readonly before: ReadonlySet<string>
}

/** A step that runs. */
export interface RunningStep {
  readonly step: Any
  /** The step's settings. */
  readonly config: Any
  readonly env: Env
  /** What its expressions read. */
  readonly scope: Any
  readonly path: string
  /** The names of the steps of its list that do not run. */
  readonly skipped: Set<string>
}

/** Of a type whose steps have steps inside. */
interface NaiveGroup {
  /** The steps inside run once for each item, and are read inside only. */
  readonly isLoop: boolean
  readonly listsOf: (config: Any) => ReadonlyArray<Any>
  /** The steps of its list that it may skip. */
  readonly skips: (config: Any) => ReadonlyArray<string>
  /** What can be read of it: its error has the message of whichever step fails first. */
  readonly members: readonly [string, ...Array<string>]
}

export interface NaiveType {
  /** Steps that together have every setting of the type. */
  readonly complete: ReadonlyArray<JsonObject>
  readonly group?: NaiveGroup
  /** How often random flows have it, compared with the other types. */
  readonly weight: number
  /** The body of a random step. `next`: the name of the step after it. */
  readonly random: (of: Generator, scope: Scope, next: string | undefined) => JsonObject
  /** Bodies that replace that of another step in a changed flow. */
  readonly changes: ReadonlyArray<JsonObject>
  /** Its output. */
  readonly run: (flow: Interpreter, running: RunningStep) => Any
}
