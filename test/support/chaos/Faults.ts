/** Carries out the faults of a plan at their times, and heals everything at the end. */
import { Effect } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import type { NatsServer } from "../natsServer.js"
import type { Members } from "./Members.js"
import type { TrialNode } from "./Nodes.js"
import type { OwnPostgres } from "./OwnPostgres.js"
import type { Build, Fault } from "./Plan.js"
import type { Trial } from "./Trial.js"

const mostRunners = 5
const mostApis = 2
/** How long a fault waits for a node that is well. */
const patienceMillis = 5_000
const lookEvery = 100

interface FaultsOptions {
  readonly members: Members
  readonly nats: NatsServer
  readonly postgres: OwnPostgres
}

export interface Faults {
  /** Resolves when all faults have been carried out, and are over. */
  readonly run: (plan: ReadonlyArray<Fault>) => Promise<void>
  /** How many of each kind were carried out. */
  readonly done: ReadonlyMap<Fault["kind"], number>
}

type Of<Kind extends Fault["kind"]> = Extract<Fault, { readonly kind: Kind }>

export const makeFaults = (trial: Trial, { members, nats, postgres }: FaultsOptions): Faults => {
  const { nodes, say } = trial
  const done = new Map<Fault["kind"], number>()
  const begin = (kind: Fault["kind"], line: string) => {
    done.set(kind, (done.get(kind) ?? 0) + 1)
    say(line)
  }

  /** Waits for nodes that a fault can hit. */
  const awaitSome = async (find: () => ReadonlyArray<TrialNode>): Promise<ReadonlyArray<TrialNode>> => {
    let found = find()
    for (let waited = 0; found.length === 0 && waited < patienceMillis; waited += lookEvery) {
      await pause(lookEvery)
      found = find()
    }
    return found
  }

  const freeze = async (one: TrialNode, millis: number) => {
    const over = members.noteDeath(`freeze of ${one.name}`, one.role)
    const time = { from: Date.now(), until: Infinity }
    one.frozen.push(time)
    one.node.kill("SIGSTOP")
    await pause(millis)
    one.node.kill("SIGCONT")
    time.until = Date.now()
    say(`${one.name} wakes`)
    over()
  }

  const joinOne = (fault: Of<"join">) => {
    const role = fault.isOfApi && members.count("api") < mostApis ? "api" : "runner"
    if (role === "runner" && members.count("runner") >= mostRunners) return say("join: there are enough")
    begin("join", `a node of role ${role} joins`)
    return members.join(role)
  }

  /** Faults of one server come one after the other. */
  const turns = new Map<"broker" | "postgres" | "release", Promise<void>>()
  const inTurn = (of: "broker" | "postgres" | "release", act: () => Promise<void>): Promise<void> => {
    const next = (turns.get(of) ?? Promise.resolve()).then(act)
    turns.set(of, next)
    return next
  }

  const loseBroker = async ({ backMillis }: Of<"broker">) => {
    begin("broker", `the NATS server is killed and loses its store, for ${backMillis} ms`)
    await Effect.runPromise(Effect.zipRight(nats.kill, nats.deleteStore))
    await pause(backMillis)
    await Effect.runPromise(nats.start)
    say("the NATS server is back")
  }

  const losePostgres = async ({ backMillis, how }: Of<"postgres">) => {
    begin("postgres", `Postgres is ${how === "kill" ? "killed" : "stopped"}, and started ${backMillis} ms later`)
    // No death: who has the answer of a token endpoint keeps it until Postgres is back.
    const over = members.noteChange("absence of Postgres")
    await postgres[how]()
    await pause(backMillis)
    await postgres.start()
    over()
    say("Postgres is back")
  }

  const partition = async ({ millis }: Of<"partition">) => {
    const well = () => members.present("runner").filter(({ isHit }) => !isHit)
    const cut = await awaitSome(well)
    if (cut.length === 0) return say("partition: too few nodes are well")
    begin("partition", `no node reaches ${cut.map(({ name }) => name).join(", ")}, for ${millis} ms`)
    for (const one of cut) {
      one.isHit = true
      one.paths.nodes.cut()
    }
    await pause(millis)
    for (const one of cut) {
      one.paths.nodes.heal("dead")
      one.isHit = false
    }
    say(`nodes reach ${cut.map(({ name }) => name).join(", ")} again`)
  }

  /** Runners first: a node of the other build takes part, then the one that it replaces is asked to stop. */
  const roll = async (to: Build) => {
    begin("release", `all nodes are replaced by nodes of ${to}`)
    members.build = to
    const others = () => (["runner", "api"] as const).flatMap(members.present).filter(({ build }) => build !== to)
    for (let left = others(); left.length > 0; left = others()) {
      const one = left.find(({ isHit }) => !isHit)
      if (one === undefined) {
        await pause(lookEvery)
        continue
      }
      one.isHit = true
      await members.join(one.role)
      if (!one.isGone) await members.stop(one)
    }
    say(`all nodes are of ${to}`)
  }

  /** The node that can be hit, if there is one. One runner stays as it is, so that work goes on. */
  const pickNode = ({ isOfApi, pick }: Fault): ReadonlyArray<TrialNode> => {
    const well = nodes.filter(({ isGone, isHit }) => !isGone && !isHit)
    const apis = well.filter(({ role }) => role === "api")
    const others = well.filter(({ role }) => role === "runner")
    const candidates = isOfApi && apis.length > 0 ? apis : others.length > 1 ? others : []
    return candidates.slice(Math.floor(pick * candidates.length)).slice(0, 1)
  }

  const hit = async (fault: Fault): Promise<void> => {
    switch (fault.kind) {
      case "join":
        return joinOne(fault)
      case "broker":
        return inTurn("broker", () => loseBroker(fault))
      case "postgres":
        return inTurn("postgres", () => losePostgres(fault))
      case "release":
        return inTurn("release", () => roll(fault.to))
      case "partition":
        return partition(fault)
      default: {
        const [one] = await awaitSome(() => pickNode(fault))
        if (one === undefined) return say(`${fault.kind}: too few nodes are well`)
        one.isHit = true
        await strike(fault, one)
        one.isHit = false
      }
    }
  }

  const strike = async (
    fault: Of<"kill" | "stop" | "freeze" | "cut" | "slow" | "clock">,
    one: TrialNode
  ): Promise<void> => {
    switch (fault.kind) {
      case "kill":
      case "stop":
        begin(fault.kind, `${fault.kind} ${one.name}`)
        return members.replace(one, fault.kind === "kill" ? "SIGKILL" : "SIGTERM", fault.backMillis)
      case "freeze":
        begin("freeze", `freeze ${one.name} for ${fault.millis} ms`)
        return freeze(one, fault.millis)
      case "clock":
        begin("clock", `the clock of ${one.name} is set by ${fault.byMillis} ms, for ${fault.millis} ms`)
        one.setClock(fault.byMillis)
        await pause(fault.millis)
        one.setClock(0)
        return say(`the clock of ${one.name} is set back`)
      default: {
        // Nobody calls an `api` node.
        const name = one.role === "api" && fault.path === "nodes" ? "postgres" : fault.path
        const path = one.paths[name]
        const over =
          name === "postgres" ? members.noteDeath(`path of ${one.name} to Postgres`, one.role) : () => undefined
        if (fault.kind === "cut") {
          begin("cut", `cut ${one.name} from ${name}, ${fault.direction}, for ${fault.millis} ms; then ${fault.before}`)
          path.cut(fault.direction)
        } else {
          begin("slow", `slow ${one.name} to ${name} by ${fault.delayMillis} ms, for ${fault.millis} ms`)
          path.delay(fault.delayMillis)
        }
        await pause(fault.millis)
        if (fault.kind === "cut") path.heal(fault.before)
        else path.delay(0)
        over()
        return say(`${one.name} reaches ${name} as before`)
      }
    }
  }

  return {
    done,
    run: async (plan) => {
      const begun = Date.now()
      const hits: Array<Promise<void>> = []
      for (const fault of plan) {
        await pause(Math.max(0, fault.atMillis - (Date.now() - begun)))
        hits.push(hit(fault))
      }
      await Promise.all(hits)
    }
  }
}
