const { apply, construct, defineProperty, ownKeys } = Reflect
const { freeze, keys, getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object
const { parse, stringify } = JSON
const { isFinite } = Number
const NativePromise = Promise
const NativeError = Error
const NativeInternalError = InternalError
const NativeTypeError = TypeError
const NativeString = String
const NativeArrayBuffer = ArrayBuffer
const NativeUint8Array = Uint8Array
const unbound = (method) => (self, ...args) => apply(method, self, args)
const mapGet = unbound(Map.prototype.get)
const mapSet = unbound(Map.prototype.set)
const mapDelete = unbound(Map.prototype.delete)
const mapSize = unbound(getOwnPropertyDescriptor(Map.prototype, "size").get)
const weakGet = unbound(WeakMap.prototype.get)
const weakSet = unbound(WeakMap.prototype.set)
const slice = unbound(String.prototype.slice)
const indexOf = unbound(String.prototype.indexOf)
const isWellFormed = unbound(String.prototype.isWellFormed)
const toWellFormed = unbound(String.prototype.toWellFormed)
const join = unbound(Array.prototype.join)
const withoutPrototype = Object.setPrototypeOf
const newList = () => withoutPrototype([], null)
/** Asks the value's prototypes, which a Proxy may answer with an error. */
const isA = (value, Kind) => { try { return value instanceof Kind } catch { return false } }
const isError = (value) => isA(value, NativeError)
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function"
/** Sets a property without asking setters or prototypes. */
const define = (target, name, value, enumerable) =>
  defineProperty(target, name, { __proto__: null, value, enumerable, writable: true, configurable: true })
const global = (name, value) => define(globalThis, name, value, false)

// Frames of a stack would lead to the functions of this prelude: there is no hook that is shown them.
defineProperty(Error, "prepareStackTrace", { __proto__: null, get: () => undefined, set: () => {}, configurable: false })

// --- State of the run ---

let started = false
let ended = false
/** Pieces of text, joined when they are taken. Without a prototype, so that writing to it asks nobody. */
let outbox = newList()
let outputs = 0
let outboxLength = 0
let outOfMemory = false
let threwNull = false
let saysTooMuch = false
let calls = 0
let logLines = 0
let now = 0
let workflow
const pending = new Map()

/** Ends the run when it says more in one step than is ever taken, so that what it said need not be kept until then. */
const emit = (text) => {
  outboxLength += text.length
  if (outboxLength > limits.outbox) {
    saysTooMuch = ended = true
    outbox = newList()
    outputs = 0
    throw new NativeInternalError("the workflow says more at once than " + limits.outbox + " characters")
  }
  outbox[outputs++] = text
}

/** The value as JSON text; what JSON has no place for becomes null. */
const json = (value) => {
  const text = stringify(value)
  return text === undefined ? "null" : text
}

/** Time and chance belong to a run: before one there is neither. */
const insideRun = (what) => {
  if (!started) throw new NativeError(what + " is not available while the workflow loads: use it inside the workflow's function")
}

// --- Host calls ---

const isOutOfMemory = (cause) => isA(cause, NativeInternalError) && read(cause, "message") === "out of memory"
const argumentsText = (name, args) => {
  let text = ""
  for (let i = 0; i < args.length; i++) {
    let one
    if (typeof args[i] === "number" && !isFinite(args[i])) {
      throw new NativeTypeError("argument " + (i + 1) + " of " + name + " cannot be sent as JSON: it is " + args[i])
    }
    try { one = json(args[i]) } catch (cause) {
      if (cause === null || isOutOfMemory(cause)) throw cause
      throw new NativeTypeError("argument " + (i + 1) + " of " + name + " cannot be sent as JSON: " + messageOf(cause))
    }
    text = i === 0 ? one : text + "," + one
  }
  return text
}
/** "convert" makes what the workflow gets from the result. */
const call = (name, args, convert) => {
  insideRun("svc." + name)
  let text
  try { text = argumentsText(name, args) } catch (cause) {
    // As a rejection that nobody awaits, it would let a loop of calls run on without memory.
    if (cause === null || isOutOfMemory(cause)) throw cause
    return new NativePromise((_, reject) => reject(cause))
  }
  if (ended) return new NativePromise(() => {})
  const id = calls++
  // Before the promise: what fails inside its executor would be such a rejection too.
  emit('{"t":"call","id":' + id + ',"name":' + stringify(toWellFormed(name)) + ',"args":[' + text + "]}")
  return new NativePromise((resolve, reject) => { mapSet(pending, id, { __proto__: null, resolve, reject, convert }) })
}

// --- Computations ---

/** What the runner computes for the guest, one after the other; it is done before the step ends. */
const computations = newList()
let computed = 0
let computing = 0
/** "data" is a buffer, or text for "base64-decode". */
const compute = (name, key, data) => new NativePromise((resolve) => {
  computations[computing++] = freeze({ __proto__: null, 0: name, 1: key, 2: data, resolve })
})
/** The computation that is next; undefined when there is none. */
const nextComputation = () => computations[computed]
/** Takes the result's bytes over into memory that counts as the guest's. */
const computationDone = (result) => {
  const { resolve } = computations[computed]
  delete computations[computed++]
  if (computed === computing) computed = computing = 0
  resolve(bufferOf(new NativeUint8Array(result)))
}

// --- Errors ---

class ConnectorError extends Error {}
define(ConnectorError.prototype, "name", "ConnectorError", false)
global("ConnectorError", ConnectorError)
const kinds = { __proto__: null, ConnectorError, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError }
/** Data of a failed host call that is no object, kept for the case that the workflow throws the error on. */
const bareData = new WeakMap()
const notData = { __proto__: null, name: true, message: true, stack: true, code: true }

/** The Error that a failed host call is seen as. */
const hostError = (failure) => {
  const Kind = kinds[failure.name] ?? NativeError
  const error = new Kind(failure.message)
  if (error.name !== failure.name) define(error, "name", failure.name, false)
  if (hasOwn(failure, "data")) {
    const data = failure.data
    if (isObject(data) && !isArray(data)) {
      const members = keys(data)
      for (let i = 0; i < members.length; i++) {
        const member = members[i]
        if (member !== "name" && member !== "message" && member !== "stack") define(error, member, data[member], true)
      }
    } else {
      weakSet(bareData, error, json(data))
      define(error, "data", data, true)
    }
  }
  if (hasOwn(failure, "code")) define(error, "code", failure.code, true)
  return error
}
const isArray = Array.isArray

const read = (value, member) => { try { return value[member] } catch { return undefined } }
const textOf = (value, most) => typeof value === "string" ? toWellFormed(slice(value, 0, most)) : ""
const messageOf = (cause) => isObject(cause) ? textOf(read(cause, "message"), limits.message) : describe(cause)
const describe = (value) => {
  if (typeof value === "string") return value
  if (typeof value === "bigint") return NativeString(value) + "n"
  if (typeof value === "symbol") return "a symbol"
  if (typeof value === "function") return "[function]"
  if (value === undefined) return "undefined"
  if (isError(value)) {
    const stack = textOf(read(value, "stack"), limits.stack)
    return textOf(read(value, "name"), 200) + ": " + messageOf(value) + (stack === "" ? "" : "\n" + ownFrames(stack))
  }
  try { return json(value) } catch { return "[unserialisable]" }
}

/** A stack without the lines of this prelude, which tell its reader nothing. */
const ownFrames = (stack) => {
  let kept = ""
  let at = 0
  while (at < stack.length) {
    let end = indexOf(stack, "\n", at)
    if (end < 0) end = stack.length
    const line = slice(stack, at, end)
    if (indexOf(line, "(svc:") < 0 && indexOf(line, "(native)") < 0) kept = kept === "" ? line : kept + "\n" + line
    at = end + 1
  }
  return kept
}

const absent = {
  __proto__: null,
  Intl: "dates have toISOString, numbers toFixed; format for people where the output is shown",
  Buffer: "use Uint8Array, TextEncoder, TextDecoder, atob and btoa",
  require: "a workflow is one file; connectors are reached through svc.connector",
  process: "configuration is read with svc.envConfig.get, secrets with svc.secrets.get",
  WebAssembly: "write the computation in JavaScript",
  SharedArrayBuffer: "a workflow runs alone; use ArrayBuffer",
  Atomics: "a workflow runs alone; use plain variables",
  WeakRef: "when memory is collected would not replay; use WeakMap or Map",
  FinalizationRegistry: "when memory is collected would not replay; use try and finally",
  performance: "use Date.now(), which is the time of the last event",
  XMLHttpRequest: "use fetch",
  module: "a workflow is one file with one export default",
  exports: "a workflow is one file with one export default",
  global: "use globalThis",
  window: "use globalThis",
  setImmediate: "use queueMicrotask or setTimeout"
}
const explained = (name, message) => {
  if (name === "ReferenceError") {
    const end = indexOf(message, " is not defined")
    const missing = end > 0 ? slice(message, 0, end) : ""
    if (hasOwn(absent, missing)) return missing + " does not exist in a workflow: " + absent[missing]
    if (indexOf(message, "could not load module") === 0) {
      return "import() does not exist in a workflow: " + absent.require
    }
  }
  return message
}

/** Own members of a thrown object, or nothing when they cannot be sent. */
const dataOf = (value) => {
  const bare = weakGet(bareData, value)
  if (bare !== undefined) return bare
  let text = ""
  try {
    const members = keys(value)
    for (let i = 0; i < members.length; i++) {
      const member = members[i]
      if (notData[member] === true) continue
      const one = stringify(value[member])
      if (one === undefined) continue
      text += (text === "" ? "" : ",") + stringify(toWellFormed(member)) + ":" + one
      if (text.length > limits.errorData) return undefined
    }
  } catch { return undefined }
  return text === "" ? undefined : "{" + text + "}"
}

/** The output that ends a run whose function threw "value". */
const thrown = (value) => {
  if (!isObject(value)) {
    // The engine throws null when it has not even the memory for an error, and so may the workflow: the runner tells.
    if (value === null) threwNull = true
    return '{"t":"throw","e":{"name":"Error","message":' + stringify(textOf(describe(value), limits.message)) + "}}"
  }
  const name = textOf(read(value, "name"), 200) || "Error"
  let message = textOf(read(value, "message"), limits.message)
  if (isOutOfMemory(value)) outOfMemory = true
  if (message === "" && !isError(value)) message = textOf(describe(value), limits.message)
  const code = read(value, "code")
  const stack = ownFrames(textOf(read(value, "stack"), limits.stack))
  const data = dataOf(value)
  return '{"t":"throw","e":{"name":' + stringify(name) + ',"message":' + stringify(explained(name, message)) +
    (typeof code === "string" || typeof code === "number" ? ',"code":' + stringify(textOf("" + code, 200)) : "") +
    (data === undefined ? "" : ',"data":' + data) +
    (stack === "" ? "" : ',"stack":' + stringify(stack)) + "}}"
}

// --- The run ---

const end = (text) => {
  if (ended) return
  ended = true
  emit(text)
}
const fail = (value) => { if (!ended) end(thrown(value)) }

/** A result that JSON cannot hold is the workflow's error, said in its own words. */
const returned = (value) => {
  let text
  try { text = json(value) } catch (cause) {
    const error = new NativeTypeError("the workflow's result cannot be sent as JSON: " + messageOf(cause))
    define(error, "stack", "", false)
    return fail(error)
  }
  end('{"t":"ret","v":' + text + "}")
}

const run = async (ctx) => {
  let value
  try { value = await workflow(ctx) } catch (cause) { return fail(cause) }
  returned(value)
}

/** Code that runs by itself, such as a timer's: what it throws has nobody else to go to but the run. */
const runDetached = (task, args) => {
  try { apply(task, undefined, args) } catch (cause) { fail(cause) }
}

/** Delivers one event. The microtasks that follow from it run before the next. */
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
  const waiting = mapGet(pending, event.id)
  if (waiting === undefined || ended) return
  mapDelete(pending, event.id)
  if (event.ok) waiting.resolve(waiting.convert === undefined ? event.v : waiting.convert(event.v))
  else waiting.reject(hostError(event.e))
}

/**
 * Takes the outputs: a letter of state (running, stuck, ended, ended by null, out of memory, too large) and a JSON array; or, before
 * that, "c" alone while there is something to compute.
 */
const take = () => {
  if (computed < computing && !ended) return "c"
  const state = saysTooMuch ? "o" : ended ? (outOfMemory ? "m" : threwNull ? "n" : "e") : mapSize(pending) === 0 ? "s" : "r"
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
