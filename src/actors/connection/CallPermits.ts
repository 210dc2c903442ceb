/** Permits of the limits that a connector declares of its provider. Times are Unix milliseconds. */
import { Context, type Effect } from "effect"
import type { CallLimits, ProviderQuota } from "../../domain/connection/CallLimits.js"
import type { ConnectionId } from "../../domain/Ids.js"
import type { CommandRefusal } from "./Protocol.js"

/** The permits of one limit, on this node. */
export interface CallPermits {
  readonly limits: CallLimits
  /** A permit, or the time of the next free one; `undefined`: nothing is leased, call `fetch` first. */
  readonly take: (now: number) => { readonly lease: string } | { readonly at: number } | undefined
  /** Leases calls. Other callers may take them first, so `take` may still return `undefined` afterwards. */
  readonly fetch: (timeoutMillis: number) => Effect.Effect<void, CommandRefusal>
  /** Ends a call under this lease, also one that another node leased. */
  readonly settle: (lease: string, reading: ProviderQuota | null, now: number) => Effect.Effect<void>
}

export class Permits extends Context.Tag("svc/connection/Permits")<
  Permits,
  {
    /** Of a limit that the provider counts over all connections of a connector. */
    readonly shared: (organisation: string, connector: string, limits: CallLimits) => CallPermits
    /** Of a limit that the provider counts for each connection. For its owner, which keeps them. */
    readonly own: (organisation: string, connection: ConnectionId, limits: CallLimits) => CallPermits
  }
>() {}
