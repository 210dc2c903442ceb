/**
 * Reads the results of a journal for a replay, in pages that are counted in the ledger of held bytes: a journal may be
 * larger than the memory, and many runs may be replayed at once.
 */
import { Effect, type Option } from "effect"
import { ownerOfRun } from "../../../domain/share/ShareOwner.js"
import { type IndexedCall, type IndexedResult, partsOf, type RecordedResult } from "../../../domain/run/RunJournal.js"
import { type HeldBytes, takeBytes } from "../../ports/HeldBytes.js"
import type { Journal, JournalUnavailable, OpenRun } from "../../ports/run/Journal.js"

/** Bytes of rows of one page; a larger row is a page of its own. */
const pageBytes = 1024 * 1024
/** A result is held as the text that Postgres sends, in clear, and in the frame for its guest. */
const copies = 3
/** The most that is taken for one page, so that a larger result is not refused. */
const mostBytes = 16 * 1024 * 1024

/** Splits a replay into pages; the first one may be empty. */
export const historyPages = (replay: ReadonlyArray<IndexedCall>): ReadonlyArray<ReadonlyArray<IndexedCall>> =>
  replay.length === 0 ? [[]] : partsOf(replay, pageBytes)

/** Reads the results of a journal in pages, whose bytes the ledger bounds. */
export const makeHistoryReader = (journal: Journal["Type"], ledger: HeldBytes["Type"]) => {
  const read = Effect.fnUntraced(function* ({ id, organisationId }: OpenRun, page: ReadonlyArray<IndexedResult>) {
    const missing = page.flatMap(({ result, seq }) => (result === undefined ? [seq] : []))
    const found = missing.length === 0 ? [] : yield* journal.results(organisationId, id, missing)
    const bySeq = new Map(missing.map((seq, i) => [seq, found[i]]))
    return page.flatMap(({ at, result, seq }): ReadonlyArray<RecordedResult> => {
      const one = result ?? bySeq.get(seq)
      return one === undefined ? [] : [at === undefined ? one : { ...one, at }]
    })
  })

  /**
   * Reads the results of a page, in their order. `hold`: called before any memory is taken, with what gives it back.
   * `waits`: for room, as long as it takes; the replay must hold nothing else then that another one could wait for. Without
   * it the answer is none if there is no room now.
   */
  const open = (
    run: OpenRun,
    page: ReadonlyArray<IndexedResult>,
    hold: (release: () => void) => void,
    waits: boolean
  ): Effect.Effect<Option.Option<ReadonlyArray<RecordedResult>>, JournalUnavailable> =>
    Effect.suspend(() => {
      const results = Effect.asSome(read(run, page))
      const bytes = page.reduce((sum, one) => sum + (one.result === undefined ? one.bytes : 0), 0)
      if (bytes === 0) return results
      const holding = ledger.open(ownerOfRun(run), "journals")
      hold(holding.release)
      const taken = Math.min(bytes * copies, mostBytes)
      if (!waits) return holding.tryTake(taken) ? results : Effect.succeedNone
      return takeBytes(holding, taken).pipe(
        Effect.retry({ while: ({ reason }) => reason === "busy" }),
        Effect.orDie,
        Effect.zipRight(results)
      )
    })

  return { open }
}
