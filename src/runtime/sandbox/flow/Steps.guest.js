/**
 * Steps: parts of a run with a name, which the trace shows, and which are retried by themselves. The engine evaluates this
 * before the workflow's code. Like the prelude it uses nothing that such code can change, and all text of outputs is made
 * here: what a workflow can get hold of through the flow library, which uses ordinary built-ins, are tokens of steps.
 */
const { call, describe, emit, ending, explained, isError, isFiniteNumber, isObject, isOutOfMemory, json, limits } = host
const { define, fetchOf, freeze, mapGet, mapSet, messageOf, NativeError, NativePromise, NativeTypeError } = host
const { parse, placeAt, random32, read, servicesOf, setTimer, stringify, textOf, weakGet, weakSet } = host
const { min, round } = Math
const { isInteger } = Number
const { setPrototypeOf } = Object

/** Characters of the path of a step, targets without a value that one step names, and its attempts. */
const longestPath = 1_000
const mostMissing = 100
const mostAttempts = 10
/** Steps of a run: as many as a loop may make, and those of a flow around it. */
const mostSteps = limits.calls + 200

/** An error of the service with a code. */
const stepError = (name, code, category, message) => {
  const error = new NativeError(message)
  define(error, "name", name, false)
  define(error, "code", code, true)
  define(error, "category", category, true)
  return error
}
const isTransient = (cause) => isObject(cause) && read(cause, "category") === "transient"

// --- Reports ---

/** What is known of a step, by its token. */
const steps = new WeakMap()
let stepCount = 0
const madeSteps = () => stepCount

/** The step around the last one, and that as a member of an output: the steps of a loop have the same. */
let lastParent
let lastOf = ""
const ofText = (path) => ',"of":' + stringify(path)
/**
 * A token of a new step.
 * @param {string} path
 * @param {string | undefined} parent
 * @param {string} type
 * @param {any} list the list that it stands in
 */
const newStep = (path, parent, type, list) => stepInScope(path, parent, type, scopeOf(list))
const stepInScope = (path, parent, type, scope) => {
  if (++stepCount > mostSteps)
    throw stepError("TooManySteps", "TOO_MANY_STEPS", "code", "a run may have " + mostSteps + " steps")
  const name = textOf(path, longestPath + 1)
  if (name === "" || name.length > longestPath)
    throw new NativeTypeError("the names of steps in each other have at most " + longestPath + " characters together")
  const token = freeze({ __proto__: null })
  if (parent !== lastParent) {
    lastParent = parent
    lastOf = parent === undefined ? "" : ofText(textOf(parent, longestPath))
  }
  weakSet(steps, token, {
    __proto__: null,
    row: -1,
    path: name,
    scope,
    of: lastOf,
    type: textOf(type, 20),
    startedAt: host.now(),
    attempts: "",
    missing: undefined,
    /** Its input as a member of an output. */
    input: "",
    /** Its own host call reports it. */
    isReported: false,
    /** It has ended, and is not reported again. */
    isOver: false
  })
  return token
}
const stepOf = (token) => {
  const step = weakGet(steps, token)
  if (step === undefined) throw new NativeTypeError("this is no step of the flow")
  return step
}

/** The value as a member of an output; a large one is left out, and its size is given. */
const memberText = (name, value) => {
  const text = json(value)
  return text.length > limits.stepValue ? ',"' + name + 'Size":' + text.length : ',"' + name + '":' + text
}
const valueText = (value) => memberText("v", value)
const failureText = (cause) => {
  if (!isObject(cause))
    return ',"e":{"name":"Error","message":' + stringify(textOf(describe(cause), limits.message)) + "}"
  const name = textOf(read(cause, "name"), 200) || "Error"
  const code = read(cause, "code")
  const category = read(cause, "category")
  return (
    ',"e":{"name":' +
    stringify(name) +
    ',"message":' +
    stringify(textOf(explained(name, messageOf(cause)), limits.message)) +
    (typeof code === "string" ? ',"code":' + stringify(textOf(code, 200)) : "") +
    (typeof category === "string" ? ',"category":' + stringify(textOf(category, 20)) : "") +
    "}"
  )
}
/** The targets whose expression had no value. */
const missingText = (missing) => {
  if (missing === undefined) return ""
  let text = ""
  const count = min(missing.length, mostMissing)
  for (let i = 0; i < count; i++) {
    const one = textOf(missing[i], 200)
    text += (i === 0 ? "" : ",") + stringify(one)
  }
  return text === "" ? "" : ',"z":[' + text + "]"
}

