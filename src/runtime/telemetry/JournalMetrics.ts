/** Counts starts and ends of runs at the port `Journal`, which every path uses. */
import { Context, Effect, Layer } from "effect"
import { EventJournal } from "../../actors/ports/EventJournal.js"
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
export const countJournal = <E, R>(
  journal: Layer.Layer<Journal | EventJournal, E, R>
): Layer.Layer<Journal | EventJournal | JournalDepth, E, R> =>
  Layer.map(journal, (context) => {
    const { append, ...reads } = Context.get(context, Journal)
    const { append: appendEvent } = Context.get(context, EventJournal)
    let waiting = 0
    const landed = Effect.sync(() => {
      waiting--
    })
    const counted = <A, F>(change: Effect.Effect<A, F>): Effect.Effect<A, F> =>
      Effect.suspend(() => {
        waiting++
        return Effect.ensuring(change, landed)
      })
    return Context.make(Journal, {
      ...reads,
      append: (change) => counted(Effect.map(append(change), () => committed(change)))
    }).pipe(
      Context.add(EventJournal, {
        append: (change) =>
          counted(Effect.tap(appendEvent(change), () => Effect.sync(() => change.runs?.forEach(committed))))
      }),
      Context.add(JournalDepth, () => waiting)
    )
  })
