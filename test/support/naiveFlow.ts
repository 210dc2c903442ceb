/**
 * Interprets a flow from its description alone, one step after the other: which calls it makes, after which others, when its
 * lists halt, and how it ends. Nothing here is shared with the service. A step that fails halts the list that it stands in; since
 * independent steps may have begun by then, their calls are possible, not certain.
 */
import { asText, holds, isPlain, mapOver, render, renderAll } from "./naiveExpressions.js"
import { listsOf, namesIn, waitsOf } from "./naiveOrder.js"

// oxlint-disable-next-line typescript/no-explicit-any -- Documents and data of any kind.
type Any = any

/** What the world answers to a call of a step. `nth`: the step's calls of this name before. */
export type Stub = (
  path: string,
  name: string,
  nth: number
) =>
  | { readonly ok: true; readonly value: Any }
  | { readonly ok: false; readonly message: string; readonly isTransient: boolean }

/** A call that a run may make. */
export interface ExpectedCall {
  readonly name: string
  readonly args: ReadonlyArray<Any>
  isCertain: boolean
  /** The calls that have been answered by then, where they are certain. */
  readonly after: ReadonlySet<string>
}

/** A step that completes, but for gates and loops. */
export interface ExpectedStep {
  readonly output: Any
  /** It keeps its result from an earlier run. */
  readonly isReused: boolean
  isCertain: boolean
}

/** A list of steps that halts, or a loop. */
export interface ExpectedHalt {
  /** The calls from which its failure follows: once all are answered, the list makes no more calls, and has none in flight. */
  readonly after: ReadonlySet<string>
  /** Whether a step stands in it, by its path. */
  readonly has: (path: string) => boolean
}

/** What a run that resumes others has of them. */
export interface Earlier {
  /** The outputs of completed steps, by their paths. */
  readonly outputs: ReadonlyMap<string, Any>
  /** Successful calls of the others, by the step's path and the number of the call in it. */
  readonly calls: ReadonlyMap<string, ReadonlyArray<EarlierCall>>
}
export interface EarlierCall {
  readonly name: string
  readonly args: ReadonlyArray<Any>
  readonly value: Any
}

const nothing: Earlier = { outputs: new Map(), calls: new Map() }

export interface ExpectedRun {
  /** By path. */
  readonly steps: ReadonlyMap<string, ExpectedStep>
  /** By the step's path and the number of the call in it, then that of the attempt: `sync[3].send|0`, `sync[3].send|0@1`. */
  readonly calls: ReadonlyMap<string, ExpectedCall>
  readonly halts: ReadonlyArray<ExpectedHalt>
  readonly end:
    | { readonly ok: true; readonly value: Any; readonly status: number | undefined; readonly continued: boolean }
    | {
        readonly ok: false
        /** The paths of the steps that may be the first to fail. */ readonly paths: ReadonlySet<string>
      }
}

/** Stands for any time of a run's year. Has no letters, which a transform would change. */
const timeOf = (year: number): string => String(year)
/** With each time as its year. */
export const withoutTimes = (text: string): string => text.replaceAll(/(19\d\d)-\d\d-\d\dT[\d:.]+Z/gi, "$1")

/** Without options that say nothing; of a pause, its duration. */
export const argsOf = (args: ReadonlyArray<Any>, name: string): ReadonlyArray<Any> => {
  if (name === "timer.sleep") return args.slice(0, 1)
  return JSON.stringify(args.at(-1)) === "{}" && args.length > 1 ? args.slice(0, -1) : args
}

/** From here on the pauses between the attempts of a step are numbered. */
const firstPause = 1_000_000

class Failed extends Error {
  /** For each step that may be the first to fail: the calls from which that follows. */
  causes: ReadonlyArray<ReadonlySet<string>> = []
  constructor(
    readonly paths: ReadonlySet<string>,
    message: string,
    readonly isTransient = false
  ) {
    super(message)
  }
}

interface Env {
  readonly variables: { readonly [name: string]: Any }
  readonly steps: { [name: string]: { readonly output: Any; readonly error: Any } }
  readonly prefix: string
  readonly after: ReadonlySet<string>
  /** The calls of iterations before: once they have ended too, this one has begun. */
  readonly before: ReadonlySet<string>
}

