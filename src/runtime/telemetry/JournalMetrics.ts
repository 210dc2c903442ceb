/** Counts starts and ends of runs at the port `Journal`, which every path uses. */
import { Context, Effect, Layer } from "effect"
import { Journal, type RunChange } from "../../actors/ports/Journal.js"
import { countFinished, countStarted } from "./Metrics.js"

/** The number of changes that are not yet committed. */
export class JournalDepth extends Context.Tag("svc/JournalDepth")<JournalDepth, () => number>() {}

const committed = ({ end, epoch, open }: RunChange): void => {
  // A run without a row starts with its first change.
  if (epoch === null && (open !== undefined || end !== undefined)) countStarted()
  if (end !== undefined) countFinished(end.status)
}

/** Wraps a journal so that it counts, and provides its depth. */
export const countJournal = <E, R>(journal: Layer.Layer<Journal, E, R>): Layer.Layer<Journal | JournalDepth, E, R> =>
  Layer.map(journal, (context) => {
    const { append, read } = Context.get(context, Journal)
    let waiting = 0
    const landed = Effect.sync(() => {
      waiting--
    })
    return Context.make(Journal, {
      read,
      append: (change) =>
        Effect.suspend(() => {
          waiting++
          return Effect.ensuring(
            Effect.map(append(change), () => committed(change)),
            landed
          )
        })
    }).pipe(Context.add(JournalDepth, () => waiting))
  })
