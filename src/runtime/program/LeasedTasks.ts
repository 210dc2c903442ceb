/**
 * All leased tasks: stored work that one node does at a time. A row joins a task's sweep to its store, and all else follows
 * from the rows: the stores, the question which tasks have work, the places, and the sweeps.
 */
import { Layer } from "effect"
import * as ConnectionSweep from "../../actors/connection/Sweep.js"
import * as Deliver from "../../actors/pipeline/Deliver.js"
import * as HeldSweep from "../../actors/pipeline/HeldSweep.js"
import * as Outbound from "../../actors/pipeline/Outbound.js"
import * as PollSweep from "../../actors/pipeline/PollSweep.js"
import * as ReplaySweep from "../../actors/pipeline/ReplaySweep.js"
import * as ScheduleSweep from "../../actors/pipeline/ScheduleSweep.js"
import * as SubscriptionSweep from "../../actors/pipeline/SubscriptionSweep.js"
import type { PlaceBounds } from "../../actors/Places.js"
import * as ConnectionSweeps from "../postgres/connection/ConnectionSweeps.js"
import * as Deliveries from "../postgres/delivery/Deliveries.js"
import * as DomainEvents from "../postgres/delivery/DomainEvents.js"
import * as DueTasks from "../postgres/DueTasks.js"
import * as DeadLetters from "../postgres/event/DeadLetters.js"
import * as HeldEvents from "../postgres/event/HeldEvents.js"
import * as StateSealing from "../postgres/run/StateSealing.js"
import * as Polls from "../postgres/trigger/Polls.js"
import * as Schedules from "../postgres/trigger/Schedules.js"
import * as Subscriptions from "../postgres/trigger/Subscriptions.js"

interface Task<N extends string, E, R> {
  readonly name: N
  readonly places: { readonly [use: string]: PlaceBounds }
  readonly layer: Layer.Layer<never, E, R>
}

/** A sweep with what is work for it, and the driver of its port. A kind of work of another task does not compile. */
const row = <N extends string, E, R, A, E2, R2>(
  { layer: sweep, name, places }: Task<N, E, R>,
  { layer: store, work }: { readonly layer: Layer.Layer<A, E2, R2>; readonly work: DueTasks.TaskWork<NoInfer<N>> }
) => ({ name, places, store, sweep, work })

export const leasedTasks = [
  row(ConnectionSweep.task, ConnectionSweeps),
  row(Deliver.task, Deliveries),
  row(PollSweep.task, Polls),
  row(Outbound.task, DomainEvents),
  row(HeldSweep.task, HeldEvents),
  row(ReplaySweep.task, DeadLetters),
  row(SubscriptionSweep.task, Subscriptions),
  row(ScheduleSweep.task, Schedules),
  row(StateSealing.task, { work: StateSealing.work, layer: Layer.empty })
] as const

/** A layer of each row, in the order of the rows. */
type LayersOf<R, M extends string> = {
  readonly [I in keyof R]: R[I] extends { readonly [K in M]: infer L } ? L : never
}

/** `map` forgets which row has which type, and so what the layers provide together. */
const layersOf = <const M extends "store" | "sweep">(member: M) =>
  leasedTasks.map((one) => one[member]) as unknown as LayersOf<typeof leasedTasks, M>

export const stores = Layer.merge(Layer.mergeAll(...layersOf("store")), DueTasks.layer(leasedTasks))

/** Starts all. */
export const sweeps = Layer.mergeAll(...layersOf("sweep"))

/** The places of all, by use. */
export const places: { readonly [use: string]: PlaceBounds } = Object.fromEntries(
  leasedTasks.flatMap((one) => Object.entries<PlaceBounds>(one.places))
)
