/**
 * Large answers, and those in very many pieces, are read in turns, accounts in turn: many that come at once, however
 * they are cut, never hold the main loop longer than a turn, and a small answer never waits.
 */
import { FairQueue } from "../../domain/share/FairQueue.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"

/** Pieces and bytes of one answer that are read in a turn: they take about half a millisecond. */
const piecesPerTurn = 1024
const bytesPerTurn = 256 * 1024

/** Answers that wait for their turn. There is one main loop, hence one queue. */
const waiting = new FairQueue<() => void>()
let isScheduled = false

const schedule = (): void => {
  if (isScheduled || waiting.size === 0) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    waiting.take()?.()
    schedule()
  })
}

export interface ReadingFlow {
  readonly pause: () => void
  /** Called in the answer's turn, also if it has ended meanwhile. */
  readonly resume: () => void
}

/** The turns of one answer. `owner`: who asked for it. */
export class ReadingTurns {
  private pieces = 0
  private bytes = 0
  /** Whether the answer waits for its turn. */
  isWaiting = false

  constructor(
    private readonly owner: ShareOwner,
    private readonly flow: ReadingFlow
  ) {}

  /** Counts a piece, and lets others read after a turn's worth. */
  countPiece(bytes: number): void {
    this.pieces++
    this.bytes += bytes
    if ((this.pieces < piecesPerTurn && this.bytes < bytesPerTurn) || this.isWaiting) return
    this.pieces = 0
    this.bytes = 0
    this.isWaiting = true
    this.flow.pause()
    waiting.add(this.owner, () => {
      this.isWaiting = false
      this.flow.resume()
    })
    schedule()
  }
}