// --- Steps ---

class Interpreter {
  readonly calls = new Map<string, ExpectedCall>()
  private readonly completed = new Map<string, ExpectedStep>()
  private readonly halts: Array<ExpectedHalt> = []
  private hasFailures = false
  private readonly counts = new Map<string, number>()

  constructor(
    private readonly input: Any,
    private readonly stub: Stub,
    private readonly year: number,
    private readonly earlier: Earlier
  ) {}

  async run({ response = {}, steps }: Any): Promise<ExpectedRun> {
    const env: Env = { variables: {}, steps: {}, prefix: "", after: new Set(), before: new Set() }
    try {
      await this.runList(steps, env)
    } catch (cause) {
      if (!(cause instanceof Failed)) throw cause
      const { calls, completed, halts } = this
      return { calls, halts, steps: completed, end: { ok: false, paths: cause.paths } }
    }
    const { body, status } = response.success ?? {}
    const scope = this.scopeOf(env)
    const value =
      body === undefined
        ? (env.steps[steps.at(-1).name]?.output ?? null)
        : isPlain(body)
          ? mapOver({}, body, scope)
          : renderAll(body, scope)
    const end = { ok: true, value, status, continued: this.hasFailures } as const
    return { calls: this.calls, halts: this.halts, steps: this.completed, end }
  }

  private scopeOf({ steps, variables }: Env): Any {
    return { input: this.input, trigger: this.input, ...variables, steps }
  }

  private call(env: Env, path: string, name: string, args: ReadonlyArray<Any>, number = 0): Any {
    let key = `${path}|${number}`
    const asked = JSON.stringify(argsOf(args, name))
    // The attempts of a step that had not completed begin anew, with the pauses between them.
    const known = number >= firstPause ? [] : (this.earlier.calls.get(key) ?? [])
    const found = known.find((one) => one.name === name && JSON.stringify(argsOf(one.args, name)) === asked)
    if (found !== undefined) return found.value
    for (let attempt = 1; this.calls.has(key); attempt++) key = `${path}|${number}@${attempt}`
    this.calls.set(key, { name, args: structuredClone(args), isCertain: true, after: env.after })
    const nth = this.counts.get(`${path} ${name}`) ?? 0
    this.counts.set(`${path} ${name}`, nth + 1)
    const answer = this.stub(path, name, nth)
    if (!answer.ok) throw new Failed(new Set([path]), answer.message, answer.isTransient)
    return answer.value
  }

  /** Repeats a body that fails for a moment. The pauses between are numbered apart, from a million on. */
  private async attempts(retry: Any, env: Env, path: string, body: () => Promise<Any>): Promise<Any> {
    for (let attempt = 1; ; attempt++)
      try {
        return await body()
      } catch (cause) {
        const isLast = attempt >= (retry?.maxAttempts ?? 1)
        if (isLast || !(cause instanceof Failed) || !cause.isTransient) throw cause
        this.call(env, path, "timer.sleep", [retry.initialMs], firstPause + attempt)
      }
  }

  private runWait(config: Any, env: Env, scope: Any, path: string): Any {
    if (config.condition === undefined) {
      this.call(env, path, "timer.sleep", [config.durationMs])
      return { until: timeOf(this.year) }
    }
    const isStored = JSON.stringify(config.condition).includes('"state.ORG.k"')
    let number = 0
    for (let looks = 1; ; looks++) {
      const stored = isStored ? this.call(env, path, "state.get", ["k", { scope: "ORG" }], number++) : undefined
      const asked = [renderAll(config.poll?.input ?? {}, scope), {}]
      const poll = config.poll === undefined ? null : this.call(env, path, "connector.crm.look", asked, number++)
      if (holds(config.condition, { ...scope, poll, state: { ORG: { k: stored } } })) return { looks, poll }
      this.call(env, path, "timer.sleep", [config.pollSeconds * 1_000], number++)
    }
  }

