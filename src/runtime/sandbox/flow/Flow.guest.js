/**
 * The flow library: runs the steps of a flow in the order of their dependencies. A script that uses `svc.flow` brings it
 * along. It reports steps and makes calls through `Steps.guest.js`. What a workflow
 * changes of the built-ins changes this too, for its own run.
 */

/** Steps that compute or call at once. */
const stepsAtOnce = 20
/** Times that a wait looks at its condition. */
const mostLooks = 1_000

const errorOf = (cause) => ({
  name: String(cause?.name ?? "Error"),
  message: String(cause?.message ?? cause),
  code: typeof cause?.code === "string" ? cause.code : null,
  category: typeof cause?.category === "string" ? cause.category : "code"
})

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
    /** The error that ends the flow. */
    this.halted = undefined
    /** Steps that have begun and are reported here, with their targets without a value. */
    this.open = new Map()
    this.busy = 0
    /** @type {(() => void)[]} */
    this.waiting = []
  }

  /** Resolves once there is a place for a step that computes or calls at once; undefined: there is one now. */
  takePlace() {
    if (this.busy >= stepsAtOnce) return new Promise((resolve) => this.waiting.push(() => resolve(undefined)))
    this.busy++
    return undefined
  }

  leavePlace() {
    const next = this.waiting.shift()
    if (next === undefined) this.busy--
    else next()
  }

  /** Starts nothing more, and reports what has begun as aborted, but for the steps around the one that has failed. */
  halt(cause, owners) {
    if (this.halted !== undefined) return
    this.halted = cause
    const aborted = abortedError()
    for (const [step, missing] of this.open) {
      if (owners.includes(step)) continue
      this.open.delete(step)
      reportFailure(step, aborted, missing)
    }
  }
}

// --- Running a list ---

/** Reports the steps of a list, and those inside of them, as skipped. */
const skipAll = (list, context) => {
  for (const entry of list.entries) skipOne(entry, context)
}
const skipOne = (entry, context) => {
  const path = context.prefix + entry.name
  report(newStep(path, context.parent, entry.type), "skipped")
  context.scope.steps[entry.name] = { output: null, error: null }
  if (entry.type !== "loop") for (const list of entry.groups) skipAll(list, { ...context, parent: path })
}

/** Runs the steps of a list; resolves once all have ended, and rejects with the failure of one that ends the list. */
const runList = (list, context) => {
  const { entries } = list
  const [only] = entries
  if (entries.length !== 1) return runAll(entries, context)
  // A flow that has failed starts nothing more.
  return context.run.halted === undefined ? runStep(only, context) : new Promise(() => {})
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
    let isOver = false
    const start = (entry) => {
      if (isOver || context.run.halted !== undefined) return
      runStep(entry, context).then(
        () => {
          left--
          if (left === 0) return resolve(undefined)
          for (const next of dependants.get(entry.name) ?? []) {
            const count = waits.get(next) - 1
            waits.set(next, count)
            if (count === 0) start(next)
          }
        },
        (cause) => {
          isOver = true
          reject(cause)
        }
      )
    }
    for (const entry of entries) if (waits.get(entry) === 0) start(entry)
  })

/** Whether a step runs: no gate has skipped it, and its own condition holds. */
const isTaken = ({ name, options }, { skipped }, values) =>
  !skipped.has(name) && (options.when === undefined || values.meets(options.when))

/** Runs a step, and leaves its output or error to the expressions of others. */
const runStep = async (entry, context) => {
  const { options } = entry
  const { run, scope } = context
  const values = new Values(scope)
  const path = context.prefix + entry.name
  let step
  try {
    if (!isTaken(entry, context, values)) return skipOne(entry, context)
    step = newStep(path, context.parent, entry.type)
    // What is inside of a gate or loop is asked for by itself, and the service knows the results of host calls.
    const isKept = !entry.isOwn && !entry.isLight
    const kept = isKept && run.isResumed ? await keptResult(step) : undefined
    const output = kept === undefined ? await runBody(entry, context, step, path, values) : kept.value
    scope.steps[entry.name] = { output: output === undefined ? null : output, error: null }
    run.open.delete(step)
    if (!entry.isOwn && kept === undefined && run.halted === undefined)
      reportValue(step, output, values.missing, isKept)
  } catch (thrown) {
    if (run.halted !== undefined && !run.open.has(step)) throw thrown
    run.open.delete(step)
    const cause = placedError(thrown, entry, path)
    reportFailure(step ?? newStep(path, context.parent, entry.type), cause, values.missing)
    if (options.onError !== "continue") {
      if (!context.inLoop) run.halt(cause, context.owners)
      throw cause
    }
    noteFailure()
    scope.steps[entry.name] = { output: null, error: errorOf(cause) }
  }
}

/** Runs the body of a step in attempts; one that computes or calls at once has a place among a few. */
const runBody = async (entry, context, step, path, values) => {
  const { run } = context
  const isPlaced = !entry.isLight && !entry.isWaiting
  const place = isPlaced ? run.takePlace() : undefined
  if (place !== undefined) await place
  const body = (tools) => entry.body({ context, path, step, tools, values })
  // A connector's call is retried by the service, with the settings of its call.
  const { retry, timeoutMs } = entry.isOwn || entry.isLight ? {} : entry.options
  try {
    if (entry.isShown) {
      run.open.set(step, values.missing)
      report(step, "running")
    }
    return await attempted(step, { retry, timeoutMs }, body, entry.isOwn, values.missing)
  } finally {
    if (isPlaced) run.leavePlace()
  }
}

/** Errors that name their step. */
const placed = new WeakSet()

/** The error with the innermost step that failed; lines of a step's code are counted in the step. */
const placedError = (thrown, entry, path) => {
  if (!(thrown instanceof Error)) return thrown
  /** @type {any} */
  const cause = thrown
  if (!placed.has(cause)) {
    placed.add(cause)
    cause.step = path
  }
  if (entry.line !== undefined && typeof cause.stack === "string") {
    cause.stack = cause.stack.replace(/workflow\.js:(\d+)/g, (found, line) => {
      const own = Number(line) - entry.line
      return own > 0 ? entry.name + ".js:" + own : found
    })
  }
  return cause
}

// --- The flow ---

const answerOf = (body, values) =>
  typeof body === "object" && body !== null && !Array.isArray(body) ? values.map(body) : values.all(body)

/**
 * `svc.flow(ctx, response, build)`: runs the steps that `build` adds; resolves with the answer. `response.test`: the made-up
 * outputs of other steps, and the items that a step reads which is tested alone.
 */
const runFlow = async (ctx, response, build) => {
  const { items, isRehearsed = false, prefix = "", steps = {} } = response.test ?? {}
  const run = new FlowRun(ctx, isRehearsed)
  const input = ctx.input ?? null
  const scope = { input, trigger: input, steps: {}, ...items }
  for (const name of Object.keys(steps)) scope.steps[name] = { output: steps[name], error: null }
  try {
    await runList(built(build), {
      run,
      scope,
      prefix,
      parent: undefined,
      owners: [],
      skipped: new Set(),
      inLoop: false
    })
  } catch (cause) {
    const { error } = response
    if (error !== undefined) {
      const values = new Values({ ...scope, error: errorOf(cause) })
      answerFailure(error.status ?? 500, error.body === undefined ? null : answerOf(error.body, values))
    }
    throw cause
  }
  const { success } = response
  answerWith(success?.status)
  if (success?.body !== undefined) return answerOf(success.body, new Values(scope))
  return scope.steps[response.last]?.output ?? null
}
