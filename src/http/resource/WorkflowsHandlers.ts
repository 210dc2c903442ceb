/** Workflows on surface C. */
import { Effect } from "effect"
import { Workflows } from "../../actors/management/Workflows.js"
import { maxVersionsShown, WorkflowVersions } from "../../actors/management/WorkflowVersions.js"
import { NotFound } from "../../domain/Failure.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

const versionNumber = (text: string): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : new NotFound({ what: "version" })

export const WorkflowsLive = group(ResourceApi, "workflows", (handlers) =>
  Effect.map(Effect.all([Workflows, WorkflowVersions]), ([workflows, versions]) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => workflows.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        Effect.flatMap(Current, (exchange) => inData(workflows.create(exchange, payload)))
      )
      .handle("get", ({ path, urlParams }) => {
        const diagram = urlParams.include?.split(",").includes("diagram") ?? false
        return Effect.flatMap(Current, (exchange) => inData(workflows.get(exchange, path.wid, { diagram })))
      })
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(workflows.update(exchange, path.wid, payload)))
      )
      .handle("delete", ({ path }) => Effect.flatMap(Current, (exchange) => workflows.remove(exchange, path.wid)))
      .handle("publish", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(versions.publish(exchange, path.wid, payload)))
      )
      .handle("archive", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(workflows.archive(exchange, path.wid)))
      )
      .handle("versions", ({ path }) =>
        Effect.map(
          Effect.flatMap(Current, (exchange) => versions.list(exchange, path.wid)),
          (data) => ({ data, page: { size: maxVersionsShown, nextCursor: null, hasMore: false } })
        )
      )
      .handle("diff", ({ path }) =>
        Effect.gen(function* () {
          const [from, to] = yield* Effect.all([versionNumber(path.a), versionNumber(path.b)])
          const found = yield* versions.diff(yield* Current, path.wid, from, to)
          return { data: { from, to, ...found } }
        })
      )
      .handle("diagram", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { contentHash, svg } = yield* workflows.draw(exchange, path.wid)
          exchange.replyHeaders["etag"] = `"${contentHash}"`
          return svg
        })
      )
  )
)