  /** Runs a list. Once a step of it has failed for good, all of its calls are uncertain. */
  private async runList(steps: ReadonlyArray<Any>, env: Env): Promise<void> {
    const waits = waitsOf(steps)
    const ended = new Map<string, ReadonlySet<string>>()
    const skipped = new Set<string>()
    const failed = new Set<string>()
    const causes: Array<ReadonlySet<string>> = []
    let message = ""
    const known = new Set([...this.calls.keys(), ...this.completed.keys()])
    const left = [...steps]
    for (
      let at = 0;
      at >= 0;
      at = left.findIndex(({ name }) => [...(waits.get(name) ?? [])].every((one) => ended.has(one)))
    ) {
      const [step] = left.splice(at, 1)
      if (step === undefined) break
      const after = new Set([
        ...env.after,
        ...[...(waits.get(step.name) ?? [])].flatMap((one) => [...(ended.get(one) ?? [])])
      ])
      const before = new Set(this.calls.keys())
      try {
        await this.runStep(step, { ...env, after }, skipped)
      } catch (cause) {
        if (!(cause instanceof Failed)) throw cause
        if (step.onError !== "continue") {
          for (const path of cause.paths) failed.add(path)
          const own = [...this.calls.keys()].filter((key) => !before.has(key))
          // A gate or loop knows which of its calls its failure follows from.
          causes.push(...(cause.causes.length > 0 ? cause.causes : [new Set([...env.before, ...after, ...own])]))
          message = cause.message
          continue
        }
        this.hasFailures = true
        env.steps[step.name] = { output: null, error: { message: cause.message } }
      }
      ended.set(step.name, new Set([...after, ...[...this.calls.keys()].filter((key) => !before.has(key))]))
    }
    if (failed.size === 0) return
    this.doubt(known)
    const names = new Set(steps.flatMap(namesIn))
    const has = (path: string): boolean =>
      path.startsWith(env.prefix) && names.has(/^\w+/.exec(path.slice(env.prefix.length))?.[0] ?? "")
    throw this.halted(new Failed(failed, message), causes, has)
  }

  /** A list halts with a failure. */
  private halted(failure: Failed, causes: Failed["causes"], has: ExpectedHalt["has"]): Failed {
    failure.causes = causes
    for (const after of causes) this.halts.push({ after, has })
    return failure
  }

  /** All but these calls and steps are possible only. */
  private doubt(known: ReadonlySet<string>): void {
    for (const found of [this.calls, this.completed])
      for (const [key, one] of found) if (!known.has(key)) one.isCertain = false
  }

  /** The step, and those inside of it that others can read, give null. */
  private skip(step: Any, env: Env): void {
    env.steps[step.name] = { output: null, error: null }
    if (step.type !== "loop") for (const inner of listsOf(step).flat()) this.skip(inner, env)
  }

  private async runStep(step: Any, env: Env, skipped: Set<string>): Promise<void> {
    const scope = this.scopeOf(env)
    if (skipped.has(step.name) || (step.when !== undefined && !holds(step.when, scope))) return this.skip(step, env)
    const path = env.prefix + step.name
    const isGroup = step.type === "gate" || step.type === "loop"
    const isReused = !isGroup && this.earlier.outputs.has(path)
    const output = isReused ? this.earlier.outputs.get(path) : await this.outputOf(step, env, scope, skipped)
    if (!isGroup) this.completed.set(path, { output, isReused, isCertain: true })
    env.steps[step.name] = { output, error: null }
  }

  private async outputOf(step: Any, env: Env, scope: Any, skipped: Set<string>): Promise<Any> {
    const path = env.prefix + step.name
    const { config = {} } = step
    switch (step.type) {
      case "wait":
        return this.runWait(config, env, scope, path)
      case "approval":
        return this.call(env, path, "approval.request", [renderAll(config, scope)])
      case "notification":
        return this.call(env, path, "notify.send", [renderAll(config, scope)])
      case "gate":
        return this.runGate(config, env, scope, skipped)
      case "loop":
        return this.runLoop(config, env, scope, path)
      default:
        return this.runAction(step, env, scope, path)
    }
  }

