/** What a runner answers to a turn that it was asked for. */
import type { GuestOutput } from "../../actors/ports/Sandbox.js"
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
  /** `inHand`: the runner was working on this guest, or about to. */
  | { readonly tag: "RunnerDied"; readonly inHand: boolean }
