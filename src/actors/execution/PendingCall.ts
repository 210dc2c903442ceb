/** A host call of a run that has not ended, and how a guest's code ended. */
import { boundSlug } from "../../domain/connector/Binding.js"
import type { RunError } from "../../domain/run/Execution.js"
import type { Json } from "../../domain/Json.js"
import type { Runnable } from "../ports/run/Runnables.js"
import type { GuestOutput } from "../ports/run/Sandbox.js"
import type { CallNotes } from "./calls/HostCall.js"
import { callStep } from "./trace/StepTrace.js"
import type { CallStep } from "./trace/Trace.js"

/** A host call that has not ended. */
export interface PendingCall {
  readonly id: number
  readonly name: string
  /** Its name in the trace: `name`, with the connector's slug in its canonical spelling. */
  readonly step: string
  /** Number of earlier calls of the same step. */
  readonly nth: number
  /** Its row in the trace. */
  readonly row: number
  /** The step that it is; or the step that makes it, with its number among the step's calls: `sync[3].send|0`. */
  readonly place: string | undefined
  /** Its step as the trace shows it; `undefined` outside of steps. */
  readonly inStep: CallStep | undefined
  readonly args: ReadonlyArray<Json>
  /** Hash of name and arguments; a replay must make the call with the same one. */
  readonly hash: string
  /** Characters of its arguments as JSON. */
  readonly size: number
  /** The sandbox left its arguments out because they nest too deep. */
  readonly tooDeep: boolean
  startedAt: number
  /** Its step was written to the trace as running. */
  isShown: boolean
  readonly notes: CallNotes
}

/** What the workflow returned or threw. */
export type GuestEnd =
  | {
      readonly ok: true
      readonly value: Json
      /** Of the answer; `undefined`: the surface's own. */
      readonly status?: number | undefined
      /** A step has failed, and the flow went on. */
      readonly continued?: boolean
    }
  | {
      readonly ok: false
      readonly error: RunError
      /** What the caller of a failed flow is answered. */
      readonly reply?: { readonly status: number; readonly body: Json } | undefined
    }

/** The name of a call in the trace. `bindings`: the connectors of the workflow's version. */
export const tracedName = (name: string, bindings: Runnable["bindings"]): string => {
  const [root, connector, ...action] = name.split(".")
  if (root !== "connector" || connector === undefined || action.length === 0) return name
  return ["connector", boundSlug(bindings, connector, action.join(".")), ...action].join(".")
}

/** The call that a guest asked for. `nth`: number of earlier calls of the same step. */
export const pendingCall = (
  output: Extract<GuestOutput, { t: "call" }>,
  step: string,
  nth: number,
  hash: (text: string) => string
): PendingCall => {
  const { args, id, n = 0, name, p, r = id, tooDeep } = output
  const text = JSON.stringify(args)
  return {
    id,
    name,
    step,
    nth,
    row: r,
    place: p === undefined || output.own !== undefined ? p : `${p}|${n}`,
    inStep: callStep(output),
    args,
    hash: hash(`${name}\u0000${text}`),
    size: text.length,
    tooDeep: tooDeep === true,
    startedAt: 0,
    isShown: false,
    notes: { earlierAttempts: 0, attempts: [], actionVersion: null, isMocked: false }
  }
}
