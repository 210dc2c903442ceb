/**
 * Lists of steps that halt: the flow, a branch, an iteration, and a loop with all of its iterations. A failure halts the list
 * in which its step stands, and those around it up to the first that continues. A workflow gets hold of their tokens only.
 */
const { apply } = Reflect
const abortedError = () => stepError("Aborted", "ABORTED", "cancelled", "another step has failed, which halts this one")

/** What is known of a list, by its token. Calls of its steps read `parent` and `closed`. */
const scopes = new WeakMap()
const scopeOf = (list) => {
  const scope = weakGet(scopes, list)
  if (scope === undefined) throw new NativeTypeError("this is no list of the flow")
  return scope
}
const scopeWithin = (parent, owner, continues) => ({
  __proto__: null,
  parent,
  owner,
  continues,
  closed: undefined,
  failed: undefined,
  at: undefined,
  cause: undefined
})
const scopeIn = (parent, owner, continues) => {
  const token = freeze({ __proto__: null })
  weakSet(scopes, token, scopeWithin(parent, owner, continues))
  return token
}
/**
 * A token of a new list.
 * @param {any} outer the list around it
 * @param {any} owner the step in `outer` that it stands in
 * @param {boolean} continues its failure does not halt `outer`
 */
const newList = (outer, owner, continues) => scopeIn(scopeOf(outer), owner, continues === true)
/** The list of a whole flow. `place`: the step whose code runs it; undefined outside of steps. */
const newFlow = (place) => scopeIn(place === undefined ? undefined : place.scope, undefined, true)

const isClosed = (scope) => {
  for (let one = scope; one !== undefined; one = one.parent) if (one.closed !== undefined) return true
  return false
}
/** Whether the list, or one around it, is halted. */
const isHalted = (list) => isClosed(scopeOf(list))
/** Whether the step was halted by the failure of another one. */
const isAborted = (list, step) => {
  const scope = scopeOf(list)
  return scope.closed === undefined ? isClosed(scope) : scope.failed !== step
}
/** With what the list was halted. */
const causeOf = (list) => scopeOf(list).cause
/** The path of the innermost step whose failure halted the list; null: none did. */
const failedAt = (list) => scopeOf(list).at ?? null

// --- Steps that have begun and not ended ---

const openSteps = new Map()
const mapForEach = Map.prototype.forEach
const mapDelete = Map.prototype.delete
/** @param {any} missing the targets whose expression had no value, also later ones */
const openStep = (step, missing) => {
  step.missing = missing
  mapSet(openSteps, step, true)
}
const closeStep = (step) => {
  step.isOver = true
  apply(mapDelete, openSteps, [step])
}

/**
 * The path of the one step that has begun and awaits neither a call nor steps inside of it: its code computes, or awaits what
 * nothing settles. Empty: there is none, or several.
 */
const standing = () => {
  const busy = new Map()
  apply(mapForEach, openSteps, [(_, { of }) => mapSet(busy, of, true)])
  apply(mapForEach, host.pending, [({ place }) => place !== undefined && mapSet(busy, ofText(place.path), true)])
  let found = ""
  let count = 0
  apply(mapForEach, openSteps, [
    (_, { path }) => {
      if (mapGet(busy, ofText(path)) !== undefined) return
      found = path
      count++
    }
  ])
  return count === 1 ? found : ""
}

/**
 * Halts the list, unless it is halted: it starts nothing more, its calls in flight are given up, and its steps that have begun
 * are reported as aborted, the inner ones first.
 * @param {any} list
 * @param {any} step the one that has failed; undefined: the list itself has
 * @param {string} path of the failed step
 */
const haltList = (list, step, cause, path) => {
  if (isHalted(list)) return
  const closed = abortedError()
  /** The failed step, and those around it that fail with it. */
  const failing = new Map()
  let scope = scopeOf(list)
  for (let failed = step; ; failed = scope.owner, scope = scope.parent) {
    scope.closed = closed
    scope.cause = cause
    scope.at = path
    scope.failed = failed
    if (failed !== undefined) mapSet(failing, stepOf(failed), true)
    if (scope.continues) break
  }
  if (host.cancelCalls !== undefined) host.cancelCalls()
  const aborted = { __proto__: null, count: 0 }
  apply(mapForEach, openSteps, [
    (_, one) => {
      if (mapGet(failing, one) === undefined && isClosed(one.scope)) aborted[aborted.count++] = one
    }
  ])
  while (aborted.count > 0) reportFailed(aborted[--aborted.count], closed)
}
