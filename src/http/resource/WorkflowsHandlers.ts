/** Handlers of workflows on surface C. */
import { Effect } from "effect"
import { Workflows } from "../../actors/management/Workflows.js"
import { maxVersionsShown, WorkflowVersions } from "../../actors/management/WorkflowVersions.js"
import { NotFound } from "../../domain/Failure.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

const versionNumber = (text: string): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : new NotFound({ what: "version" })

/** The handlers of `WorkflowsApi`. */
export const WorkflowsLive = groupLayer(ResourceApi, "workflows", (handlers) =>
  Effect.map(Effect.all([Workflows, WorkflowVersions]), ([workflows, versions]) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => workflows.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(workflows.create(exchange, payload)))
      )
      .handle("get", ({ path, urlParams }) => {
        const diagram = urlParams.include?.split(",").includes("diagram") ?? false
        return Effect.flatMap(CurrentExchange, (exchange) => inData(workflows.get(exchange, path.wid, { diagram })))
      })
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(workflows.update(exchange, path.wid, payload)))
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => workflows.remove(exchange, path.wid))
      )
      .handle("publish", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(versions.publish(exchange, path.wid, payload)))
      )
      .handle("archive", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(workflows.archive(exchange, path.wid)))
      )
      .handle("versions", ({ path }) =>
        Effect.map(
          Effect.flatMap(CurrentExchange, (exchange) => versions.list(exchange, path.wid)),
          (data) => ({ data, page: { size: maxVersionsShown, nextCursor: null, hasMore: false } })
        )
      )
      .handle("diff", ({ path }) =>
        Effect.gen(function* () {
          const [from, to] = yield* Effect.all([versionNumber(path.a), versionNumber(path.b)])
          const found = yield* versions.diff(yield* CurrentExchange, path.wid, from, to)
          return { data: { from, to, ...found } }
        })
      )
      .handle("diagram", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* CurrentExchange
          const { contentHash, svg } = yield* workflows.draw(exchange, path.wid)
          exchange.replyHeaders["etag"] = `"${contentHash}"`
          return svg
        })
      )
  )
)
