/** The types of steps, from their description alone. */
import type { JsonObject } from "../../src/domain/Json.js"
import { action } from "./naiveActions.js"
import { holds, renderAll } from "./naiveExpressions.js"
import { gate, loop } from "./naiveGroups.js"
import type { Any, NaiveType } from "./naiveStep.js"
import type { Generator, Scope } from "./randomFlows.js"

/** Stands for any time of a run's year. Has no letters, which a transform would change. */
const timeOf = (year: number): string => String(year)

/** A condition that holds within five looks: stored and polled values go through 0 to 4. */
const randomChange = (of: Generator, scope: Scope): JsonObject => {
  const state = { path: "state.ORG.k", op: "eq", value: of.random(5) }
  const polled = { path: "poll.v", op: "lte", value: of.random(5) }
  const poll = {
    connector: "crm",
    action: "look",
    ...(of.chance(50) ? { input: { of: of.template(scope) } } : {})
  }
  const condition = of.pick<JsonObject>(state, polled, { any: [state, polled] })
  return { condition, pollSeconds: 5 + of.random(60), ...(condition === state ? {} : { poll }) }
}

const wait: NaiveType = {
  complete: [
    {
      name: "look",
      type: "wait",
      config: {
        condition: { path: "poll.done", op: "eq", value: true },
        poll: { connector: "crm", action: "find", input: {} },
        pollSeconds: 5,
        timeoutMs: 60_000
      }
    }
  ],
  weight: 2,
  random: (of, scope) => ({
    type: "wait",
    config: of.chance(40) ? randomChange(of, scope) : { durationMs: 1 + of.random(1_000) }
  }),
  changes: [
    { type: "wait", config: { durationMs: 50 } },
    { type: "wait", config: { condition: { path: "state.ORG.k", op: "lte", value: 2 }, pollSeconds: 5 } }
  ],
  run: (flow, { config, env, path, scope }) => {
    if (config.condition === undefined) {
      flow.call(env, path, "timer.sleep", [config.durationMs])
      return { until: timeOf(flow.year) }
    }
    const isStored = JSON.stringify(config.condition).includes('"state.ORG.k"')
    let number = 0
    for (let looks = 1; ; looks++) {
      const stored = isStored ? flow.call(env, path, "state.get", ["k", { scope: "ORG" }], number++) : undefined
      const asked = [renderAll(config.poll?.input ?? {}, scope), {}]
      const poll = config.poll === undefined ? null : flow.call(env, path, "connector.crm.look", asked, number++)
      if (holds(config.condition, { ...scope, poll, state: { ORG: { k: stored } } })) return { looks, poll }
      flow.call(env, path, "timer.sleep", [config.pollSeconds * 1_000], number++)
    }
  }
}

const approval: NaiveType = {
  complete: [
    {
      name: "ok",
      type: "approval",
      config: { approvers: ["admin"], message: "ok?", expiresInMs: 1_000, onExpire: "approve" }
    }
  ],
  weight: 2,
  random: (of, scope) => ({
    type: "approval",
    config: { approvers: ["admin"], message: `ok ${of.template(scope)}` }
  }),
  changes: [{ type: "approval", config: { approvers: ["admin"], message: "changed" } }],
  run: (flow, { config, env, path, scope }) => flow.call(env, path, "approval.request", [renderAll(config, scope)])
}

const notification: NaiveType = {
  complete: [
    {
      name: "tell",
      type: "notification",
      config: { channel: "email", to: "a@example.com", subject: "s", body: "b", severity: "info" }
    }
  ],
  weight: 2,
  random: (of, scope) => ({ type: "notification", config: { channel: "in_app", body: `n ${of.template(scope)}` } }),
  changes: [{ type: "notification", config: { channel: "in_app", body: "changed" } }],
  run: (flow, { config, env, path, scope }) => flow.call(env, path, "notify.send", [renderAll(config, scope)])
}

const types = { action, wait, approval, notification, gate, loop }

/** All types by their names. */
export const naiveTypes: ReadonlyMap<string, NaiveType> = new Map(Object.entries(types))

/** What is known of a step that has steps inside; `undefined`: it has none. */
export const groupOf = ({ type }: Any): NaiveType["group"] => naiveTypes.get(type)?.group
