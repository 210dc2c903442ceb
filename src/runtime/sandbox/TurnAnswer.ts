/** What a runner answers to a turn that it was asked for. */
import type { GuestOutput } from "../../actors/ports/Sandbox.js"
import type { Refusal } from "./runner/Protocol.js"

export type Answer =
  | {
      readonly tag: "Turn"
      readonly outputs: ReadonlyArray<ReadonlyArray<GuestOutput>>
      readonly ended: boolean
      readonly cpuMillis: number
      readonly memoryBytes: number
    }
  | Refusal
  /** `inHand`: the runner was working on this guest, or about to. */
  | { readonly tag: "RunnerDied"; readonly inHand: boolean }
