/** Limits of the typed RPC. Sizes in bytes. Specification: typed RPC. */
import { Duration } from "effect"
import { bodyBytes } from "../Limits.js"

const MiB = 1_048_576

export const rpcLimits = {
  /** A frame that the service receives; one that calls a provider. */
  frame: 2 * MiB,
  callFrame: bodyBytes.unified,
  /** A frame that the service sends. */
  sentFrame: 6 * MiB,
  /** Streams and awaits, and other calls, that are open on a connection. */
  streams: 1_000,
  calls: 100,
  /** Connections of a caller and of a node. */
  connectionsOfCaller: 100,
  connectionsOfNode: 10_000,
  /** Watches, and awaits, of a caller and of a node. */
  watchesOfCaller: 1_000,
  watchesOfNode: 10_000,
  /** Until the first message. */
  firstMessage: Duration.seconds(10),
  /** What a client has not read, at which its connection is closed. */
  unsentBytes: MiB,
  /** Items of a stream that its client has not acknowledged: as many as need no more than `unsentBytes`. */
  unsentItems: 4_000,
  /** How often it is seen whether callers may still connect. */
  look: Duration.millis(500),
  /** How often clients are asked for a sign of life. */
  ping: Duration.seconds(30)
} as const
