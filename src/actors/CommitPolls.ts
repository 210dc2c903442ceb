/** Looks for what was committed, on this node or on another one, while anybody here waits for it. */
import { Duration, Effect } from "effect"
import type { OrganisationId } from "../domain/Ids.js"
import { pollWhenWoken } from "./PollWhileBusy.js"
import type { Wakeups } from "./ports/run/Wakeups.js"

/** What no node tells is seen after the interval. */
const pace = { interval: Duration.millis(400), gap: Duration.millis(50) }

/**
 * Polls while `poll` returns that anybody waits, and at once after a commit of an organisation whose changes are waited
 * for. Returns the functions that start it and that have it poll at once.
 */
export const pollForCommits = (
  wakeups: Wakeups["Type"],
  isAwaited: (organisation: OrganisationId) => boolean,
  poll: Effect.Effect<boolean>
) =>
  Effect.map(
    pollWhenWoken(
      pace,
      Effect.tap(poll, (isWaiting) => isWaiting && wakeups.noteAwaited())
    ),
    ({ start, wake }) => {
      wakeups.onChanged((changed) => {
        for (const id of changed) if (isAwaited(id)) return wake()
      })
      return {
        wake,
        start: () => {
          wakeups.noteAwaited()
          start()
        }
      }
    }
  )
