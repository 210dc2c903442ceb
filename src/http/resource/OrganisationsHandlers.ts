/** Handlers of the organisation and its workspaces on surface C. */
import { Effect } from "effect"
import { Organisations } from "../../actors/management/Organisations.js"
import { Workspaces } from "../../actors/management/Workspaces.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `OrganisationsApi`. */
export const OrganisationsLive = groupLayer(ResourceApi, "organisations", (handlers) =>
  Effect.map(Organisations, (organisations) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => organisations.list(exchange, urlParams))
      )
      .handle("get", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => organisations.get(exchange, path.oid)))
      )
      .handle("update", ({ path, payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => organisations.update(exchange, path.oid, payload)))
      )
  )
)

/** The handlers of `WorkspacesApi`. */
export const WorkspacesLive = groupLayer(ResourceApi, "workspaces", (handlers) =>
  Effect.map(Workspaces, (workspaces) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => workspaces.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => workspaces.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => workspaces.get(exchange, path.spid)))
      )
      .handle("update", ({ path, payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => workspaces.update(exchange, path.spid, payload)))
      )
  )
)
