/** Who takes part in a trial: nodes join, are replaced by others of the build that is current, and none ends by itself. */
import { setTimeout as pause } from "node:timers/promises"
import type { StartNode, TrialNode } from "./Nodes.js"
import type { Build } from "./Plan.js"
import type { Trial } from "./Trial.js"

/** So many runners are there, but for those that are on their way. */
const runners = 3
/** A node that is asked to stop ends within this time. */
const stopMillis = 30_000
/** How long after its cause a lost seat may still end what its node had in hand. */
const afterEffectMillis = 8_000
/** A start that a fault has ended is repeated, as by a supervisor, until it has lasted so long. */
const startAgainMillis = 500
const startMillis = 60_000

export interface Members {
  /** The build of the nodes that start from now on. */
  build: Build
  readonly present: (role: TrialNode["role"]) => ReadonlyArray<TrialNode>
  /** How many are there, or will be. */
  readonly count: (role: TrialNode["role"]) => number
  /** Starts a node, and waits until it takes part. */
  readonly join: (role: TrialNode["role"]) => Promise<void>
  /** Ends a node, and starts one in its place so much later unless there are enough. */
  readonly replace: (one: TrialNode, signal: "SIGKILL" | "SIGTERM", backMillis: number) => Promise<void>
  /** Asks a node to stop, and waits for its end. */
  readonly stop: (one: TrialNode) => Promise<void>
  /** Records what may end requests that a runner has in hand. Returns what to call when it is over. */
  readonly noteDeath: (what: string, role: TrialNode["role"]) => () => void
  /** Notes what ends no request of a node. Returns what to call when it is over. */
  readonly noteChange: (what: string) => () => void
}

export const makeMembers = (trial: Trial, start: StartNode): Members => {
  const { deaths, isLate, nodes, say, tried, violated } = trial
  const joining = { api: 0, runner: 0 }
  const present = (role: TrialNode["role"]) => nodes.filter((one) => one.role === role && !one.isGone)

  const startOne = async (role: TrialNode["role"]): Promise<TrialNode> => {
    for (const from = Date.now(); ;) {
      try {
        return await start(role, members.build)
      } catch (error) {
        if (isLate(Date.now() - from, startMillis)) throw error
        say(`a node of role ${role} is started again: ${String(error).trimEnd().split("\n").at(-1)}`)
        await pause(startAgainMillis)
      }
    }
  }

  const note = (what: string, isDeath: boolean) => {
    const change = { what, from: Date.now(), until: Infinity }
    if (isDeath) deaths.push(change)
    trial.changes.push(change)
    return () => {
      change.until = Date.now() + afterEffectMillis
    }
  }
  const noteDeath: Members["noteDeath"] = (what, role) => note(what, role === "runner")

  const stop: Members["stop"] = async (one) => {
    const over = noteDeath(`SIGTERM of ${one.name}`, one.role)
    one.isGone = true
    one.stoppedAt = Date.now()
    one.node.kill("SIGTERM")
    const code = await one.node.ended
    const took = Date.now() - one.stoppedAt
    if (code !== 0) violated("nodes", `${one.name} was asked to stop, and ended with ${code}`)
    if (isLate(took, stopMillis)) violated("nodes", `${one.name} stopped in ${took} ms`)
    over()
  }

  const members: Members = {
    build: "this",
    present,
    count: (role) => present(role).length + joining[role],
    noteDeath,
    noteChange: (what) => note(what, false),
    stop,
    join: async (role) => {
      joining[role]++
      const began = Date.now()
      const change = { from: Date.now(), until: Infinity }
      trial.changes.push(change)
      tried("nodes")
      try {
        const joined = await startOne(role)
        nodes.push(joined)
        void joined.node.ended.then((code) => {
          if (!joined.isGone)
            violated("nodes", `${joined.name} ended by itself (${code}): ${joined.node.output().slice(-2_000)}`)
          joined.isGone = true
        })
        say(`${joined.name} of ${joined.build} takes part, ${Date.now() - began} ms after its start`)
      } catch (error) {
        violated("nodes", `a node of role ${role} did not start: ${String(error).slice(-2_000)}`)
      }
      joining[role]--
      change.until = Date.now() + afterEffectMillis
    },
    replace: async (one, signal, backMillis) => {
      if (signal === "SIGTERM") await stop(one)
      else {
        const over = noteDeath(`SIGKILL of ${one.name}`, one.role)
        one.isGone = true
        one.node.kill("SIGKILL")
        await one.node.ended
        over()
      }
      await pause(backMillis)
      if (members.count(one.role) < (one.role === "api" ? 1 : runners)) await members.join(one.role)
    }
  }
  return members
}
