/** Counts starts and ends of runs at the port `Journal`, which every path uses. */
import { Context, Effect, Layer } from "effect"
import { EventJournal } from "../../actors/ports/event/EventJournal.js"
import { Journal, type RunChange } from "../../actors/ports/run/Journal.js"
import { countFinished, countStarted } from "./Metrics.js"

const committed = ({ end, epoch, open }: RunChange): void => {
  // A run without a row starts with its first change.
  if (epoch === null && (open !== undefined || end !== undefined)) countStarted()
  if (end !== undefined) countFinished(end.status)
}

/** Wraps a journal so that it counts. */
export const countJournal = <O, E, R>(
  journal: Layer.Layer<Journal | EventJournal | O, E, R>
): Layer.Layer<Journal | EventJournal | O, E, R> =>
  Layer.map(journal, (context) => {
    const { append, commit, ...reads } = Context.get(context, Journal)
    const { append: appendEvent } = Context.get(context, EventJournal)
    return context.pipe(
      Context.add(Journal, {
        ...reads,
        append: (change) => Effect.map(append(change), () => committed(change)),
        commit: (change, done) =>
          commit(change, (failure) => {
            if (failure === undefined) committed(change)
            done(failure)
          })
      }),
      Context.add(EventJournal, {
        append: (change) => Effect.tap(appendEvent(change), () => Effect.sync(() => change.runs?.forEach(committed)))
      })
    )
  })
