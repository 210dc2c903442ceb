/**
 * Counts how often the guest of a run was lost in one activation. Only a process that died while it worked on this guest
 * counts against the run; other losses delay its restart once they repeat without progress.
 */
import { Duration } from "effect"
import { poisonAfter } from "../../../domain/Limits.js"
import type { SessionLost } from "../../ports/run/Sandbox.js"

export interface GuestLosses {
  /** Losses because the process died while it worked on this guest. */
  readonly deaths: number
  /** Losses since the run last journaled something. */
  readonly lossesInARow: number
}

export const noLosses: GuestLosses = { deaths: 0, lossesInARow: 0 }

const lossesWithoutPause = 3
const firstPause = Duration.millis(10)
const longestPause = Duration.seconds(5)

/** Counts a further loss. `hasAdvanced`: the run journaled something since the last one, which ends the losses in a row. */
export const withLoss = (losses: GuestLosses, { reason }: SessionLost, hasAdvanced: boolean): GuestLosses => ({
  deaths: losses.deaths + (reason === "diedAtWork" ? 1 : 0),
  lossesInARow: hasAdvanced ? 0 : losses.lossesInARow + 1
})

/** Whether the run has killed its process too often to be tried again. */
export const isPoison = ({ deaths }: GuestLosses): boolean => deaths >= poisonAfter

/** Back-off before the guest is started again; `undefined`: at once. */
export const pauseAfter = ({ lossesInARow }: GuestLosses): Duration.Duration | undefined =>
  lossesInARow <= lossesWithoutPause
    ? undefined
    : Duration.min(longestPause, Duration.times(firstPause, 2 ** lossesInARow))
