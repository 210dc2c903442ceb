/** Handlers of a tenant's events on surface B: the use cases of surface C, for one customer. */
import { Effect } from "effect"
import { EventRecords } from "../../actors/management/EventRecords.js"
import { EventReplays } from "../../actors/management/EventReplays.js"
import { inData } from "../Envelope.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { TenantApi } from "./Api.js"
import { makeAsTenant } from "./TenantCaller.js"

/** The handlers of `TenantEventsApi`. */
export const TenantEventsLive = groupLayer(TenantApi, "tenantEvents", (handlers) =>
  Effect.map(Effect.all([EventRecords, EventReplays, makeAsTenant]), ([events, replays, asTenant]) =>
    handlers
      .handle("list", ({ path, urlParams }) => asTenant(path.tid, (exchange) => events.list(exchange, urlParams)))
      .handle("reconciliation", ({ path, urlParams }) =>
        inData(asTenant(path.tid, (exchange) => events.reconcile(exchange, urlParams)))
      )
      .handle("get", ({ path }) => inData(asTenant(path.tid, (exchange) => events.get(exchange, path.evt))))
      .handle("replay", ({ path, payload }) =>
        inData(asTenant(path.tid, (exchange) => replays.replay(exchange, path.evt, payload)))
      )
  )
)
