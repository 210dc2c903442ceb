/**
 * Answers that come in very many pieces are read in turns: one provider's pieces, however small, never hold the main
 * loop longer than a turn, and an answer in pieces of the usual size never waits.
 */

/** Pieces of one answer that are read in a turn: they take about half a millisecond. */
const piecesPerTurn = 1024

/** Answers that wait for their turn, oldest first. There is one main loop, hence one queue. */
const waiting: Array<() => void> = []
let isScheduled = false

const schedule = (): void => {
  if (isScheduled || waiting.length === 0) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    waiting.shift()?.()
    schedule()
  })
}

export interface ReadingFlow {
  readonly pause: () => void
  /** Called in the answer's turn, also if it has ended meanwhile. */
  readonly resume: () => void
}

/** The turns of one answer. */
export class ReadingTurns {
  private pieces = 0
  /** Whether the answer waits for its turn. */
  isWaiting = false

  constructor(private readonly flow: ReadingFlow) {}

  /** Counts a piece, and lets others read after a turn's worth of them. */
  countPiece(): void {
    this.pieces++
    if (this.pieces < piecesPerTurn || this.isWaiting) return
    this.pieces = 0
    this.isWaiting = true
    this.flow.pause()
    waiting.push(() => {
      this.isWaiting = false
      this.flow.resume()
    })
    schedule()
  }
}
