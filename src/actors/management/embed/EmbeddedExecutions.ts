/**
 * The executions that an embed session sees: those of its customer in the default environment, if its widget shows runs.
 * Contract: embed.
 */
import { Effect, Schema } from "effect"
import { Forbidden, NotFound } from "../../../domain/Failure.js"
import { embeddedExecution } from "../../../domain/run/EmbeddedExecution.js"
import { ExecutionStatus } from "../../../domain/run/Execution.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { listParams } from "../Pages.js"
import { ExecutionHistory } from "../run/ExecutionHistory.js"
import { featuresOfSession } from "./SessionWidget.js"

/** Without a search, which looks at what sessions do not see. */
export const EmbeddedExecutionList = Schema.Struct({
  status: Schema.optional(ExecutionStatus),
  page_size: listParams.page_size,
  cursor: listParams.cursor
})
type EmbeddedExecutionList = typeof EmbeddedExecutionList.Type

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const history = yield* ExecutionHistory

  const checkShown = (context: CallContext) =>
    Effect.flatMap(
      read(context, (tx) => featuresOfSession(tx, context.caller)),
      ({ runs }) =>
        runs
          ? Effect.void
          : new Forbidden({
              code: "FORBIDDEN",
              message: "runs are not shown here: the widget of this session does not offer it"
            })
    )

  /** Newest first. */
  const list = (context: CallContext, params: EmbeddedExecutionList) =>
    Effect.zipRight(
      checkShown(context),
      Effect.map(
        history.list(context, { ...params, environment: context.caller.organisation.defaultEnvironment }),
        ({ data, page }) => ({ data: data.map(embeddedExecution), page })
      )
    )

  const get = (context: CallContext, id: string) =>
    Effect.zipRight(
      checkShown(context),
      Effect.flatMap(history.view(context, id), (found) =>
        found.environment === context.caller.organisation.defaultEnvironment
          ? Effect.succeed(embeddedExecution(found))
          : new NotFound({ what: "execution" })
      )
    )

  return { list, get }
})

export class EmbeddedExecutions extends Effect.Service<EmbeddedExecutions>()("svc/EmbeddedExecutions", {
  effect: make
}) {}
