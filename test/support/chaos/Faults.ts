/** Carries out the faults of a plan at their times, and heals everything at the end. */
import { Effect } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import type { NatsServer } from "../natsServer.js"
import type { TrialNode } from "./Nodes.js"
import type { Fault } from "./Plan.js"
import type { Trial } from "./Trial.js"

const runners = 3
const mostRunners = 5
const mostApis = 2

/** How long after its cause a lost seat may still end what its node had in hand. */
const afterEffectMillis = 8_000

export interface Faults {
  /** Starts a node, and waits until it takes part. */
  readonly join: (role: TrialNode["role"]) => Promise<void>
  /** Resolves when all faults have been carried out, and are over. */
  readonly run: (plan: ReadonlyArray<Fault>) => Promise<void>
}

export const makeFaults = (
  trial: Trial,
  nats: NatsServer,
  start: (role: TrialNode["role"]) => Promise<TrialNode>
): Faults => {
  const { deaths, nodes, say, tried, violated } = trial
  const present = (role: TrialNode["role"]) => nodes.filter((one) => one.role === role && !one.isGone)
  let isBrokerAway = false
  let joining = 0

  const join = async (role: TrialNode["role"]) => {
    joining++
    const began = performance.now()
    tried("nodes")
    try {
      const joined = await start(role)
      nodes.push(joined)
      void joined.node.ended.then((code) => {
        if (!joined.isGone)
          violated("nodes", `${joined.name} ended by itself (${code}): ${joined.node.output().slice(-2_000)}`)
        joined.isGone = true
      })
      say(`${joined.name} takes part, ${Math.round(performance.now() - began)} ms after its start`)
    } catch (error) {
      violated("nodes", `a node of role ${role} did not start: ${String(error).slice(-2_000)}`)
    }
    joining--
  }

  /** What happens to runners may end what they have in hand. */
  const noteDeath = (what: string, role: TrialNode["role"]) => {
    const death = { what, from: Date.now(), until: Infinity }
    if (role === "runner") deaths.push(death)
    return () => {
      death.until = Date.now() + afterEffectMillis
    }
  }

  const replace = async (one: TrialNode, signal: "SIGKILL" | "SIGTERM", backMillis: number) => {
    const over = noteDeath(`${signal} of ${one.name}`, one.role)
    one.isGone = true
    if (signal === "SIGTERM") one.stoppedAt = Date.now()
    one.node.kill(signal)
    const code = await one.node.ended
    if (signal === "SIGTERM" && code !== 0) violated("nodes", `${one.name} was asked to stop, and ended with ${code}`)
    over()
    await pause(backMillis)
    if (one.role === "api" || present("runner").length + joining < runners) await join(one.role)
  }

  const freeze = async (one: TrialNode, millis: number) => {
    const over = noteDeath(`freeze of ${one.name}`, one.role)
    const time = { from: Date.now(), until: Infinity }
    one.frozen.push(time)
    one.node.kill("SIGSTOP")
    await pause(millis)
    one.node.kill("SIGCONT")
    time.until = Date.now()
    say(`${one.name} wakes`)
    over()
  }

  const hit = async (fault: Fault): Promise<void> => {
    if (fault.kind === "join") {
      const role = fault.isOfApi && present("api").length < mostApis ? "api" : "runner"
      if (role === "runner" && present("runner").length + joining >= mostRunners) return say("join: there are enough")
      say(`a node of role ${role} joins`)
      return join(role)
    }
    if (fault.kind === "broker") {
      if (isBrokerAway) return say("broker: it is away")
      isBrokerAway = true
      say(`the NATS server is killed and loses its store, for ${fault.backMillis} ms`)
      await Effect.runPromise(Effect.zipRight(nats.kill, nats.deleteStore))
      await pause(fault.backMillis)
      await Effect.runPromise(nats.start)
      isBrokerAway = false
      return say("the NATS server is back")
    }
    if (fault.kind === "partition") {
      const cut = present("runner").filter(({ isHit }) => !isHit)
      say(`no node reaches ${cut.map(({ name }) => name).join(", ")}, for ${fault.millis} ms`)
      for (const one of cut) {
        one.isHit = true
        one.paths.nodes.cut()
      }
      await pause(fault.millis)
      for (const one of cut) {
        one.paths.nodes.heal("dead")
        one.isHit = false
      }
      return say(`nodes reach ${cut.map(({ name }) => name).join(", ")} again`)
    }
    // One runner stays as it is, so that work goes on.
    const well = nodes.filter(({ isGone, isHit }) => !isGone && !isHit)
    const apis = well.filter(({ role }) => role === "api")
    const others = well.filter(({ role }) => role === "runner")
    const candidates = fault.isOfApi && apis.length > 0 ? apis : others.length > 1 ? others : []
    const one = candidates[Math.floor(fault.pick * candidates.length)]
    if (one === undefined) return say(`${fault.kind}: too few nodes are well`)
    one.isHit = true
    await strike(fault, one)
    one.isHit = false
  }

  const strike = async (fault: Fault, one: TrialNode): Promise<void> => {
    switch (fault.kind) {
      case "kill":
      case "stop":
        say(`${fault.kind} ${one.name}`)
        return replace(one, fault.kind === "kill" ? "SIGKILL" : "SIGTERM", fault.backMillis)
      case "freeze":
        say(`freeze ${one.name} for ${fault.millis} ms`)
        return freeze(one, fault.millis)
      case "cut":
      case "slow": {
        // Nobody calls an `api` node.
        const name = one.role === "api" && fault.path === "nodes" ? "postgres" : fault.path
        const path = one.paths[name]
        const over = name === "postgres" ? noteDeath(`path of ${one.name} to Postgres`, one.role) : () => undefined
        if (fault.kind === "cut") {
          say(`cut ${one.name} from ${name}, ${fault.direction}, for ${fault.millis} ms; then ${fault.before}`)
          path.cut(fault.direction)
        } else {
          say(`slow ${one.name} to ${name} by ${fault.delayMillis} ms, for ${fault.millis} ms`)
          path.delay(fault.delayMillis)
        }
        await pause(fault.millis)
        if (fault.kind === "cut") path.heal(fault.before)
        else path.delay(0)
        over()
        return say(`${one.name} reaches ${name} as before`)
      }
      default:
        return undefined
    }
  }

  return {
    join,
    run: async (plan) => {
      const begun = performance.now()
      const hits: Array<Promise<void>> = []
      for (const fault of plan) {
        await pause(Math.max(0, fault.atMillis - (performance.now() - begun)))
        hits.push(hit(fault))
      }
      await Promise.all(hits)
    }
  }
}
