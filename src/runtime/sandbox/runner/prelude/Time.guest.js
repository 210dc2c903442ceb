/** Time that advances only with events, random numbers from a seed, and timers as host calls. */
// --- Date ---

const NativeDate = Date
const clock = () => {
  insideRun("the time")
  return now
}
const dateToString = unbound(NativeDate.prototype.toString)
function WorkflowDate(...args) {
  if (new.target === undefined) return dateToString(new NativeDate(clock()))
  return construct(NativeDate, args.length === 0 ? [clock()] : args, new.target)
}
defineProperty(WorkflowDate, "name", { __proto__: null, value: "Date", configurable: true })
defineProperty(WorkflowDate, "length", { __proto__: null, value: 7, configurable: true })
defineProperty(WorkflowDate, "prototype", { __proto__: null, value: NativeDate.prototype, writable: false })
define(NativeDate.prototype, "constructor", WorkflowDate, false)
define(WorkflowDate, "now", () => clock(), false)
define(WorkflowDate, "parse", NativeDate.parse, false)
define(WorkflowDate, "UTC", NativeDate.UTC, false)
global("Date", WorkflowDate)

// --- Chance: sfc32 ---

let s0 = 0,
  s1 = 0,
  s2 = 0,
  s3 = 1
const random32 = () => {
  const result = (s0 + s1 + s3) | 0
  s3 = (s3 + 1) | 0
  s0 = s1 ^ (s1 >>> 9)
  s1 = (s2 + (s2 << 3)) | 0
  s2 = (s2 << 21) | (s2 >>> 11)
  s2 = (s2 + result) | 0
  return result >>> 0
}
/** @param {number[]} four */
const seed = (four) => {
  s0 = four[0] | 0
  s1 = four[1] | 0
  s2 = four[2] | 0
  s3 = four[3] | 0
  for (let i = 0; i < 15; i++) random32()
}
define(
  Math,
  "random",
  () => {
    insideRun("Math.random")
    return (random32() * 2097152 + (random32() >>> 11)) / 9007199254740992
  },
  false
)

const toHex = unbound(Number.prototype.toString)
/**
 * @param {number} value
 * @param {number} digits at most 8
 */
const hex = (value, digits) => slice("0000000" + toHex(value, 16), -digits)
const randomUUID = () => {
  insideRun("crypto.randomUUID")
  const a = random32(),
    b = random32(),
    c = random32(),
    d = random32()
  return (
    hex(a, 8) +
    "-" +
    hex(b >>> 16, 4) +
    "-4" +
    hex(b & 0xfff, 3) +
    "-" +
    hex(0x8000 | (c & 0x3fff), 4) +
    "-" +
    hex(c >>> 16, 4) +
    hex(d, 8)
  )
}

const TypedArrayPrototype = getPrototypeOf(Uint8Array.prototype)
const arrayKind = getter(TypedArrayPrototype, Symbol.toStringTag)
const arrayBuffer = getter(TypedArrayPrototype, "buffer")
const arrayBytes = getter(TypedArrayPrototype, "byteLength")
const arrayOffset = getter(TypedArrayPrototype, "byteOffset")
const NativeDOMException = DOMException
const integerArrays = {
  __proto__: null,
  Int8Array: 1,
  Uint8Array: 1,
  Uint8ClampedArray: 1,
  Int16Array: 1,
  Uint16Array: 1,
  Int32Array: 1,
  Uint32Array: 1,
  BigInt64Array: 1,
  BigUint64Array: 1
}
/** Fills the bytes, whatever the width of the elements. */
const getRandomValues = (array) => {
  insideRun("crypto.getRandomValues")
  const kind = isObject(array) ? arrayKind(array) : undefined
  if (kind === undefined || integerArrays[kind] === undefined) {
    throw new NativeDOMException("crypto.getRandomValues takes a typed array of integers", "TypeMismatchError")
  }
  const length = arrayBytes(array)
  if (length > 65536) {
    throw new NativeDOMException("crypto.getRandomValues gives at most 65536 bytes at once", "QuotaExceededError")
  }
  const bytes = new NativeUint8Array(arrayBuffer(array), arrayOffset(array), length)
  let word = 0
  for (let i = 0; i < length; i++) {
    word = i % 4 === 0 ? random32() : word >>> 8
    bytes[i] = word
  }
  return array
}

// --- Timers ---

const timers = new Map()
let timerCount = 0
/**
 * @param {string} name
 * @param {boolean} repeat
 * @param {Place} [place] the step whose calls it makes
 */
const setTimer =
  (name, repeat, place) =>
  (task, delay, ...args) => {
    if (typeof task !== "function") throw new TypeError(name + " takes a function")
    const wait = delay >= 0 ? +delay : 0
    if (wait > limits.timer) throw new RangeError(name + " waits at most " + limits.timer + " ms: no run lasts longer")
    insideRun(name)
    const closed = closedBy(place)
    if (closed !== undefined) throw closed
    const id = ++timerCount
    mapSet(timers, id, true)
    const tick = async () => {
      do {
        await call("timer.sleep", [wait], undefined, place)
        if (mapGet(timers, id) === undefined || closedBy(place) !== undefined) return
        if (!repeat) mapDelete(timers, id)
        runDetached(task, args)
      } while (mapGet(timers, id) === true && !ended && closedBy(place) === undefined)
    }
    tick().catch((cause) => {
      // What code sets whose step has ended, or whose list is halted, just stops.
      if (closedBy(place) === undefined) fail(cause)
    })
    return id
  }
const clearTimer = (id) => {
  mapDelete(timers, id)
}
const setTimeout = setTimer("setTimeout", false)
global("setTimeout", setTimeout)
global("setInterval", setTimer("setInterval", true))
global("clearTimeout", clearTimer)
global("clearInterval", clearTimer)

const soon = async (task) => {
  await undefined
  runDetached(task, [])
}
global("queueMicrotask", (task) => {
  if (typeof task !== "function") throw new TypeError("queueMicrotask takes a function")
  soon(task)
})
