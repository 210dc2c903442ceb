/**
 * How often the guest of a run was lost in one activation. Only deaths of the process while it worked on this guest count
 * against the run; a run that was beside another goes on at once, and after a few losses in vain ever later.
 */
import { Duration } from "effect"
import { poisonAfter } from "../../domain/Limits.js"
import type { SessionLost } from "../ports/Sandbox.js"

export interface GuestLosses {
  /** With the process that worked on it. */
  readonly deaths: number
  /** In a row, without anything written between. */
  readonly inVain: number
}

export const noLosses: GuestLosses = { deaths: 0, inVain: 0 }

const lossesAtOnce = 3
const firstPause = Duration.millis(10)
const longestPause = Duration.seconds(5)

export const withLoss = (losses: GuestLosses, { reason }: SessionLost, hasAdvanced: boolean): GuestLosses => ({
  deaths: losses.deaths + (reason === "diedAtWork" ? 1 : 0),
  inVain: hasAdvanced ? 0 : losses.inVain + 1
})

export const isPoison = ({ deaths }: GuestLosses): boolean => deaths >= poisonAfter

/** How long to wait before the guest is started again; nothing at first. */
export const pauseAfter = ({ inVain }: GuestLosses): Duration.Duration | undefined =>
  inVain <= lossesAtOnce ? undefined : Duration.min(longestPause, Duration.times(firstPause, 2 ** inVain))
