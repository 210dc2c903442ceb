/**
 * Interprets a flow from its description alone, one step after the other: which calls it makes, after which others, when its
 * lists halt, and how it ends. Nothing here is shared with the service. A step that fails halts the list that it stands in; since
 * independent steps may have begun by then, their calls are possible, not certain.
 */
import { holds, isPlain, mapOver, renderAll } from "./naiveExpressions.js"
import { listsOf, namesIn, waitsOf } from "./naiveOrder.js"
import { type Any, type Env, Failed } from "./naiveStep.js"
import { groupOf, naiveTypes } from "./naiveSteps.js"

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

/** With each time as its year. */
export const withoutTimes = (text: string): string => text.replaceAll(/(19\d\d)-\d\d-\d\dT[\d:.]+Z/gi, "$1")

/** Without options that say nothing; of a pause, its duration. */
export const argsOf = (args: ReadonlyArray<Any>, name: string): ReadonlyArray<Any> => {
  if (name === "timer.sleep") return args.slice(0, 1)
  return JSON.stringify(args.at(-1)) === "{}" && args.length > 1 ? args.slice(0, -1) : args
}

/** From here on the pauses between the attempts of a step are numbered. */
const firstPause = 1_000_000

// --- Steps ---

export class Interpreter {
  readonly calls = new Map<string, ExpectedCall>()
  private readonly completed = new Map<string, ExpectedStep>()
  private readonly halts: Array<ExpectedHalt> = []
  hasFailures = false
  private readonly counts = new Map<string, number>()

  constructor(
    readonly input: Any,
    private readonly stub: Stub,
    readonly year: number,
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

  scopeOf({ steps, variables }: Env): Any {
    return { input: this.input, trigger: this.input, ...variables, steps }
  }

  call(env: Env, path: string, name: string, args: ReadonlyArray<Any>, number = 0): Any {
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
  async attempts(retry: Any, env: Env, path: string, body: () => Promise<Any>): Promise<Any> {
    for (let attempt = 1; ; attempt++)
      try {
        return await body()
      } catch (cause) {
        const isLast = attempt >= (retry?.maxAttempts ?? 1)
        if (isLast || !(cause instanceof Failed) || !cause.isTransient) throw cause
        this.call(env, path, "timer.sleep", [retry.initialMs], firstPause + attempt)
      }
  }

  /** Runs a list. Once a step of it has failed for good, all of its calls are uncertain. */
  async runList(steps: ReadonlyArray<Any>, env: Env): Promise<void> {
    const waits = waitsOf(steps)
    const ended = new Map<string, ReadonlySet<string>>()
    const skipped = new Set<string>()
    const failed = new Set<string>()
    const causes: Array<ReadonlySet<string>> = []
    let message = ""
    const known = this.places
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
  halted(failure: Failed, causes: Failed["causes"], has: ExpectedHalt["has"]): Failed {
    failure.causes = causes
    for (const after of causes) this.halts.push({ after, has })
    return failure
  }

  /** The calls that have been made and the steps that have completed so far. */
  get places(): ReadonlySet<string> {
    return new Set([...this.calls.keys(), ...this.completed.keys()])
  }

  /** All but these calls and steps are possible only. */
  doubt(known: ReadonlySet<string>): void {
    for (const found of [this.calls, this.completed])
      for (const [key, one] of found) if (!known.has(key)) one.isCertain = false
  }

  /** The step, and those inside of it that others can read, give null. */
  skip(step: Any, env: Env): void {
    env.steps[step.name] = { output: null, error: null }
    if (groupOf(step)?.isLoop !== true) for (const inner of listsOf(step).flat()) this.skip(inner, env)
  }

  private async runStep(step: Any, env: Env, skipped: Set<string>): Promise<void> {
    const scope = this.scopeOf(env)
    if (skipped.has(step.name) || (step.when !== undefined && !holds(step.when, scope))) return this.skip(step, env)
    const run = naiveTypes.get(step.type)?.run
    if (run === undefined) throw new Error(`nothing is known of the type ${step.type}`)
    const path = env.prefix + step.name
    const isGroup = groupOf(step) !== undefined
    const isReused = !isGroup && this.earlier.outputs.has(path)
    const output = isReused
      ? this.earlier.outputs.get(path)
      : await run(this, { step, config: step.config ?? {}, env, scope, path, skipped })
    if (!isGroup) this.completed.set(path, { output, isReused, isCertain: true })
    env.steps[step.name] = { output, error: null }
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
