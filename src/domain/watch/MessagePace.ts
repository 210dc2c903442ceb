/** How many messages of one topic a watch sends: at most ten in any second; one of them tells how many more there were. */
import { watchLimits } from "./WatchTopic.js"

const secondMillis = 1_000
/** Rounds that a second has beside the present one, each of which may send one message. */
const furtherRounds = 2

/** What to send in a round: the first `single` changes alone, and whether the others as a number. */
export interface PacedRound {
  readonly single: number
  readonly isSummed: boolean
}

const nothing: PacedRound = { single: 0, isSummed: false }

/** The pace of one topic. Its times are those of the messages of the last second. */
export class MessagePace {
  private sent: ReadonlyArray<number> = []

  /** Decides about `waiting` changes, and counts what it lets pass. What it lets not pass waits for the next round. */
  next(waiting: number, now: number): PacedRound {
    this.sent = this.sent.filter((at) => now - at < secondMillis)
    const room = watchLimits.messagesPerSecond - this.sent.length
    if (waiting === 0 || room <= 0) return nothing
    const free = Math.max(0, room - furtherRounds)
    const round =
      waiting <= free ? { single: waiting, isSummed: false } : { single: Math.max(0, free - 1), isSummed: true }
    this.sent = [...this.sent, ...Array.from({ length: round.single + (round.isSummed ? 1 : 0) }, () => now)]
    return round
  }
}
