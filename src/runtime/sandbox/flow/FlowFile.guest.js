/**
 * Makes what the module of a flow's file is evaluated with: `flow(name)`, which collects a flow step by step, and `read`,
 * which turns the module's default export into data, or says at which place it is none.
 */
function flowFileTools() {
  /** What each `flow(name)` has collected. */
  const documents = new WeakMap()

  const flow = (name) => {
    /** @type {any} */
    const document = { name, steps: [] }
    const made = {}
    for (const member of ["description", "generation", "trigger", "requestSchema", "response", "customAuth"])
      made[member] = (value) => {
        document[member] = value
        return made
      }
    /** `step({ name, … })`, or `step(name, { … })`. */
    made.step = (first, second) => {
      document.steps.push(second === undefined ? first : { name: first, ...second })
      return made
    }
    documents.set(made, document)
    return made
  }

  const refuse = (path, message) => {
    /** @type {any} */
    const error = new Error(message)
    error.name = "FlowFileMistake"
    error.path = path
    error.stack = ""
    throw error
  }

  const inside = (path, name) => (path === "" ? name : `${path}.${name}`)

  const dataOf = (value, path, depth) => {
    if (depth > 100) refuse(path, "nests too deeply, or contains itself")
    if (value === null || typeof value === "string" || typeof value === "boolean") return value
    if (typeof value === "number")
      return Number.isFinite(value) ? value : refuse(path, "is a number that JSON does not have")
    if (typeof value === "function") refuse(path, "is a function: write code as text, in backticks")
    if (typeof value !== "object") refuse(path, `is ${typeof value}, which JSON does not have`)
    if (Array.isArray(value)) return Array.from(value, (one, at) => dataOf(one, `${path}[${at}]`, depth + 1))
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype)
      refuse(path, "is not plain data: a text, number, list or object")
    const data = {}
    for (const name of Object.keys(value)) {
      const member = value[name]
      if (member === undefined) continue
      const child = dataOf(member, inside(path, name), depth + 1)
      Object.defineProperty(data, name, { value: child, enumerable: true, configurable: true, writable: true })
    }
    return data
  }

  const read = (value) => {
    const document = typeof value === "object" && value !== null ? (documents.get(value) ?? value) : value
    if (typeof document !== "object" || document === null || Array.isArray(document))
      refuse("", "the default export must be a flow: an object with steps, or flow(name).step(…)")
    return dataOf(document, "", 0)
  }

  return { flow, read }
}
