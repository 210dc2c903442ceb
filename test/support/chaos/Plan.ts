/** What happens to the nodes of a cluster during a trial, and when: drawn from a seed, so that a trial can be repeated. */
import type { Direction } from "../pathProxy.js"

/** What a node speaks to: Postgres, the NATS server, and the other nodes that speak to it. */
export type Path = "postgres" | "nats" | "nodes"

/** This tree's build, or that of the next service release. */
export type Build = "this" | "next"

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
  /** Postgres is stopped with all its sessions, or its server process killed, and started so much later. */
  | { readonly kind: "postgres"; readonly how: "stop" | "kill"; readonly backMillis: number }
  /** The node's clock is set so much ahead, or behind if negative, and back so much later. */
  | { readonly kind: "clock"; readonly byMillis: number; readonly millis: number }
  /** The nodes are replaced by nodes of the other build, one by one. */
  | { readonly kind: "release"; readonly to: Build }

export type Fault = Blow & {
  /** After the begin of the trial. */
  readonly atMillis: number
  /** Draws the node, among those that can be hit then. */
  readonly pick: number
  /** Whether it hits an `api` node, if one can be hit. */
  readonly isOfApi: boolean
}

/** What the provider farm does: refuses by 429, fails with 500 after it has committed, answers slowly or without an end. */
export type Mood = "well" | "limited" | "failing" | "slow" | "endless"

interface DrawnMood {
  readonly atMillis: number
  readonly millis: number
  readonly mood: Mood
}

/** How often each kind is drawn, of their sum. Releases have times of their own. */
const weights = {
  kill: 4,
  freeze: 4,
  cut: 6,
  slow: 2,
  stop: 3,
  join: 2,
  clock: 2,
  partition: 1,
  broker: 1,
  postgres: 2
} as const satisfies Readonly<Partial<Record<Blow["kind"], number>>>
const pauseMillis = { least: 800, most: 3_500 } as const
const apiShare = 0.2
const tenMinutes = 600_000

/** In each of its minutes, or once in less, a trial goes to the next release and back, at times between these parts of it. */
const minute = 60_000
const releases: ReadonlyArray<{ readonly to: Build; readonly least: number; readonly most: number }> = [
  { to: "next", least: 0.1, most: 0.25 },
  { to: "this", least: 0.5, most: 0.65 }
]
/** Faults of a trial that is shorter than a minute come in so much less time. */
const hurry = 0.6

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

/** The faults of a trial that lasts so long, in the order of their times. The first of them are one of each kind. */
export const drawFaults = (seed: number, durationMillis: number): ReadonlyArray<Fault> => {
  const random = randomOf(seed)
  const between = (least: number, most: number) => Math.round(least + random() * (most - least))
  const oneOf = <A>(values: ReadonlyArray<A>, first: A): A => values[Math.floor(random() * values.length)] ?? first
  const all = Object.entries(weights).flatMap(([kind, weight]) => Array<string>(weight).fill(kind))
  const paths: ReadonlyArray<Path> = ["postgres", "postgres", "nats", "nodes"]
  const blow = (kind: string): Blow => {
    switch (kind) {
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
      case "clock":
        return { kind: "clock", byMillis: between(-tenMinutes, tenMinutes), millis: between(2_000, 15_000) }
      case "partition":
        return { kind: "partition", millis: between(3_000, 12_000) }
      case "broker":
        return { kind: "broker", backMillis: between(200, 5_000) }
      case "postgres":
        return {
          kind: "postgres",
          how: oneOf<"stop" | "kill">(["stop", "kill"], "kill"),
          backMillis: between(100, 4_000)
        }
      default:
        return { kind: "kill", backMillis: between(200, 4_000) }
    }
  }
  const faults: Array<Fault> = []
  const add = (atMillis: number, one: Blow) =>
    faults.push({ ...one, atMillis, pick: random(), isOfApi: random() < apiShare })
  const each = Object.keys(weights)
  const pace = durationMillis < minute ? hurry : 1
  const wait = () => Math.round(between(pauseMillis.least, pauseMillis.most) * pace)
  for (let at = wait(); at < durationMillis; at += wait()) {
    const [kind = "kill"] = each.length > 0 ? each.splice(Math.floor(random() * each.length), 1) : [oneOf(all, "kill")]
    add(at, blow(kind))
  }
  const length = Math.min(minute, durationMillis)
  for (let begin = 0; begin + length <= durationMillis; begin += length)
    for (const { least, most, to } of releases)
      add(begin + between(least * length, most * length), { kind: "release", to })
  return faults.toSorted((one, other) => one.atMillis - other.atMillis)
}

const moods: ReadonlyArray<Mood> = ["limited", "failing", "slow", "endless"]
const wellMillis = { least: 1_000, most: 4_000 } as const
const moodMillis = { least: 1_500, most: 5_000 } as const

/** The moods of the provider farm, one after the other. The first of them are all of them. */
export const drawMoods = (seed: number, durationMillis: number): ReadonlyArray<DrawnMood> => {
  const random = randomOf(seed ^ 0x5eed)
  const between = ({ least, most }: { readonly least: number; readonly most: number }) =>
    Math.round(least + random() * (most - least))
  const drawn: Array<DrawnMood> = []
  const left: Array<Mood> = []
  for (let at = between(wellMillis); at < durationMillis; at += between(wellMillis)) {
    if (left.length === 0) left.push(...moods)
    const [mood = "well"] = left.splice(Math.floor(random() * left.length), 1)
    const millis = Math.min(between(moodMillis), durationMillis - at)
    drawn.push({ atMillis: at, millis, mood })
    at += millis
  }
  return drawn
}
