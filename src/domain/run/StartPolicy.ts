/**
 * Who starts when on a node. Decision 0028 tells why. Which row of the start queue is next, Postgres decides, in
 * `svc_take_queued`: by the weights of the classes, then by the turns of organisations and customers.
 */
import type { EventPriority } from "../event/Event.js"

// --- The start queue ---

/** A queued run counts as starting for at most this long, so that no run can block the start queue. */
const startingMillis = 100
/** How long the first class counts as running on a node after its last launch. */
const firstClassMillis = 2_000
/** Runs on a node up to which queued ones are started while accepting events comes first. */
const slotsInBurst = 4
/**
 * Queued runs are started until `most` of them are starting, at least `least` at a time, because a pick costs Postgres as
 * much for one row as for many.
 */
const ordinarily = { most: 64, least: 32 }
/** The same while the first class has runs here and only the last two classes wait: then it finds few runs before its own. */
const besideFirstClass = { most: 4, least: 2 }

/** Whether a run from the start queue counts as starting: one that waits for its calls does not. `now`: Unix milliseconds. */
export const isStarting = (
  run: {
    readonly wasQueued: boolean
    /** When it was taken, Unix milliseconds. */
    readonly since: number
    /** Absent until it is launched. */
    readonly driven: { readonly progress: { readonly isWaiting: boolean } } | undefined
  },
  now: number
): boolean => run.wasQueued && run.driven?.progress.isWaiting !== true && now - run.since < startingMillis

/** Whether the first class has runs here. `launchedAt`: the last launch of one, Unix milliseconds. */
export const hasFirstClass = (launchedAt: number, now: number): boolean => now - launchedAt < firstClassMillis

/** What a node does while it looks for runs to start. */
export interface NodeState {
  /** Runs that it may drive at a time. */
  readonly slots: number
  /** Runs that it drives, or has taken. */
  readonly running: number
  /** Those of them that were queued and are starting. */
  readonly starting: number
  readonly hasFirstClass: boolean
  /** The first class of which something waits in the start queue. */
  readonly firstWaiting: EventPriority
  /** Many events are being accepted, and their senders come first. */
  readonly isAcceptingFirst: boolean
  /** It is stopping. */
  readonly isLeaving: boolean
}

/** How many runs a node may take: those that were started before and are due, and those from the start queue. */
export const startableRuns = (node: NodeState): { readonly due: number; readonly queued: number } => {
  if (node.isLeaving) return { due: 0, queued: 0 }
  const due = Math.max(0, node.slots - node.running)
  if (node.isAcceptingFirst) return { due, queued: Math.max(0, slotsInBurst - node.running) }
  const { least, most } = node.hasFirstClass && node.firstWaiting > 2 ? besideFirstClass : ordinarily
  const places = most - node.starting
  return { due, queued: places < least ? 0 : Math.min(due, places) }
}

// --- Starts at once, past the start queue ---

/** How many times the runs that start at once may fill the slots of a node: an Instant run cannot wait, an event can. */
const slotShares = { instant: 4, event: 1 }

/** Whether the node has room for a run that starts at once. `running` and `slots` as in `NodeState`. */
export const hasRoom = (kind: keyof typeof slotShares, running: number, slots: number): boolean =>
  running < slots * slotShares[kind]

/** Whether an organisation drives as many runs as its plan allows. `limit`: `null` for any number. */
export const isPlanFull = (running: number, limit: number | null): boolean => limit !== null && running >= limit

/** Whether an arriving event passes the start queue by: nothing that would start before it waits. */
export const startsAtOnce = (event: {
  readonly isHeld: boolean
  /** Events of a lane start one after the other. */
  readonly hasLane: boolean
  readonly isOrganisationActive: boolean
  /** Something of its class or of an earlier one may wait in the start queue. */
  readonly isBehind: boolean
  readonly isAcceptingFirst: boolean
}): boolean =>
  !event.isHeld && !event.hasLane && event.isOrganisationActive && !event.isBehind && !event.isAcceptingFirst

// --- Bursts of arriving events ---

/** When accepting events comes before running them, and for how long. Times in milliseconds. */
export const intakeBurst = {
  /** Events accepted at once from which on accepting comes first. */
  manyEvents: 16,
  /** A burst ends when for so long not many events were accepted at once. */
  calmMillis: 100,
  /** How long accepting comes first in a burst; then both share the processor for as long. */
  preferredMillis: 3_000
}
