/** Actions of all kinds, from their description alone. */
import type { JsonObject } from "../../src/domain/Json.js"
import { asText, mapOver, render, renderAll } from "./naiveExpressions.js"
import type { Interpreter } from "./naiveFlow.js"
import { type Any, Failed, type NaiveType, type RunningStep } from "./naiveStep.js"
import type { Generator, Scope } from "./randomFlows.js"

const codeWithCall = `export default async (input) => {
  const answer = await svc.connector.crm.send({ of: "CHANGED", input })
  return { v: "changed", answer, list: [answer] }
}`

const randomCode = (of: Generator): string => {
  const call = of.chance(75) ? 'await svc.connector.crm.send({ of: "CODE", n: ctx.input.n })' : "null"
  const end = of.chance(12)
    ? 'throw new Error("code failed")'
    : "return { v: ctx.input.n, input, answer, list: [input] }"
  return `export default async (input, ctx) => {\n  const answer = ${call}\n  ${end}\n}\n`
}

const randomAction = (of: Generator, scope: Scope): JsonObject => {
  const more = { ...of.arguments(scope), ...of.retry() }
  switch (of.random(7)) {
    case 0:
      return { type: "action", ...more }
    case 1:
      return { type: "action", config: { transform: of.mapping(scope) }, ...more }
    case 2:
    case 3:
      return { type: "action", config: { code: randomCode(of) }, ...more, ...of.retry(80) }
    case 4:
      return { type: "action", config: { prompt: of.template(scope), model: "m" }, ...more }
    default:
      return {
        type: "action",
        connector: "crm",
        action: of.pick("find", "send"),
        ...more,
        ...(of.chance(20) ? { actionVersion: 1 } : {}),
        ...(of.chance(20) ? { connection: "second" } : {}),
        ...(of.chance(20) ? { timeoutMs: 1_000 + of.random(1_000) } : {})
      }
  }
}

const runAction = (flow: Interpreter, { config, env, path, scope, step }: RunningStep): Any => {
  const args = mapOver(renderAll(step.input ?? {}, scope), step.mapping ?? {}, scope)
  if (step.connector !== undefined) {
    const { actionVersion: version, connection, retry, timeoutMs } = step
    const options = {
      ...(version === undefined ? {} : { version }),
      ...(connection === undefined ? {} : { connection }),
      ...(retry === undefined ? {} : { retry }),
      ...(timeoutMs === undefined ? {} : { timeoutMs })
    }
    return flow.call(env, path, `connector.${step.connector}.${step.action}`, [args, options])
  }
  if (config.code !== undefined)
    return flow.attempts(step.retry, env, path, async () => {
      const send = async (of: Any) => flow.call(env, path, "connector.crm.send", [of, {}])
      const body = config.code.replace("export default", "return")
      const main: Any = new Function("svc", body)({ connector: { crm: { send } } })
      try {
        return structuredClone(await main(args, { input: flow.input }))
      } catch (cause) {
        throw cause instanceof Failed ? cause : new Failed(new Set([path]), (cause as Error).message)
      }
    })
  if (config.prompt === undefined) return config.transform === undefined ? args : mapOver(args, config.transform, scope)
  const messages = [{ role: "user", content: asText(render(config.prompt, scope)) }]
  const answer = flow.call(env, path, "connector.openai.createChatCompletion", [
    { model: config.model, messages, ...args },
    step.retry === undefined ? {} : { retry: false }
  ])
  return { text: answer.text, usage: answer.usage }
}

export const action: NaiveType = {
  complete: [
    {
      name: "find",
      type: "action",
      description: "Finds it",
      connector: "crm",
      action: "find",
      actionVersion: 2,
      connection: "main",
      input: { id: "{{input.id}}" },
      mapping: { "a.b": { from: "input.c", transforms: ["TRIM", { fn: "ROUND", args: [2] }], default: null } },
      dependsOn: [],
      when: { all: [{ path: "input.a", op: "eq", value: 1 }, { not: { path: "input.b", op: "exists" } }] },
      onError: "continue",
      retry: { maxAttempts: 3 },
      timeoutMs: 1_000
    },
    { name: "code", type: "action", config: { code: "export default async () => 1" } },
    { name: "ask", type: "action", config: { kind: "ai", prompt: "{{input.question}}", model: "m" } }
  ],
  weight: 14,
  random: randomAction,
  changes: [
    { type: "action", connector: "crm", action: "find", input: { i1: "changed" } },
    { type: "action", connector: "crm", action: "send", input: { i1: "changed" }, retry: { maxAttempts: 2 } },
    { type: "action", input: { v: "changed", list: [{ v: 1 }] } },
    {
      type: "action",
      config: { code: 'export default async (input, ctx) => ({ v: "changed", input, n: ctx.input.n })' }
    },
    { type: "action", config: { code: codeWithCall } },
    { type: "action", config: { prompt: "changed", model: "m" } }
  ],
  run: runAction
}