  private async runAction(step: Any, env: Env, scope: Any, path: string): Promise<Any> {
    const { config = {} } = step
    const args = mapOver(renderAll(step.input ?? {}, scope), step.mapping ?? {}, scope)
    if (step.connector !== undefined) {
      const { actionVersion: version, connection, retry, timeoutMs } = step
      const options = {
        ...(version === undefined ? {} : { version }),
        ...(connection === undefined ? {} : { connection }),
        ...(retry === undefined ? {} : { retry }),
        ...(timeoutMs === undefined ? {} : { timeoutMs })
      }
      return this.call(env, path, `connector.${step.connector}.${step.action}`, [args, options])
    }
    if (config.code !== undefined)
      return this.attempts(step.retry, env, path, () => this.runCode(config.code, args, env, path))
    if (config.prompt === undefined)
      return config.transform === undefined ? args : mapOver(args, config.transform, scope)
    const messages = [{ role: "user", content: asText(render(config.prompt, scope)) }]
    const answer = this.call(env, path, "connector.openai.createChatCompletion", [
      { model: config.model, messages, ...args },
      step.retry === undefined ? {} : { retry: false }
    ])
    return { text: answer.text, usage: answer.usage }
  }

  private async runCode(code: string, args: Any, env: Env, path: string): Promise<Any> {
    const send = async (of: Any) => this.call(env, path, "connector.crm.send", [of, {}])
    const body = code.replace("export default", "return")
    const main: Any = new Function("svc", body)({ connector: { crm: { send } } })
    try {
      return structuredClone(await main(args, { input: this.input }))
    } catch (cause) {
      throw cause instanceof Failed ? cause : new Failed(new Set([path]), (cause as Error).message)
    }
  }

  private async runGate(config: Any, env: Env, scope: Any, skipped: Set<string>): Promise<Any> {
    const taken =
      config.branches.find(({ when }: Any) => holds(when, scope)) ?? (config.else && { name: "else", ...config.else })
    for (const name of taken?.skip ?? []) skipped.add(name)
    for (const branch of [...config.branches, config.else ?? {}])
      if (branch.steps !== taken?.steps) for (const step of branch.steps ?? []) this.skip(step, env)
    await this.runList(taken?.steps ?? [], env)
    return { branch: taken?.name ?? null }
  }

  private async runLoop(config: Any, env: Env, scope: Any, path: string): Promise<Any> {
    const items = render(config.over, scope)
    if (!Array.isArray(items)) throw new Failed(new Set([path]), "not a list")
    const known = new Set([...this.calls.keys(), ...this.completed.keys()])
    const before = new Set(this.calls.keys())
    const paths = new Set<string>()
    const causes: Array<ReadonlySet<string>> = []
    const results: Array<Any> = []
    let failed = 0
    for (const [index, item] of items.entries()) {
      const inside: Env = {
        variables: { ...env.variables, [config.as ?? "item"]: item, index },
        steps: { ...env.steps },
        prefix: `${path}[${index}].`,
        after: env.after,
        before: new Set([...env.before, ...[...this.calls.keys()].filter((key) => !before.has(key))])
      }
      try {
        await this.runList(config.steps, inside)
        results.push(
          config.result === undefined
            ? (inside.steps[config.steps.at(-1).name]?.output ?? null)
            : renderAll(config.result, this.scopeOf(inside))
        )
      } catch (cause) {
        if (!(cause instanceof Failed)) throw cause
        results.push(null)
        failed++
        this.hasFailures = true
        for (const one of cause.paths) paths.add(one)
        causes.push(...cause.causes)
      }
    }
    if (failed === 0 || config.continueOnError === true) return { results, failed }
    this.doubt(known)
    throw this.halted(new Failed(paths, "an iteration failed"), causes, (one) => one.startsWith(`${path}[`))
  }
}

/** The calls and the end of a flow for an input, in a year. `earlier`: what runs before it have completed. */
export const interpret = (
  spec: object,
  input: object,
  stub: Stub,
  year = 1970,
  earlier = nothing
): Promise<ExpectedRun> => new Interpreter(input, stub, year, earlier).run(spec)
