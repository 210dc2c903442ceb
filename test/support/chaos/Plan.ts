/** What happens to the nodes of a cluster during a trial, and when: drawn from a seed, so that a trial can be repeated. */
import type { Direction } from "../pathProxy.js"

/** What a node speaks to: Postgres, the NATS server, and the other nodes that speak to it. */
export type Path = "postgres" | "nats" | "nodes"

/** What happens to the node that is drawn. Times in milliseconds. */
type Blow =
  /** SIGKILL, or SIGTERM; another node takes its place so much later. */
  | { readonly kind: "kill" | "stop"; readonly backMillis: number }
  /** SIGSTOP, and SIGCONT so much later. */
  | { readonly kind: "freeze"; readonly millis: number }
  | {
      readonly kind: "cut"
      readonly path: Path
      readonly direction: Direction
      readonly millis: number
      /** What becomes of its connections when the path is healed. */
      readonly before: "resumed" | "dead"
    }
  | { readonly kind: "slow"; readonly path: Path; readonly delayMillis: number; readonly millis: number }
  /** A further runner starts. */
  | { readonly kind: "join" }
  /** No node reaches another one; each reaches Postgres. */
  | { readonly kind: "partition"; readonly millis: number }
  /** The NATS server is killed, its store deleted, and started so much later. */
  | { readonly kind: "broker"; readonly backMillis: number }

export type Fault = Blow & {
  /** After the begin of the trial. */
  readonly atMillis: number
  /** Draws the node, among those that can be hit then. */
  readonly pick: number
  /** Whether it hits an `api` node, if one can be hit. */
  readonly isOfApi: boolean
}

/** How often each kind is drawn, of their sum. */
const weights = { kill: 4, freeze: 4, cut: 6, slow: 2, stop: 3, join: 2, partition: 1, broker: 1 } as const
const pauseMillis = { least: 800, most: 3_500 } as const
const apiShare = 0.2

/** A generator of numbers from 0 up to 1 (mulberry32): the same for the same seed. */
export const randomOf = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The faults of a trial that lasts so long, in the order of their times. */
export const drawFaults = (seed: number, durationMillis: number): ReadonlyArray<Fault> => {
  const random = randomOf(seed)
  const between = (least: number, most: number) => Math.round(least + random() * (most - least))
  const oneOf = <A>(values: ReadonlyArray<A>, first: A): A => values[Math.floor(random() * values.length)] ?? first
  const kinds = Object.entries(weights).flatMap(([kind, weight]) => Array<string>(weight).fill(kind))
  const paths: ReadonlyArray<Path> = ["postgres", "postgres", "nats", "nodes"]
  const blow = (): Blow => {
    switch (oneOf(kinds, "kill")) {
      case "freeze":
        return { kind: "freeze", millis: between(1_000, 15_000) }
      case "cut":
        return {
          kind: "cut",
          path: oneOf(paths, "postgres"),
          direction: oneOf<Direction>(["toServer", "toClient", "both"], "both"),
          millis: between(1_000, 12_000),
          before: oneOf<"resumed" | "dead">(["resumed", "dead"], "dead")
        }
      case "slow":
        return {
          kind: "slow",
          path: oneOf(paths, "postgres"),
          delayMillis: between(5, 300),
          millis: between(1_000, 8_000)
        }
      case "stop":
        return { kind: "stop", backMillis: between(200, 4_000) }
      case "join":
        return { kind: "join" }
      case "partition":
        return { kind: "partition", millis: between(3_000, 12_000) }
      case "broker":
        return { kind: "broker", backMillis: between(200, 5_000) }
      default:
        return { kind: "kill", backMillis: between(200, 4_000) }
    }
  }
  const faults: Array<Fault> = []
  for (let at = 0; ;) {
    at += between(pauseMillis.least, pauseMillis.most)
    if (at >= durationMillis) return faults
    faults.push({ ...blow(), atMillis: at, pick: random(), isOfApi: random() < apiShare })
  }
}
