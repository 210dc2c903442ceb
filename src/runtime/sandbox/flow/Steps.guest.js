/**
 * Steps: parts of a run with a name, which the trace shows, and which are retried by themselves. A script that uses
 * `svc.step` brings this along; `host` holds the parts of the prelude that it needs. What a workflow changes of the
 * built-ins changes this too, for its own run.
 */

const { call, define, describe, emit, ending, explained, isError, isObject, isOutOfMemory, json, limits } = host
const { messageOf, nextRow, placeAt, random32, read, servicesOf, stringify, textOf } = host

/** The value as a member of an output; a large one is left out, and its size is given. */
const valueText = (name, value) => {
  const text = json(value)
  return text.length > limits.stepValue ? ',"' + name + 'Size":' + text.length : ',"' + name + '":' + text
}
/** The error of a step as a member of its output. */
const failureText = (cause) => {
  if (!isObject(cause))
    return ',"e":{"name":"Error","message":' + stringify(textOf(describe(cause), limits.message)) + "}"
  const code = read(cause, "code")
  const category = read(cause, "category")
  return (
    ',"e":{"name":' +
    stringify(textOf(read(cause, "name"), 200) || "Error") +
    ',"message":' +
    stringify(explained(textOf(read(cause, "name"), 200), messageOf(cause))) +
    (typeof code === "string" ? ',"code":' + stringify(textOf(code, 200)) : "") +
    (typeof category === "string" ? ',"category":' + stringify(textOf(category, 20)) : "") +
    "}"
  )
}

/**
 * Reports a step's state. `more`: further members as text.
 * @param {{ row: number, path: string, parent?: string | undefined, type: string, startedAt: number }} step
 * @param {"running" | "waiting" | "completed" | "failed" | "skipped"} status
 * @param {string} [more]
 */
const reportStep = (step, status, more = "") =>
  emit(
    '{"t":"step","r":' +
      step.row +
      ',"p":' +
      stringify(step.path) +
      (step.parent === undefined ? "" : ',"of":' + stringify(step.parent)) +
      ',"k":' +
      stringify(step.type) +
      ',"s":"' +
      status +
      '","at":' +
      step.startedAt +
      more +
      "}"
  )

const isTransient = (cause) => isObject(cause) && read(cause, "category") === "transient"
/** An error of the service with a code. */
const stepError = (name, code, category, message) => {
  const error = new Error(message)
  define(error, "name", name, false)
  define(error, "code", code, true)
  define(error, "category", category, true)
  return error
}
const abortedError = () => stepError("Aborted", "ABORTED", "cancelled", "another step has failed, which ends the run")

/** The pause before attempt `next`: 2 is the first retry. */
const pauseBefore = (retry, next) => {
  const initial = retry.initialMs ?? 1000
  const n = next - 2
  const raw =
    retry.backoff === "fixed"
      ? initial
      : retry.backoff === "linear"
        ? initial * (n + 1)
        : initial * (retry.coefficient ?? 2) ** n
  const capped = raw < (retry.maxMs ?? 60000) ? raw : (retry.maxMs ?? 60000)
  return Math.round(capped * (1 + (retry.jitter ?? 0.2) * (2 * ((random32() >>> 0) / 4294967296) - 1)))
}

/** Calls of the service between the attempts of a step are numbered from here, so that the body's calls keep their numbers. */
const serviceCalls = 1_000_000
const sleepIn = (path, nth, millis) => {
  const place = placeAt(path)
  place.calls = serviceCalls + nth
  return call("timer.sleep", [millis], undefined, place)
}

/** Ends the body with a transient error when it takes too long; it can make no more calls then. */
const withinTime = (place, millis, body) => {
  if (millis === undefined) return body(place)
  const late = sleepIn(place.path, serviceCalls, millis).then(() => {
    throw stepError("StepTimedOut", "STEP_TIMED_OUT", "transient", "an attempt of this step may take " + millis + " ms")
  })
  return Promise.race([body(place), late])
}

/**
 * Runs a body until an attempt succeeds, fails for good, or was the last one. `failed`: told of each failed attempt.
 * @param {string} path
 * @param {{ retry?: any, timeoutMs?: number }} options
 * @param {(place: any) => unknown} body
 * @param {(startedAt: number, cause: unknown) => void} failed
 */
const attempted = async (path, { retry, timeoutMs }, body, failed) => {
  const most = retry?.maxAttempts ?? 1
  for (let attempt = 1; ; attempt++) {
    const place = placeAt(path)
    const startedAt = host.now()
    try {
      return await withinTime(place, timeoutMs, body)
    } catch (cause) {
      if (cause === null || isOutOfMemory(cause)) throw cause
      place.closed = cause
      failed(startedAt, cause)
      if (attempt >= most || !isTransient(cause)) throw cause
      await sleepIn(path, attempt, pauseBefore(retry, attempt + 1))
    }
  }
}

/** The failed attempts of a step as a member of its output. */
const attemptsText = (list) => (list === "" ? "" : ',"a":[' + list + "]")

const stepsAtPath = new Map()
/** The path of the next step with this name: a second one has its number. */
const nextPath = (outer, name) => {
  const path = outer === undefined ? name : outer.path + "." + name
  const nth = (stepsAtPath.get(path) ?? 0) + 1
  stepsAtPath.set(path, nth)
  return nth === 1 ? path : path + "#" + nth
}
const isStepName = (name) => typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)

/**
 * `svc.step(name, options, body)`: runs the body, whose argument is `svc` for the step's own calls.
 * @param {{ path: string }} [outer] the step around it
 */
const stepIn =
  (outer) =>
  async (name, options, body = options) => {
    if (!isStepName(name)) throw new TypeError("svc.step takes a name of letters, digits and underscores, 64 at most")
    if (typeof body !== "function")
      throw new TypeError("svc.step takes a function: svc.step(name, options, async (svc) => …)")
    const settings = isObject(options) && options !== body ? options : {}
    const step = {
      row: nextRow(),
      path: nextPath(outer, name),
      parent: outer?.path,
      type: "step",
      startedAt: host.now()
    }
    let failures = ""
    const failed = (startedAt, cause) => {
      failures += (failures === "" ? "" : ",") + '{"at":' + startedAt + ',"to":' + host.now() + failureText(cause) + "}"
    }
    reportStep(step, "running")
    try {
      const value = await attempted(step.path, settings, (place) => body(servicesOf(place)), failed)
      reportStep(step, "completed", valueText("v", value) + attemptsText(failures))
      return value
    } catch (cause) {
      reportStep(step, "failed", failureText(cause) + attemptsText(failures))
      if (settings.onError !== "continue") {
        if (isError(cause) && read(cause, "step") === undefined) define(cause, "step", step.path, true)
        throw cause
      }
      ending.hasFailures = true
      return null
    }
  }
