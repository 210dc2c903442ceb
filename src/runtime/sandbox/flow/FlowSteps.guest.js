/** The flow library's types of steps: each adds entries to a list, which `Flow.guest.js` runs. */
/** The steps of one list, as the script adds them. */
class StepList {
  constructor() {
    /** @type {any[]} */
    this.entries = []
  }
  add(name, type, options, body, more = {}) {
    this.entries.push({
      name,
      type,
      options,
      body,
      isOwn: false,
      isWaiting: false,
      isLight: false,
      isShown: false,
      groups: [],
      ...more
    })
  }

  // --- Types: `body` takes the context of its list, the step with its path, its tools and values ---

  /** A step whose one host call is the step itself. */
  action(name, options, body) {
    this.add(name, "action", options, ({ tools, values }) => body(tools.services, values), { isOwn: true })
  }
  step(name, options, body) {
    this.add(name, "action", options, ({ tools, values }) => body(tools.services, values))
  }
  /** `mapping`: laid over the input; without it the input is the output. */
  transform(name, options, input, mapping) {
    const run = ({ step, values }) => {
      const given = input(values)
      if (mapping === undefined) {
        noteSameInput(step)
        return given
      }
      noteInput(step, given)
      return values.over(mapping, given)
    }
    this.add(name, "action", options, run)
  }
  code(name, options, input, module) {
    const run = async ({ context, step, tools, values }) => {
      const { fetch, services, setInterval, setTimeout } = tools
      const main = module(services, fetch, setTimeout, setInterval)
      const given = input(values)
      showInput(step, given)
      return plain(await main(given, context.run.ctx))
    }
    this.add(name, "action", options, run, { line: options.line })
  }
  chat(name, options, body, input) {
    const run = async ({ step, tools, values }) => {
      const given = input(values)
      showInput(step, given)
      const answer = await body(tools.services, values, given)
      const text = answer?.text ?? answer?.content ?? answer?.choices?.[0]?.message?.content ?? null
      return { text, usage: answer?.usage ?? null }
    }
    this.add(name, "action", options, run)
  }
  wait(name, options, settings, look) {
    const isTimed = settings.condition === undefined
    const run = isTimed ? waitUntil(settings) : waitForCondition(settings, look)
    const isOwn = isTimed && options.timeoutMs === undefined
    this.add(name, "wait", options, run, { isOwn, isWaiting: true, isShown: !isOwn })
  }
  notify(name, options, settings) {
    const run = ({ tools, values }) => tools.services.notify(values.all(settings))
    // What is tried again, or within a time, is more than its call.
    this.add(name, "notification", options, run, {
      isOwn: options.retry === undefined && options.timeoutMs === undefined
    })
  }
  approval(name, options, settings) {
    const run = ({ tools, values }) => tools.services.approval(values.all(settings))
    const isOwn = options.timeoutMs === undefined
    this.add(name, "approval", options, run, { isOwn, isWaiting: true, isShown: !isOwn })
  }
  gate(name, options, branches) {
    const lists = branches.map((branch) => ({ ...branch, list: built(branch.steps) }))
    const continues = options.onError === "continue"
    const run = async ({ context, path, step, values }) => {
      const taken = lists.find(({ when }) => when === undefined || values.meets(when))
      for (const one of taken?.skip ?? []) context.skipped.add(one)
      for (const one of lists) if (one !== taken) skipAll(one.list, { ...context, parent: path })
      if (taken !== undefined) {
        const inner = newList(context.list, step, continues)
        const inside = { ...context, parent: path, list: inner, skipped: new Set() }
        await withinLimit(
          step,
          options.timeoutMs,
          () => runList(taken.list, inside),
          (cause) => context.run.halt(inner, undefined, cause, path)
        )
      }
      return { branch: taken === undefined ? null : taken.name }
    }
    this.add(name, "gate", options, run, { isLight: true, isShown: true, groups: lists.map(({ list }) => list) })
  }
  loop(name, options, settings, build) {
    const list = built(build)
    this.add(name, "loop", options, (at) => runLoop(at, options, settings, list), { isLight: true, groups: [list] })
  }
}

const built = (build) => {
  const list = new StepList()
  build(list)
  return list
}

// --- Waits ---

