/** Answers the endpoints of the organisation and its workspaces from their use cases. */
import { Effect } from "effect"
import { Organisations } from "../../actors/management/Organisations.js"
import { Workspaces } from "../../actors/management/Workspaces.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const OrganisationsLive = group(ResourceApi, "organisations", (handlers) =>
  Effect.map(Organisations, (organisations) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => organisations.list(exchange, urlParams)))
      .handle("get", ({ path }) => inData(Effect.flatMap(Current, (exchange) => organisations.get(exchange, path.oid))))
      .handle("update", ({ path, payload }) =>
        inData(Effect.flatMap(Current, (exchange) => organisations.update(exchange, path.oid, payload)))
      )
  )
)

export const WorkspacesLive = group(ResourceApi, "workspaces", (handlers) =>
  Effect.map(Workspaces, (workspaces) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => workspaces.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        inData(Effect.flatMap(Current, (exchange) => workspaces.create(exchange, payload)))
      )
      .handle("get", ({ path }) => inData(Effect.flatMap(Current, (exchange) => workspaces.get(exchange, path.spid))))
      .handle("update", ({ path, payload }) =>
        inData(Effect.flatMap(Current, (exchange) => workspaces.update(exchange, path.spid, payload)))
      )
  )
)
