/**
 * The base of all other parts, and the host calls. It captures the built-ins that it needs before any code of the workflow
 * runs, and afterwards uses nothing that such code can change: no array methods, no iteration, no property of an object
 * that has a prototype. The outbox is text: each output is serialised when it is made.
 */
const { apply, construct, defineProperty } = Reflect
const { freeze, keys, getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object
const { parse, stringify } = JSON
const isFiniteNumber = Number.isFinite
const NativePromise = Promise
const NativeError = Error
const NativeInternalError = InternalError
const NativeTypeError = TypeError
const NativeString = String
const NativeArrayBuffer = ArrayBuffer
const NativeUint8Array = Uint8Array
/**
 * The method as a function of its object, which finds it whatever the workflow has made of the prototypes.
 * @template {unknown[]} A
 * @template R
 * @param {(...args: A) => R} method
 * @returns {(self: unknown, ...args: A) => R}
 */
const unbound =
  (method) =>
  (self, ...args) =>
    apply(method, self, args)
const mapGet = unbound(Map.prototype.get)
const mapSet = unbound(Map.prototype.set)
const mapDelete = unbound(Map.prototype.delete)
const mapForEach = unbound(Map.prototype.forEach)
/** The getter of a built-in property, as `unbound` makes it. */
const getter = (prototype, name) =>
  unbound(/** @type {{ get: () => any }} */ (getOwnPropertyDescriptor(prototype, name)).get)
const mapSize = getter(Map.prototype, "size")
const weakGet = unbound(WeakMap.prototype.get)
const weakSet = unbound(WeakMap.prototype.set)
const slice = unbound(String.prototype.slice)
const indexOf = unbound(String.prototype.indexOf)
const toWellFormed = unbound(String.prototype.toWellFormed)
const join = unbound(Array.prototype.join)
const withoutPrototype = Object.setPrototypeOf
const newList = () => withoutPrototype([], null)
/** Reads the value's prototypes, which fails where a Proxy refuses it. */
const isA = (value, Kind) => {
  try {
    return value instanceof Kind
  } catch {
    return false
  }
}
const isError = (value) => isA(value, NativeError)
/** @returns {value is { [member: string]: any }} */
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function"
/** Sets a property without asking setters or prototypes. */
const define = (target, name, value, enumerable) =>
  defineProperty(target, name, { __proto__: null, value, enumerable, writable: true, configurable: true })
const global = (name, value) => define(globalThis, name, value, false)

// The engine passes frames to this hook, which lead to the functions of the prelude: a workflow cannot set one.
defineProperty(Error, "prepareStackTrace", {
  __proto__: null,
  get: () => undefined,
  set: () => {},
  configurable: false
})

// --- State of the run ---

let started = false
let ended = false
/** Pieces of text, joined when they are taken. Without a prototype, so that a write runs no setter of the workflow. */
let outbox = newList()
let outputs = 0
let outboxLength = 0
let outOfMemory = false
let threwNull = false
let saysTooMuch = false
let calls = 0
/** Rows of the trace so far: one for each host call and each step. */
let rows = 0
let logLines = 0
let now = 0
/** @type {(ctx: unknown) => unknown} */
let workflow
/**
 * What the script brings along of `src/runtime/sandbox/flow`: `svc.step`, and `svc.flow`. Places stay inside of it.
 * @type {{ stepIn: (place: Place | undefined) => Function, runFlow: Function, flowIn?: (place: Place) => Function, standing?: () => string } | undefined}
 */
let library
/**
 * What the run's end says beside its result: the status of its answer, whether a step has failed, the answer to an error, and
 * where a value was thrown.
 * @type {{ __proto__: null, status: number | undefined, hasFailures: boolean, reply: string | undefined, failed: FailedStep | undefined }}
 */
const ending = { __proto__: null, status: undefined, hasFailures: false, reply: undefined, failed: undefined }
/** The host calls without a result, by their id: a `PendingCall` each. */
const pending = new Map()

/**
 * Adds an output. Ends the run when it says more in one step than is ever taken, so that its outputs need not be kept until
 * then.
 * @param {string} text
 */
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

/**
 * The value as JSON text; what JSON has no place for becomes null.
 * @returns {string}
 */
const json = (value) => {
  const text = stringify(value)
  return text === undefined ? "null" : text
}

/**
 * Time and chance belong to a run: fails before one.
 * @param {string} what
 */
const insideRun = (what) => {
  if (!started)
    throw new NativeError(what + " is not available while the workflow loads: use it inside the workflow's function")
}

// --- Host calls ---

const isOutOfMemory = (cause) => isA(cause, NativeInternalError) && read(cause, "message") === "out of memory"
const argumentsText = (name, args) => {
  let text = ""
  for (let i = 0; i < args.length; i++) {
    let one
    if (typeof args[i] === "number" && !isFiniteNumber(args[i])) {
      throw new NativeTypeError("argument " + (i + 1) + " of " + name + " cannot be sent as JSON: it is " + args[i])
    }
    try {
      one = json(args[i])
    } catch (cause) {
      if (cause === null || isOutOfMemory(cause)) throw cause
      throw new NativeTypeError("argument " + (i + 1) + " of " + name + " cannot be sent as JSON: " + messageOf(cause))
    }
    text = i === 0 ? one : text + "," + one
  }
  return text
}
/** @param {string} path @param {HaltScope} [scope] @returns {Place} */
const placeAt = (path, scope) => ({ path, scope, calls: 0, refused: 0, more: undefined, closed: undefined })
/**
 * Why the lists of steps that the place stands in are halted; undefined: they are not.
 * @param {Place | undefined} place
 */
const haltedBy = (place) => {
  if (place === undefined) return undefined
  for (let scope = place.scope; scope !== undefined; scope = scope.parent)
    if (scope.closed !== undefined) return scope.closed
  return undefined
}
/**
 * Why the place may make no more calls; undefined: it may.
 * @param {Place | undefined} place
 */
const closedBy = (place) => (place === undefined ? undefined : (place.closed ?? haltedBy(place)))
/** Calls of a closed place that fail; later ones never settle, so that code which repeats them at once comes to rest. */
const mostRefused = 1_000
/** @param {Place} place */
const refused = (place, cause) =>
  new NativePromise((_, reject) => {
    if (place.refused++ < mostRefused) reject(cause)
  })
/**
 * Where a call belongs, as members of its output: its row in the trace, its step, and the number of the step's calls before.
 * @param {Place | undefined} place
 */
const placeText = (place) => {
  const row = rows++
  if (place === undefined) return row === calls ? "" : ',"r":' + row
  return (
    ',"r":' +
    row +
    ',"p":' +
    stringify(place.path) +
    ',"n":' +
    place.calls++ +
    (place.more === undefined ? "" : place.more())
  )
}
/**
 * Makes a host call. Fails as a rejection, but for a lack of memory.
 * @param {string} name
 * @param {unknown[]} args
 * @param {(result: any) => unknown} [convert] makes what the workflow gets from the result
 * @param {Place} [place] the step that makes it
 * @returns {Promise<any>}
 */
const call = (name, args, convert, place) => {
  insideRun("svc." + name)
  if (place !== undefined && name !== "db.rollback") {
    const cause = closedBy(place)
    if (cause !== undefined) return refused(place, cause)
  }
  let text
  try {
    text = argumentsText(name, args)
  } catch (cause) {
    // As a rejection that is not awaited, it would let a loop of calls run on without memory.
    if (cause === null || isOutOfMemory(cause)) throw cause
    return new NativePromise((_, reject) => reject(cause))
  }
  if (ended) return new NativePromise(() => {})
  const where = placeText(place)
  const id = calls++
  // Before the promise: what fails inside its executor would be such a rejection too.
  emit('{"t":"call","id":' + id + ',"name":' + stringify(toWellFormed(name)) + where + ',"args":[' + text + "]}")
  return new NativePromise((resolve, reject) => {
    mapSet(pending, id, { __proto__: null, resolve, reject, convert, place, isKept: transactionCalls[name] === true })
  })
}
/** They are not given up, so that no transaction stays open: one of a halted list is rolled back. */
const transactionCalls = { __proto__: null, "db.begin": true, "db.commit": true, "db.rollback": true }
/** The open transactions, with the places that have begun them. */
const transactions = new Map()
/** Gives up the calls of halted lists: they fail, the host cancels them, and a result that comes later reaches no code. */
const cancelCalls = () => {
  let ids = ""
  mapForEach(pending, (waiting, id) => {
    const cause = waiting.isKept ? undefined : haltedBy(waiting.place)
    if (cause === undefined) return
    mapDelete(pending, id)
    ids += ids === "" ? id : "," + id
    waiting.reject(cause)
  })
  if (ids !== "" && !ended) emit('{"t":"cancel","ids":[' + ids + "]}")
  mapForEach(transactions, (place, begun) => {
    if (haltedBy(place) === undefined) return
    mapDelete(transactions, begun)
    call("db.rollback", [begun], undefined, place)
  })
}

// --- Computations ---

/** What the runner computes for the guest, one after the other; it is done before the step ends. */
const computations = newList()
let computed = 0
let computing = 0
/**
 * @param {string} name
 * @param {ArrayBuffer | null} key
 * @param {ArrayBuffer | string} data text for "base64-decode"
 * @returns {Promise<ArrayBuffer>}
 */
const compute = (name, key, data) =>
  new NativePromise((resolve) => {
    computations[computing++] = freeze({ __proto__: null, 0: name, 1: key, 2: data, resolve })
  })
/** The computation that is next; undefined if there is none. */
const nextComputation = () => computations[computed]
/**
 * Copies the result's bytes into memory that counts as the guest's.
 * @param {ArrayBuffer} result
 */
const computationDone = (result) => {
  const { resolve } = computations[computed]
  delete computations[computed++]
  if (computed === computing) computed = computing = 0
  resolve(bufferOf(new NativeUint8Array(result)))
}
