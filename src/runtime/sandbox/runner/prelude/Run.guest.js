/** The run: the functions by which the runner drives a guest. */
/** @param {string} text */
const end = (text) => {
  if (ended) return
  ended = true
  emit(text)
}
const fail = (value) => {
  if (!ended) end(thrown(value))
}

const endText = () =>
  (ending.status === undefined ? "" : ',"status":' + ending.status) + (ending.hasFailures ? ',"continued":true' : "")

/** Ends the run with its result. One that JSON cannot hold is the workflow's error. */
const returned = (value) => {
  let text
  try {
    text = json(value)
  } catch (cause) {
    const error = new NativeTypeError("the workflow's result cannot be sent as JSON: " + messageOf(cause))
    define(error, "stack", "", false)
    return fail(error)
  }
  end('{"t":"ret","v":' + text + endText() + "}")
}

const run = async (ctx) => {
  let value
  try {
    value = await workflow(ctx)
  } catch (cause) {
    return fail(cause)
  }
  returned(value)
}

/**
 * Runs code that no other code awaits, such as a timer's: what it throws fails the run.
 * @param {Function} task
 * @param {unknown[]} args
 */
const runDetached = (task, args) => {
  try {
    apply(task, undefined, args)
  } catch (cause) {
    fail(cause)
  }
}

/**
 * Delivers one event. The microtasks that follow from it run before the next.
 * @param {string} text
 */
const step = (text) => {
  const event = parse(text)
  now = event.now
  if (event.t === "start") {
    started = true
    seed(event.seed)
    const ctx = event.ctx
    if (isObject(ctx)) define(ctx, "connectors", connector, false)
    run(ctx)
    return
  }
  /** @type {PendingCall | undefined} */
  const waiting = mapGet(pending, event.id)
  if (waiting === undefined || ended) return
  mapDelete(pending, event.id)
  if (event.ok) waiting.resolve(waiting.convert === undefined ? event.v : waiting.convert(event.v))
  else waiting.reject(hostError(event.e))
}

/**
 * Takes the outputs: a letter of state (running, stuck, ended, ended by null, out of memory, outputs too large) and a JSON
 * array; or, before that, "c" alone while there is something to compute.
 */
const take = () => {
  if (computed < computing && !ended) return "c"
  const state = saysTooMuch
    ? "o"
    : ended
      ? outOfMemory
        ? "m"
        : threwNull
          ? "n"
          : "e"
      : mapSize(pending) === 0
        ? "s"
        : "r"
  const text = state + "[" + join(outbox, ",") + "]"
  outbox = newList()
  outputs = 0
  outboxLength = 0
  return text
}

/** Takes the workflow's function off the global object once its script has run. */
const load = () => {
  const found = getOwnPropertyDescriptor(globalThis, "__workflow")
  if (found === undefined || typeof found.value !== "function") {
    throw new TypeError("the script sets no workflow: globalThis.__workflow must be a function")
  }
  workflow = found.value
  delete globalThis.__workflow
}

/** The parts of the prelude that the library of a script is made of. */
const libraryHost = () => ({
  __proto__: null,
  call,
  cancelCalls,
  closedBy,
  define,
  describe,
  emit,
  ending,
  explained,
  fetchOf,
  freeze,
  isError,
  isFiniteNumber,
  isObject,
  isOutOfMemory,
  json,
  limits,
  mapGet,
  mapSet,
  messageOf,
  NativeError,
  NativePromise,
  NativeTypeError,
  parse,
  placeAt,
  random32,
  read,
  servicesOf,
  setTimer,
  stringify,
  textOf,
  weakGet,
  weakSet,
  matches: unbound(RegExp.prototype.test),
  nextRow: () => rows++,
  isEnded: () => ended,
  pending,
  now: () => now,
  madeCalls: () => calls
})
/**
 * Takes the library of the script, which is evaluated before the workflow's code: that can neither bring nor reach it. Gives
 * its function that tells in which step the guest stands.
 */
const bring = (make) => (library = make(libraryHost())).standing
