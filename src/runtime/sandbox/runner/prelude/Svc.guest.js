/** `svc` and the console. A host call's name is its property path. */
const NativeProxy = Proxy
const refuseChange = () => {
  throw new TypeError("svc cannot be changed")
}
const sealedTraps = {
  set: refuseChange,
  defineProperty: refuseChange,
  deleteProperty: refuseChange,
  setPrototypeOf: refuseChange,
  preventExtensions: () => false
}

/**
 * Any path below the name is a call. "then" is left out: to await a path would call it.
 * @param {string} name
 * @param {(name: string, member: string) => unknown} [extras] further members
 */
const tree = (name, extras) =>
  new NativeProxy(() => {}, {
    __proto__: null,
    ...sealedTraps,
    get: (_, member) => {
      if (typeof member !== "string" || member === "then" || member === "toJSON") return undefined
      return extras?.(name, member) ?? tree(name + "." + member, extras)
    },
    apply: (_, __, args) => call(name, args)
  })

/** What an action has besides: ".pages(args)" goes through its pages, ".all(args, { max })" collects their items. */
const mostItems = 10_000
async function* pagesOf(name, args, options) {
  let next = args ?? {}
  do {
    const page = await call(name, [next, { ...options, page: true }])
    yield page.items
    next = page.next
  } while (next !== null)
}
/**
 * @param {string} name
 * @param {unknown} args
 * @param {{ max?: number, [option: string]: unknown }} [options]
 */
const allOf = async (name, args, { max, ...options } = {}) => {
  const all = []
  for await (const items of pagesOf(name, args, options)) {
    for (let i = 0; i < items.length; i++) {
      if (all.length === max) return all
      if (all.length === mostItems && max === undefined) {
        throw new RangeError("there are more than " + mostItems + " items: go through .pages(args), or say { max }")
      }
      all[all.length] = items[i]
    }
  }
  return all
}
const isAction = (name) => {
  const dot = indexOf(name, ".", 10)
  return dot > 0 && indexOf(name, ".", dot + 1) < 0
}
const paging = (name, member) => {
  if (!isAction(name)) return undefined
  if (member === "pages") return (args, options) => pagesOf(name, args, options)
  if (member === "all") return (args, options) => allOf(name, args, options)
  return undefined
}

/**
 * A service with the given methods only; a misspelt one says which there are.
 * @param {string} name
 * @param {{ [method: string]: unknown }} methods
 */
const service = (name, methods) => {
  const members = { __proto__: null, ...methods }
  const list = keys(members).join(", ")
  return new NativeProxy(freeze(members), {
    __proto__: null,
    ...sealedTraps,
    get: (_, member) => {
      if (hasOwn(members, member)) return members[member]
      if (typeof member !== "string" || member === "then" || member === "toJSON") return undefined
      throw new TypeError(name + "." + member + " does not exist: " + name + " has " + list)
    }
  })
}
const method =
  (name) =>
  (...args) =>
    call(name, args)

const rowsOf =
  (transaction) =>
  async (sql, params = []) => {
    const result = await call("db.query", transaction === undefined ? [sql, params] : [sql, params, transaction])
    if (isArray(result) || !isObject(result) || !isArray(result.rows)) return result
    define(result.rows, "rowCount", result.rowCount ?? result.rows.length, false)
    define(result.rows, "fields", result.fields ?? [], false)
    return result.rows
  }
/** How often a transaction is begun again that the service lost: what it did is undone. */
const transactionAttempts = 3
const wasLost = (cause) => isObject(cause) && read(cause, "code") === "TRANSACTION_LOST"
const transaction = async (body) => {
  if (typeof body !== "function")
    throw new TypeError("svc.db.transaction takes a function, which is given the transaction")
  for (let attempt = 1; ; attempt++) {
    const begun = await call("db.begin", [])
    try {
      const value = await body(service("the transaction", { query: rowsOf(begun) }))
      await call("db.commit", [begun])
      return value
    } catch (cause) {
      if (!wasLost(cause)) {
        await call("db.rollback", [begun])
        throw cause
      }
      if (attempt === transactionAttempts) throw cause
    }
  }
}
const connector = tree("connector", paging)

global(
  "svc",
  service("svc", {
    connector,
    connectors: connector,
    unified: tree("unified"),
    db: service("svc.db", {
      query: rowsOf(),
      transaction
    }),
    state: service("svc.state", {
      get: method("state.get"),
      set: method("state.set"),
      delete: method("state.delete"),
      increment: method("state.increment"),
      compareAndSet: method("state.compareAndSet")
    }),
    secrets: service("svc.secrets", { get: method("secrets.get") }),
    envConfig: service("svc.envConfig", { get: method("envConfig.get") }),
    diff: service("svc.diff", { compare: method("diff.compare") }),
    sync: service("svc.sync", { upsert: method("sync.upsert") })
  })
)
defineProperty(globalThis, "svc", { __proto__: null, writable: false, configurable: false })

// --- Console ---

const line = (level, text) =>
  emit('{"t":"log","level":"' + level + '","m":' + stringify(textOf(text, limits.logLine)) + "}")
const log =
  (level) =>
  (...values) => {
    if (ended || logLines > limits.logLines) return
    if (++logLines > limits.logLines)
      return line("warn", "more than " + limits.logLines + " lines: the rest is left out")
    let text = ""
    for (let i = 0; i < values.length; i++) text += (i === 0 ? "" : " ") + describe(values[i])
    line(level, text)
  }
const silent = () => {}
global("console", {
  log: log("info"),
  info: log("info"),
  warn: log("warn"),
  error: log("error"),
  debug: log("debug"),
  trace: log("debug"),
  dir: log("info"),
  table: log("info"),
  group: log("info"),
  groupEnd: silent,
  time: silent,
  timeEnd: silent,
  assert: (condition, ...values) => {
    if (!condition) apply(log("error"), undefined, ["assertion failed:", ...values])
  }
})
