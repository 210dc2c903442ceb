/** The journal, counted: what starts and ends passes through it, on every path. */
import { Context, Effect, Layer } from "effect"
import { Journal, type RunChange } from "../../actors/ports/Journal.js"
import { countFinished, countStarted } from "./Metrics.js"

/** Changes that wait for their commit. */
export class JournalDepth extends Context.Tag("svc/JournalDepth")<JournalDepth, () => number>() {}

const committed = ({ end, epoch, open }: RunChange): void => {
  // A run without a row starts with whatever is written of it first.
  if (epoch === null && (open !== undefined || end !== undefined)) countStarted()
  if (end !== undefined) countFinished(end.status)
}

/** The same journal, and how much waits in it. */
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
