/**
 * Tells which tasks have stored work that is due: one question for all of them, so that an idle node asks once a second,
 * and not once for each task.
 */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../domain/Failure.js"

export class DueTasks extends Context.Tag("svc/DueTasks")<
  DueTasks,
  {
    /** Those of the tasks that have work to look for: of shards of this node, or of no shard. */
    readonly among: (tasks: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, Unavailable>
  }
>() {}