const waitUntil =
  ({ durationMs, until }) =>
  async ({ context, tools, values }) => {
    const at = durationMs === undefined ? expressions.time(values.value(until)) : host.now() + durationMs
    if (Number.isNaN(at)) {
      const given = asText(values.value(until)).slice(0, 200)
      throw stepError("InvalidTime", "INVALID_TIME", "code", "until is no time: " + given)
    }
    const left = context.run.isRehearsed ? 0 : Math.max(0, at - host.now())
    if (left > limits.timer) {
      const message = "until lies further ahead than a step waits, which is " + limits.timer / 3_600_000 + " h"
      throw stepError("TimeTooFar", "TIME_TOO_FAR", "code", message)
    }
    // A run that resumes this one gets the same output.
    return tools.sleep(left, { until: new Date(at).toISOString() })
  }

const waitForCondition = (settings, look) => {
  const { states = [] } = settings
  const pause = (settings.pollSeconds ?? 60) * 1000
  return async ({ context, tools, values }) => {
    const deadline = context.run.isRehearsed
      ? 0
      : settings.timeoutMs === undefined
        ? Infinity
        : host.now() + settings.timeoutMs
    for (let looks = 1; ; looks++) {
      const state = {}
      for (const [scope, key] of states) {
        const value = await tools.state(scope, key)
        setMember((state[scope] ??= {}), key, value)
      }
      const poll = look === undefined ? null : await look(tools.services, values)
      const met = expressions.meets(settings.condition, { ...context.scope, state, poll }, patterns)
      if (met) return { looks, poll }
      const left = deadline - host.now()
      if (left <= 0 || looks >= mostLooks)
        throw stepError(
          "WaitTimedOut",
          "WAIT_TIMED_OUT",
          "timeout",
          "the condition did not hold " + (left <= 0 ? "in time" : "in " + mostLooks + " looks")
        )
      await tools.sleep(Math.min(pause, left))
    }
  }
}

// --- Loops ---

/** The steps of one pass through a list, also of those that are skipped; loops in it count as one. */
const stepsIn = ({ entries }) =>
  entries.reduce(
    (sum, { groups, type }) => sum + 1 + (type === "loop" ? 0 : groups.reduce((inner, one) => inner + stepsIn(one), 0)),
    0
  )

const runLoop = async ({ context, path, step, values }, options, settings, list) => {
  const items = values.value(settings.over)
  showInput(step, { over: items })
  if (!Array.isArray(items)) throw stepError("NotAList", "NOT_A_LIST", "code", settings.over + " is not a list")
  const most = settings.maxIterations ?? 10_000
  const count = items.length
  if (count > most)
    throw stepError(
      "LoopLimit",
      "LOOP_LIMIT",
      "code",
      "the list has " + count + " items, and the loop runs for at most " + most
    )
  if (count * (options.calls ?? 0) + madeCalls() > limits.calls)
    throw stepError(
      "LoopLimit",
      "LOOP_LIMIT",
      "code",
      "the loop would make more than the " + limits.calls + " host calls of a run: loop over fewer items"
    )
  if (count * stepsIn(list) + madeSteps() > mostSteps)
    throw stepError(
      "LoopLimit",
      "LOOP_LIMIT",
      "code",
      "the loop would make more than the " + mostSteps + " steps of a run: loop over fewer items, or with fewer steps"
    )
  const results = []
  for (let i = 0; i < count; i++) results.push(null)
  let next = 0
  let failed = 0
  const whole = newList(context.list, step, options.onError === "continue")
  const outer = {}
  for (const name of options.reads ?? []) setMember(outer, name, context.scope.steps[name])
  const runOne = async (i) => {
    const steps = { ...outer }
    const scope = { ...context.scope, steps, [settings.as]: items[i], index: i }
    const inside = {
      ...context,
      scope,
      prefix: path + "[" + i + "].",
      parent: path,
      list: newList(whole, step, settings.continueOnError),
      skipped: new Set()
    }
    try {
      await runList(list, inside)
      const result =
        settings.result === undefined ? (steps[options.last]?.output ?? null) : new Values(scope).all(settings.result)
      results[i] = result
    } catch (cause) {
      // That of the result, too.
      context.run.halt(inside.list, undefined, cause, path)
      if (settings.continueOnError !== true) throw cause
      failed++
      noteFailure()
    }
  }
  const worker = async () => {
    while (next < count && !isHalted(whole)) await runOne(next++)
  }
  const workers = []
  for (let i = 0; i < Math.min(settings.concurrency ?? 1, count); i++) workers.push(worker())
  try {
    await withinLimit(
      step,
      options.timeoutMs,
      () => Promise.all(workers),
      (cause) => context.run.halt(whole, undefined, cause, path)
    )
  } catch {
    throw causeOf(whole)
  }
  return { results, failed }
}
