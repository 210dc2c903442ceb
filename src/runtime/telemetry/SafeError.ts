/**
 * Describes errors without quoting a tenant: their kind, codes, names of the service's own tables, and stack frames.
 * The message is left out unless the service wrote it for the operator (`src/domain/OperatorText.ts`).
 */
import { Cause } from "effect"
import { hasOperatorText, operatorText } from "../../domain/OperatorText.js"

const mostFrames = 20
const mostCauses = 5
const withheld = "its message is not logged"

/** An error that may be logged as it is: it quotes no tenant. */
export class SafeError extends Error {
  constructor(error: unknown, depth = 0) {
    const inner = depth < mostCauses ? innerOf(error) : undefined
    super(detailsOf(error), inner === undefined ? undefined : { cause: new SafeError(inner, depth + 1) })
    Object.defineProperty(this, "name", { value: kindOf(error) })
    this.stack = [`${this.name}: ${this.message}`, ...framesOf(error)].join("\n")
  }
}

/** The error and its causes in one line. */
export const describe = (error: unknown): string => lineOf(new SafeError(error))

/** Replaces every failure and defect of a cause by a `SafeError`. */
export const safeCause = (cause: Cause.Cause<unknown>): Cause.Cause<SafeError> =>
  Cause.match(cause, {
    onEmpty: Cause.empty,
    onFail: (error) => Cause.fail(new SafeError(error)),
    onDie: (defect) => Cause.die(new SafeError(defect)),
    onInterrupt: Cause.interrupt,
    onSequential: Cause.sequential,
    onParallel: Cause.parallel
  })

/** The cause with its frames, as a log line shows it. */
export const prettyCause = (cause: Cause.Cause<unknown>): string =>
  Cause.pretty(safeCause(cause), { renderErrorCause: true })

/** The frames of an error's stack, without lines of its message that look like frames. */
export const framesOf = (error: unknown): ReadonlyArray<string> => {
  if (!(error instanceof Error)) return []
  const { message, stack = "" } = error
  const at = message === "" ? -1 : stack.indexOf(message)
  const rest = at < 0 ? stack : stack.slice(at + message.length)
  return rest
    .split("\n")
    .filter((line) => frame.test(line))
    .slice(0, mostFrames)
}

// --- Private ---

const frame = /^ +at (?:.+ \()?(?:file:\/\/|node:|\/).*:\d+:\d+\)?$/
/** Matches names of types and tables, and codes. */
const wordPattern = /^[A-Za-z_][A-Za-z0-9_./]{0,62}$/
const isWord = (value: unknown): value is string => typeof value === "string" && wordPattern.test(value)
const isSqlState = (value: unknown): value is string => typeof value === "string" && /^[0-9A-Z]{5}$/.test(value)

const fieldOf = (error: object, name: string): unknown => Object.getOwnPropertyDescriptor(error, name)?.value

/** Does not use `name`, which some errors set to a value. */
const kindOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return typeof error
  const tag = fieldOf(error, "_tag") ?? ("_tag" in error ? error._tag : undefined)
  if (isWord(tag)) return tag
  return isWord(error.constructor?.name) ? error.constructor.name : "Error"
}

const innerOf = (error: unknown): unknown => {
  if (!(error instanceof Error)) return undefined
  if (error instanceof AggregateError) return error.cause ?? error.errors[0]
  return error.cause
}

const detailsOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return withheld
  if (hasOperatorText(error)) return error[operatorText]
  const details = [...codeOf(error), ...postgresOf(error)]
  return details.length === 0 ? withheld : details.join(", ")
}

/** Codes of system errors and of Node, and SQLSTATE. */
const codeOf = (error: object): ReadonlyArray<string> => {
  const code = fieldOf(error, "code")
  const syscall = fieldOf(error, "syscall")
  if (isSqlState(code)) return [code]
  if (!(error instanceof Error) || typeof code !== "string" || !/^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return []
  return [isWord(syscall) ? `${code} of ${syscall}` : code]
}

/** Names tables of the service's own schema only: tenants name those of other schemas. */
const postgresOf = (error: object): ReadonlyArray<string> => {
  if (!isSqlState(fieldOf(error, "code"))) return []
  const own = fieldOf(error, "schema") === "public" ? ["table", "column", "constraint"] : []
  return ["severity", "routine", ...own].flatMap((name) => {
    const value = fieldOf(error, name)
    return isWord(value) ? [`${name} ${value}`] : []
  })
}

const lineOf = (error: SafeError): string => {
  const line = `${error.name}: ${error.message}`
  return error.cause instanceof SafeError ? `${line} (${lineOf(error.cause)})` : line
}
