/**
 * The flow library: runs the steps of a flow in the order of their dependencies. A script that uses `svc.flow` brings it
 * along. It reports steps and makes calls through `Steps.guest.js`. What a workflow
 * changes of the built-ins changes this too, for its own run.
 */

/** Steps that compute or call at once. */
const stepsAtOnce = 20
/** Times that a wait looks at its condition. */
const mostLooks = 1_000

/** A member of what was thrown that is a text; it may be anything, whose members are read with care. */
const textIn = (cause, name) => {
  const value = isObject(cause) ? read(cause, name) : undefined
  return typeof value === "string" ? value : undefined
}
const errorOf = (cause) => ({
  name: textIn(cause, "name") || "Error",
  message: (isObject(cause) && messageOf(cause)) || (isError(cause) ? "" : textOf(describe(cause), limits.message)),
  code: textIn(cause, "code") ?? null,
  category: textIn(cause, "category") ?? "code"
})

/** Sets a member of any name: `__proto__` would be the prototype. */
const setMember = (object, name, value) => {
  if (name === "__proto__")
    Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
  else object[name] = value
}

/** A value as text: null is empty, objects and lists are JSON. */
const asText = (value) => (value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value))

/** The values that expressions of a step read, with the targets whose expression had no value. */
class Values {
  /** @param {any} scope */
  constructor(scope) {
    this.scope = scope
    /** @type {string[]} */
    this.missing = []
  }
  value(template) {
    return expressions.value(template, this.scope)
  }
  /** @param {any} json each text in it is a template */
  all(json) {
    return expressions.value(json, this.scope)
  }
  /**
   * @param {any} mapping
   * @param {any} [base] each text in it is a template
   */
  map(mapping, base = {}) {
    return this.over(mapping, this.all(base))
  }
  /** @param {any} data it is not evaluated */
  over(mapping, data) {
    const { failures, missing, value } = expressions.map(mapping, data, this.scope)
    const [failed] = failures
    if (failed !== undefined)
      throw stepError("MappingFailed", "MAPPING_FAILED", "contract", "mapping." + failed.target + " " + failed.message)
    for (const target of missing) this.missing.push(target)
    return value
  }
  meets(condition) {
    return expressions.meets(condition, this.scope, patterns)
  }
  chat(prompt, model, args) {
    return {
      ...(model === null ? {} : { model }),
      messages: [{ role: "user", content: asText(this.value(prompt)) }],
      ...args
    }
  }
}

/** One run of a flow. */
class FlowRun {
  /**
   * @param {any} ctx
   * @param {boolean} isRehearsed it waits for nothing
   */
  constructor(ctx, isRehearsed) {
    this.ctx = ctx
    this.isRehearsed = isRehearsed
    /** It resumes another run, whose completed steps are not run again. */
    this.isResumed = typeof ctx?.execution?.resumes === "string"
    /** The lists of the steps that compute or call at once, each in a place of its own. */
    this.places = new Set()
    /** @type {{ list: any, enter: () => void }[]} */
    this.waiting = []
  }

  /** A place for a step of the list that computes or calls at once; a promise of it while there is none. */
  takePlace(list) {
    const place = { list }
    if (this.places.size < stepsAtOnce) {
      this.places.add(place)
      return place
    }
    return new Promise((resolve) => {
      const enter = () => {
        this.places.add(place)
        resolve(place)
      }
      this.waiting.push({ list, enter })
    })
  }

  leavePlace(place) {
    this.places.delete(place)
    this.fillPlaces()
  }

  fillPlaces() {
    while (this.waiting.length > 0 && this.places.size < stepsAtOnce) this.waiting.shift()?.enter()
  }

  /** Halts the list with the failure of a step, at a path: what never settles there has no place any more. */
  halt(list, step, cause, path) {
    haltList(list, step, cause, path)
    for (const place of this.places) if (isHalted(place.list)) this.places.delete(place)
    this.waiting = this.waiting.filter((one) => !isHalted(one.list))
    this.fillPlaces()
  }
}

/** What has been halted goes on nowhere. */
const never = () => new Promise(() => {})

// --- Running a list ---

/** Reports the steps of a list, and those inside of them, as skipped. */
const skipAll = (list, context) => {
  for (const entry of list.entries) skipOne(entry, context)
}
const skipOne = (entry, context) => {
  const path = context.prefix + entry.name
  reportSkipped(newStep(path, context.parent, entry.type, context.list))
  setMember(context.scope.steps, entry.name, { output: null, error: null })
  if (entry.type !== "loop") for (const list of entry.groups) skipAll(list, { ...context, parent: path })
}

/**
 * Runs the steps of a list; resolves once all have ended, and rejects with the failure that halts the list. Never settles if
 * another failure does.
 */