/** Reports a step's state. `rest`: further members as text. */
const reportRecord = (step, status, rest) => {
  if (host.isEnded() || step.isOver) return
  if (status !== "running") closeStep(step)
  if (step.row < 0) step.row = host.nextRow()
  const text =
    '{"t":"step","r":' + step.row + ',"p":' + stringify(step.path) + step.of + ',"k":' + stringify(step.type) + ',"s":"'
  emit(text + status + '","at":' + step.startedAt + step.input + rest + "}")
}
const attemptsText = (step) => (step.attempts === "" ? "" : ',"a":[' + step.attempts + "]")

/** Reports that a step was skipped. */
const reportSkipped = (token) => reportRecord(stepOf(token), "skipped", "")
/**
 * Notes that a step has begun, which must end, and reports it if it is shown by then.
 * @param {any} missing the targets whose expression had no value, also those found later
 */
const beginStep = (token, missing, isShown) => {
  const step = stepOf(token)
  openStep(step, missing)
  if (isShown === true) reportRecord(step, "running", "")
}
/** Notes what a step was given, which its reports show. */
const noteInput = (token, value) => {
  stepOf(token).input = memberText("i", value)
}
/** Notes that the output of a step is what it was given. */
const noteSameInput = (token) => {
  stepOf(token).input = ',"same":true'
}
/** Reports that a step runs, with what it was given. In a later attempt it has the same. */
const showInput = (token, value) => {
  const step = stepOf(token)
  if (step.row >= 0) return
  step.input = memberText("i", value)
  reportRecord(step, "running", "")
}
/**
 * Reports the result of a step, unless its own host call does.
 * @param {boolean} [isKept] a run that resumes this one takes the result, instead of the step
 */
const reportValue = (token, value, missing, isKept) => {
  const step = stepOf(token)
  const kept = isKept === true ? ',"keep":true' : ""
  reportRecord(step, "completed", valueText(value) + kept + missingText(missing) + attemptsText(step))
}
/** Reports the failure of a step, unless its own host call does. */
const reportFailure = (token, cause, missing) => {
  const step = stepOf(token)
  step.missing = missing
  if (!step.isReported) reportFailed(step, cause)
}
const reportFailed = (step, cause) =>
  reportRecord(step, "failed", failureText(cause) + missingText(step.missing) + attemptsText(step))

// --- Attempts ---

/**
 * Runs the body of a step until an attempt succeeds, fails for good, or was the last one. `isOwn`: its one host call is the
 * step itself, and names the targets in `missing`.
 */
const attempted = async (token, settings, body, isOwn, missing) => {
  const step = stepOf(token)
  const retry = settings.retry ?? undefined
  const most = retry === undefined ? 1 : min(retry.maxAttempts ?? 1, mostAttempts)
  for (let attempt = 1; ; attempt++) {
    const scope = settings.timeoutMs === undefined ? step.scope : scopeWithin(step.scope)
    const place = placeAt(step.path, scope)
    if (isOwn) place.more = () => ',"own":' + stringify(step.type) + step.of + missingText(missing)
    const startedAt = host.now()
    const run = () => {
      const made = body(new StepTools(place))
      step.isReported = isOwn && place.calls > 0
      return made
    }
    try {
      return await withinTime(step, "an attempt of this step", settings.timeoutMs, run, (cause) => {
        scope.closed = cause
        if (host.cancelCalls !== undefined) host.cancelCalls()
      })
    } catch (cause) {
      if (cause === null || isOutOfMemory(cause)) throw cause
      place.closed = cause
      step.attempts +=
        (step.attempts === "" ? "" : ",") + '{"at":' + startedAt + ',"to":' + host.now() + failureText(cause) + "}"
      if (!(attempt < most) || !isTransient(cause)) throw cause
      await sleepAtNumber(step, serviceCalls + attempt, pauseBefore(retry, attempt + 1))
    }
  }
}

