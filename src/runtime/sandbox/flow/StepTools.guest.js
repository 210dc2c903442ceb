/** What bodies of steps are given: services and timers whose calls belong to the step; and its pauses and limits of time. */
// --- Time ---

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
  const capped = min(raw, retry.maxMs ?? 60000)
  return round(capped * (1 + (retry.jitter ?? 0.2) * (2 * (random32() / 4294967296) - 1)))
}

/**
 * A host call that waits.
 * @param {any} place
 * @param {number} millis
 * @param {unknown} [result] what it gives
 */
const sleepAt = (place, millis, result) => {
  const wait = +millis
  if (!isFiniteNumber(wait) || wait > limits.timer)
    throw new NativeTypeError("a step waits for a number of milliseconds, " + limits.timer + " at most")
  const left = wait > 0 ? wait : 0
  return call("timer.sleep", result === undefined ? [left] : [left, result], undefined, place)
}
/**
 * Waits of the service between attempts are numbered from here, so that the body's calls keep their numbers; then what limits
 * an attempt's time, and the question for an output. Results of an earlier run are not used for them (`RunJournal`).
 */
const serviceCalls = 1_000_000
const timeLimit = 2_000_000
const inquiry = 3_000_000
const sleepAtNumber = ({ path, scope }, number, millis) => {
  const place = placeAt(path, scope)
  place.calls = number
  return sleepAt(place, millis)
}

const settle = async (task, resolve, reject) => {
  try {
    resolve(await task)
  } catch (cause) {
    reject(cause)
  }
}
/**
 * Ends with a transient error what takes too long, which `giveUp` ends in the step before.
 * @param {any} step
 * @param {string} what takes the time, for the message
 * @param {number | undefined} millis undefined: without end
 */
const withinTime = (step, what, millis, run, giveUp) => {
  if (millis === undefined) return run()
  let isOver = false
  const inTime = async () => {
    try {
      return await run()
    } finally {
      isOver = true
    }
  }
  const late = async () => {
    await sleepAtNumber(step, timeLimit, millis)
    const cause = stepError("StepTimedOut", "STEP_TIMED_OUT", "transient", what + " may take " + millis + " ms")
    if (!isOver) giveUp(cause)
    throw cause
  }
  return new NativePromise((resolve, reject) => {
    settle(inTime(), resolve, reject)
    settle(late(), resolve, reject)
  })
}
/**
 * The same for a gate or loop, whose lists `halt` halts.
 * @param {any} token of its step
 */
const withinLimit = (token, millis, run, halt) => withinTime(stepOf(token), "this step", millis, run, halt)

// --- Tools ---

const NativeProxy = Proxy
const refuseChange = () => {
  throw new NativeTypeError("svc cannot be changed")
}
/** Makes the prototype of a proxy's handlers, which nothing that a workflow changes is asked for. */
const sealTraps = (prototype) => {
  setPrototypeOf(prototype, null)
  for (const name of ["set", "defineProperty", "deleteProperty", "setPrototypeOf"]) prototype[name] = refuseChange
  prototype.preventExtensions = () => false
  freeze(prototype)
}
const callable = () => {}
/** A path below `svc.connector`, as the prelude makes it, in a third of the time: most steps are one such call. */
class ConnectorPath {
  /**
   * @param {string} name
   * @param {any} place
   * @param {string} [connector]
   * @param {string} [action]
   */
  constructor(name, place, connector, action) {
    this.name = name
    this.place = place
    this.connector = connector
    this.action = action
  }
  get(_, member) {
    const { action, connector, name, place } = this
    if (typeof member !== "string" || member === "then" || member === "toJSON") return undefined
    // An action has members of its own.
    if (connector !== undefined && action !== undefined) return servicesOf(place).connector[connector][action][member]
    const path = name + "." + member
    return new NativeProxy(
      callable,
      connector === undefined
        ? new ConnectorPath(path, place, member)
        : new ConnectorPath(path, place, connector, member)
    )
  }
  apply(_, __, args) {
    return call(this.name, args, undefined, this.place)
  }
}
sealTraps(ConnectorPath.prototype)
const unchanged = freeze({ __proto__: null })
/** `svc` for a step: its calls belong to it. */
class StepServices {
  /** @param {any} place */
  constructor(place) {
    this.place = place
    this.others = undefined
  }
  get(_, member) {
    if (member === "connector" || member === "connectors")
      return new NativeProxy(callable, new ConnectorPath("connector", this.place))
    return (this.others ??= servicesOf(this.place))[member]
  }
}
sealTraps(StepServices.prototype)
/** What the body of a step is given: services and timers whose calls belong to it. Each is made when it is asked for. */
class StepTools {
  #place
  constructor(place) {
    this.#place = place
  }
  get services() {
    return new NativeProxy(unchanged, new StepServices(this.#place))
  }
  get fetch() {
    return fetchOf(this.#place)
  }
  get setTimeout() {
    return setTimer("setTimeout", false, this.#place)
  }
  get setInterval() {
    return setTimer("setInterval", true, this.#place)
  }
  sleep(millis, result) {
    return sleepAt(this.#place, millis, result)
  }
  state(scope, key) {
    return call("state.get", [textOf(key, 1_000), { scope: textOf(scope, 20) }], undefined, this.#place)
  }
}
freeze(StepTools.prototype)