const runList = (list, context) => {
  const { entries } = list
  const [only] = entries
  return entries.length === 1 ? runStep(only, context) : runAll(entries, context)
}
const runAll = (entries, context) =>
  new Promise((resolve, reject) => {
    if (entries.length === 0) return resolve(undefined)
    const dependants = new Map()
    const waits = new Map()
    for (const entry of entries) {
      const after = entry.options.after ?? []
      waits.set(entry, after.length)
      for (const name of after) {
        const those = dependants.get(name)
        if (those === undefined) dependants.set(name, [entry])
        else those.push(entry)
      }
    }
    let left = entries.length
    const start = (entry) => {
      runStep(entry, context).then(() => {
        left--
        if (left === 0) return resolve(undefined)
        for (const next of dependants.get(entry.name) ?? []) {
          const count = waits.get(next) - 1
          waits.set(next, count)
          if (count === 0) start(next)
        }
      }, reject)
    }
    for (const entry of entries) if (waits.get(entry) === 0) start(entry)
  })

/** Whether a step runs: no gate has skipped it, and its own condition holds. */
const isTaken = ({ name, options }, { skipped }, values) =>
  !skipped.has(name) && (options.when === undefined || values.meets(options.when))

/** Runs a step, and leaves its output or error to the expressions of others. Never settles once its list is halted. */
const runStep = async (entry, context) => {
  const { options } = entry
  const { list, run, scope } = context
  if (isHalted(list)) return never()
  const values = new Values(scope)
  const path = context.prefix + entry.name
  let step
  try {
    if (!isTaken(entry, context, values)) return skipOne(entry, context)
    step = newStep(path, context.parent, entry.type, list)
    // What is inside of a gate or loop is asked for by itself, and the service knows the results of host calls.
    const isKept = !entry.isOwn && !entry.isLight
    const kept = isKept && run.isResumed ? await keptResult(step) : undefined
    if (isHalted(list)) return never()
    const output = kept === undefined ? await runBody(entry, context, step, path, values) : kept.value
    if (isHalted(list)) return never()
    setMember(scope.steps, entry.name, { output: output === undefined ? null : output, error: null })
    if (!entry.isOwn && kept === undefined) reportValue(step, output, values.missing, isKept)
  } catch (cause) {
    if (isAborted(list, step)) return never()
    noteStack(cause, entry)
    const continues = options.onError === "continue"
    // What stands in the step ends before it.
    if (!continues) run.halt(list, step, cause, path)
    reportFailure(step ?? newStep(path, context.parent, entry.type, list), cause, values.missing)
    if (!continues) throw cause
    noteFailure()
    setMember(scope.steps, entry.name, { output: null, error: errorOf(cause) })
  }
}

/** Runs the body of a step in attempts; one that computes or calls at once has a place among a few. */
const runBody = async (entry, context, step, path, values) => {
  const { run } = context
  const isPlaced = !entry.isLight && !entry.isWaiting
  const taken = isPlaced ? run.takePlace(context.list) : undefined
  const place = taken instanceof Promise ? await taken : taken
  const body = (tools) => entry.body({ context, path, step, tools, values })
  // A connector's call is retried by the service, with the settings of its call; so is that of a wait's poll.
  const { retry, timeoutMs } = entry.isOwn || entry.isLight ? {} : entry.options
  const settings = { retry: entry.isWaiting ? undefined : retry, timeoutMs }
  try {
    if (!entry.isOwn) beginStep(step, values.missing, entry.isShown)
    return await attempted(step, settings, body, entry.isOwn, values.missing)
  } finally {
    if (place !== undefined) run.leavePlace(place)
  }
}

/** The stacks of errors that code of steps threw, with the lines of that code. What was thrown is never changed. */
const stacks = new WeakMap()
const noteStack = (cause, { line, name }) => {
  const stack = line === undefined || !isError(cause) ? undefined : textIn(cause, "stack")
  if (stack === undefined || stacks.has(cause)) return
  const ownLines = (found, number) => {
    const own = Number(number) - line
    return own > 0 ? name + ".js:" + own : found
  }
  stacks.set(cause, stack.replace(/workflow\.js:(\d+)/g, ownLines))
}
const stackOf = (cause) => (isObject(cause) ? stacks.get(cause) : undefined)

// --- The flow ---

const answerOf = (body, values) =>
  typeof body === "object" && body !== null && !Array.isArray(body) ? values.map(body) : values.all(body)

/**
 * `svc.flow(ctx, response, build)`, of the code of a step or outside of steps: runs the steps that `build` adds; resolves with
 * the answer. `response.test`: the made-up outputs of other steps, and the items that a step reads which is tested alone.
 */
const flowIn = (place) => async (ctx, response, build) => {
  const { items, isRehearsed = false, prefix = "", steps = {} } = response.test ?? {}
  const run = new FlowRun(ctx, isRehearsed)
  const input = ctx.input ?? null
  const scope = { input, trigger: input, steps: {}, ...items }
  for (const name of Object.keys(steps)) setMember(scope.steps, name, { output: steps[name], error: null })
  const list = newFlow(place)
  try {
    await runList(built(build), { run, scope, prefix, parent: undefined, list, skipped: new Set() })
  } catch (cause) {
    const { error } = response
    const step = failedAt(list)
    noteFailed(cause, step, stackOf(cause))
    if (error !== undefined) {
      const values = new Values({ ...scope, error: { ...errorOf(cause), step } })
      answerFailure(error.status ?? 500, error.body === undefined ? null : answerOf(error.body, values))
    }
    throw cause
  }
  const { success } = response
  answerWith(success?.status)
  if (success?.body !== undefined) return answerOf(success.body, new Values(scope))
  return scope.steps[response.last]?.output ?? null
}
