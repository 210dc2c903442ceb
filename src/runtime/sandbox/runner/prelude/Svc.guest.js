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
 * @param {Place | undefined} place
 * @param {(name: string, member: string, place: Place | undefined) => unknown} [extras] further members
 */
const tree = (name, place, extras) =>
  new NativeProxy(() => {}, {
    __proto__: null,
    ...sealedTraps,
    get: (_, member) => {
      if (typeof member !== "string" || member === "then" || member === "toJSON") return undefined
      return extras?.(name, member, place) ?? tree(name + "." + member, place, extras)
    },
    apply: (_, __, args) => call(name, args, undefined, place)
  })

/** What an action has besides: ".pages(args)" goes through its pages, ".all(args, { max })" collects their items. */
const mostItems = 10_000
async function* pagesOf(name, args, options, place) {
  let next = args ?? {}
  do {
    const page = await call(name, [next, { ...options, page: true }], undefined, place)
    yield page.items
    next = page.next
  } while (next !== null)
}
/**
 * @param {string} name
 * @param {unknown} args
 * @param {{ max?: number, [option: string]: unknown }} [options]
 * @param {Place} [place]
 */
const allOf = (name, args, { max, ...options } = {}, place = undefined) =>
  collect(pagesOf(name, args, options, place), max)
/**
 * The items of all pages, up to `max`.
 * @param {AsyncIterable<unknown[]>} pages
 * @param {number | undefined} max
 */
const collect = async (pages, max) => {
  const all = []
  for await (const items of pages) {
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
const paging = (name, member, place) => {
  if (!isAction(name)) return undefined
  if (member === "pages") return (args, options) => pagesOf(name, args, options, place)
  if (member === "all") return (args, options) => allOf(name, args, options, place)
  return undefined
}

/** The pages of records: their lists say where they go on by a cursor. */
async function* recordPages(name, args, options, place) {
  let cursor = undefined
  do {
    const asked = cursor === undefined ? { ...args } : { ...args, cursor }
    const page = await call(name + ".list", [asked, options ?? {}], undefined, place)
    yield page.data
    cursor = page.page.nextCursor
  } while (cursor !== null)
}
/**
 * @param {string} name
 * @param {unknown} args
 * @param {{ max?: number, [option: string]: unknown }} [options]
 * @param {Place} [place]
 */
const allRecords = (name, args, { max, ...options } = {}, place = undefined) =>
  collect(recordPages(name, args, options, place), max)
/** What an entity has besides its verbs: ".pages(args)" and ".all(args, { max })". */
const recordPaging = (name, member, place) => {
  if (member === "pages") return (args, options) => recordPages(name, args, options, place)
  if (member === "all") return (args, options) => allRecords(name, args, options, place)
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
  (name, place) =>
  (...args) =>
    call(name, args, undefined, place)

const rowsOf =
  (place, transaction) =>
  async (sql, params = []) => {
    const sent = transaction === undefined ? [sql, params] : [sql, params, transaction]
    const result = await call("db.query", sent, undefined, place)
    if (isArray(result) || !isObject(result) || !isArray(result.rows)) return result
    define(result.rows, "rowCount", result.rowCount ?? result.rows.length, false)
    define(result.rows, "fields", result.fields ?? [], false)
    return result.rows
  }
/** How often a transaction is begun again that the service lost: what it did is undone. */
const transactionAttempts = 3
const wasLost = (cause) => isObject(cause) && read(cause, "code") === "TRANSACTION_LOST"
const transactionOf = (place) => async (body) => {
  if (typeof body !== "function")
    throw new TypeError("svc.db.transaction takes a function, which is given the transaction")
  for (let attempt = 1; ; attempt++) {
    const begun = await call("db.begin", [], undefined, place)
    mapSet(transactions, begun, place)
    try {
      const cause = closedBy(place)
      if (cause !== undefined) throw cause
      const value = await body(service("the transaction", { query: rowsOf(place, begun) }))
      await call("db.commit", [begun], undefined, place)
      mapDelete(transactions, begun)
      return value
    } catch (cause) {
      // That of a halted list is rolled back already.
      const isOpen = mapDelete(transactions, begun)
      if (!wasLost(cause)) {
        if (isOpen) await call("db.rollback", [begun], undefined, place)
        throw cause
      }
      if (attempt === transactionAttempts) throw cause
    }
  }
}
/** Makes the services of a step, or those outside of steps. */
const makers = {
  __proto__: null,
  connector: (place) => tree("connector", place, paging),
  connectors: (place, services) => services.connector,
  unified: (place) => tree("unified", place, recordPaging),
  cdm: (place) => tree("cdm", place, recordPaging),
  db: (place) => service("svc.db", { query: rowsOf(place), transaction: transactionOf(place) }),
  state: (place) =>
    service("svc.state", {
      get: method("state.get", place),
      set: method("state.set", place),
      delete: method("state.delete", place),
      increment: method("state.increment", place),
      compareAndSet: method("state.compareAndSet", place)
    }),
  secrets: (place) => service("svc.secrets", { get: method("secrets.get", place) }),
  envConfig: (place) => service("svc.envConfig", { get: method("envConfig.get", place) }),
  diff: (place) => service("svc.diff", { compare: method("diff.compare", place) }),
  notify: (place) => method("notify.send", place),
  approval: (place) => (name, options) => {
    const asked = typeof name === "string" ? { __proto__: null, ...options, name } : name
    return call("approval.request", [asked], undefined, place)
  },
  sync: (place) => service("svc.sync", { upsert: method("sync.upsert", place) }),
  step:
    (place) =>
    (...args) =>
      apply(brought("step").stepIn(place), undefined, args),
  flow:
    (place) =>
    (...args) => {
      // Libraries of earlier releases know no flows inside of steps.
      const { flowIn, runFlow } = brought("flow")
      return apply(place === undefined || flowIn === undefined ? runFlow : flowIn(place), undefined, args)
    }
}
/** The script's library, which compiling adds where `svc.step` or `svc.flow` is used by that name. */
const brought = (name) => {
  if (library === undefined) throw new TypeError("write svc." + name + " by its name, so that it can be found")
  return library
}
/**
 * `svc` for a step: its calls belong to it. Each service is made when it is first used.
 * @param {Place} place
 */
const servicesOf = (place) => {
  const made = { __proto__: null }
  const services = new NativeProxy(freeze({ __proto__: null }), {
    __proto__: null,
    ...sealedTraps,
    get: (_, member) => {
      if (typeof member !== "string" || makers[member] === undefined) return svc[member]
      return (made[member] ??= makers[member](place, services))
    }
  })
  return services
}
const services = { __proto__: null }
for (const name in makers) services[name] = makers[name](undefined, services)
const connector = services.connector
const svc = service("svc", services)
global("svc", svc)
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
