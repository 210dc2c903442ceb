/** Errors in both directions: a failed host call becomes an `Error`, what a workflow throws becomes the output that ends its run. */
class ConnectorError extends Error {}
define(ConnectorError.prototype, "name", "ConnectorError", false)
global("ConnectorError", ConnectorError)
const kinds = {
  __proto__: null,
  ConnectorError,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  URIError,
  EvalError
}
/** Data of a failed host call that is no object, kept for the case that the workflow throws the error on. */
const bareData = new WeakMap()
const notData = { __proto__: null, name: true, message: true, stack: true, code: true }

/**
 * The Error that a failed host call is seen as.
 * @param {HostFailure} failure
 */
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

const read = (value, member) => {
  try {
    return value[member]
  } catch {
    return undefined
  }
}
/**
 * The text, cut; empty if it is none.
 * @param {unknown} value
 * @param {number} most
 */
const textOf = (value, most) => (typeof value === "string" ? toWellFormed(slice(value, 0, most)) : "")
/** @returns {string} */
const messageOf = (cause) => (isObject(cause) ? textOf(read(cause, "message"), limits.message) : describe(cause))
/**
 * The value as text for people.
 * @returns {string}
 */
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
  try {
    return json(value)
  } catch {
    return "[unserialisable]"
  }
}

/**
 * A stack without the lines of the prelude, which tell its reader nothing.
 * @param {string} stack
 */
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

/** Names that workflows look for in vain, with what to use instead. */
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
/**
 * The message, with what to use instead of a name that is missing.
 * @param {string} name
 * @param {string} message
 */
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

/**
 * Own members of a thrown object as JSON; undefined if they cannot be sent.
 * @returns {string | undefined}
 */
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
  } catch {
    return undefined
  }
  return text === "" ? undefined : "{" + text + "}"
}

/** What the caller of a failed run is answered. */
const replyText = () => (ending.reply === undefined ? "" : ',"reply":' + ending.reply)

/**
 * The output that ends a run whose function threw the value.
 * @returns {string}
 */
const thrown = (value) => {
  // What a flow knows of it: the step that failed, and the stack with the lines of its code.
  const failed = ending.failed?.cause === value ? ending.failed : undefined
  const tail = (failed?.step ?? "") + "}" + replyText() + "}"
  if (!isObject(value)) {
    // The engine throws null when it has not even the memory for an error, and so may the workflow: the runner decides which.
    if (value === null) threwNull = true
    return '{"t":"throw","e":{"name":"Error","message":' + stringify(textOf(describe(value), limits.message)) + tail
  }
  const name = textOf(read(value, "name"), 200) || "Error"
  let message = textOf(read(value, "message"), limits.message)
  if (isOutOfMemory(value)) outOfMemory = true
  if (message === "" && !isError(value)) message = textOf(describe(value), limits.message)
  const code = read(value, "code")
  const stack = ownFrames(textOf(failed?.stack ?? read(value, "stack"), limits.stack))
  const data = dataOf(value)
  return (
    '{"t":"throw","e":{"name":' +
    stringify(name) +
    ',"message":' +
    stringify(explained(name, message)) +
    (typeof code === "string" || typeof code === "number" ? ',"code":' + stringify(textOf("" + code, 200)) : "") +
    (data === undefined ? "" : ',"data":' + data) +
    (stack === "" ? "" : ',"stack":' + stringify(stack)) +
    tail
  )
}
