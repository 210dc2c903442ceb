/** The result of a turn that was sent to a runner. */
import type { GuestOutput } from "../../actors/ports/run/Sandbox.js"
import type { TurnFailure } from "./runner/Protocol.js"

export type TurnAnswer =
  | {
      readonly tag: "Turn"
      readonly outputs: ReadonlyArray<ReadonlyArray<GuestOutput>>
      readonly ended: boolean
      readonly cpuMillis: number
      readonly memoryBytes: number
    }
  | TurnFailure
  /** `wasAtWork`: the runner was working on this guest, or about to. */
  | { readonly tag: "RunnerDied"; readonly wasAtWork: boolean }