let inquiries = 0
/** Host calls of the run so far, but for these questions, which count towards no limit. */
const madeCalls = () => host.madeCalls() - inquiries
/**
 * The result of the step in the run that this one resumes, which is reported; undefined if that run has not completed it.
 * @returns {Promise<{ value: any } | undefined>}
 */
const keptResult = async (token) => {
  const step = stepOf(token)
  const place = placeAt(step.path, step.scope)
  place.calls = inquiry
  inquiries++
  let value
  try {
    value = await call("step.output", [step.path], undefined, place)
  } catch (cause) {
    if (cause === null || isOutOfMemory(cause)) throw cause
    return undefined
  }
  reportRecord(step, "completed", valueText(value) + ',"reused":true')
  return { value }
}

// --- svc.step ---

const stepsAtPath = new Map()
/** The path of the next step with this name: a second one has its number. */
const nextPath = (outer, name) => {
  const path = outer === undefined ? name : outer.path + "." + name
  const nth = (mapGet(stepsAtPath, path) ?? 0) + 1
  mapSet(stepsAtPath, path, nth)
  return nth === 1 ? path : path + "#" + nth
}
const stepName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

/**
 * `svc.step(name, options, body)`: runs the body, whose argument is `svc` for the step's own calls.
 * @param {any} outer the place of the step around it
 */
const stepIn =
  (outer) =>
  async (name, options, body = options) => {
    if (typeof name !== "string" || !host.matches(stepName, name))
      throw new NativeTypeError("svc.step takes a name of letters, digits and underscores, 64 at most")
    if (typeof body !== "function")
      throw new NativeTypeError("svc.step takes a function: svc.step(name, options, async (svc) => …)")
    const settings = isObject(options) && options !== body ? options : {}
    if (outer !== undefined && isClosed(outer.scope)) throw abortedError()
    const token = stepInScope(nextPath(outer, name), outer?.path, "step", outer?.scope)
    beginStep(token, undefined, true)
    try {
      const value = await attempted(token, settings, ({ services }) => body(services), false, undefined)
      reportValue(token, value, undefined)
      return value
    } catch (cause) {
      if (cause === null || isOutOfMemory(cause)) throw cause
      reportFailure(token, cause, undefined)
      if (outer !== undefined && isClosed(outer.scope)) throw cause
      if (settings.onError !== "continue") {
        if (ending.failed === undefined || ending.failed.cause !== cause)
          noteFailed(cause, stepOf(token).path, undefined)
        throw cause
      }
      noteFailure()
      return null
    }
  }

// --- For the flow library ---

/** The value as plain JSON. */
const plain = (value) => parse(json(value))

/** Says with which status a flow is answered. */
const answerWith = (status) => {
  if (isInteger(status) && status >= 200 && status <= 599) ending.status = status
}
/** Says what the caller of a failed flow is answered. */
const answerFailure = (status, body) => {
  if (!isInteger(status) || status < 200 || status > 599 || ending.reply !== undefined) return
  ending.reply = '{"status":' + status + ',"body":' + json(body) + "}"
}
/** Says at which step of a flow a run fails that ends with this value, and the stack that its error shows. */
const noteFailed = (cause, step, stack) => {
  ending.failed = {
    __proto__: null,
    cause,
    step: typeof step === "string" ? ',"step":' + stringify(textOf(step, longestPath)) : undefined,
    stack: typeof stack === "string" ? stack : undefined
  }
}
/** A step has failed, and the run went on. */
const noteFailure = () => {
  ending.hasFailures = true
}
