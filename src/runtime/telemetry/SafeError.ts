/**
 * Describes errors without quoting a tenant: their kind, codes, names of the service's own tables, and stack frames.
 * The message is left out unless the service wrote it for the operator (`src/domain/OperatorText.ts`).
 */
import { Cause } from "effect"
import { hasOperatorText, operatorText } from "../../domain/OperatorText.js"
import { conditionOf } from "./SqlStates.js"

const mostFrames = 20
const mostCauses = 5
const withheld = "its message is not logged"

/** An error that may be logged as it is: it quotes no tenant. `isExpected`: a failure that tells all without frames. */
export class SafeError extends Error {
  constructor(error: unknown, isExpected = false, depth = 0) {
    const refusal = databaseErrorOf(error)
    const inner = depth < mostCauses && refusal === undefined ? innerOf(error) : undefined
    super(
      detailsOf(refusal ?? error),
      inner === undefined ? undefined : { cause: new SafeError(inner, isExpected, depth + 1) }
    )
    Object.defineProperty(this, "name", { value: kindOf(error) })
    const frames = isExpected && (refusal !== undefined || isForOperators(error)) ? [] : framesOf(error)
    this.stack = [`${this.name}: ${this.message}`, ...frames].join("\n")
  }
}

/** The error and its causes in one line. */
export const describe = (error: unknown): string => lineOf(new SafeError(error))

/** Replaces every failure and defect of a cause by a `SafeError`. */
export const safeCause = (cause: Cause.Cause<unknown>): Cause.Cause<SafeError> =>
  Cause.match(cause, {
    onEmpty: Cause.empty,
    onFail: (error) => Cause.fail(new SafeError(error, true)),
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
    .filter((line) => line.length <= frameLength && frame.test(line))
    .slice(0, mostFrames)
}

// --- Private ---

/** Characters of a frame: a longer line is the text of a message, on which the expression would take long. */
const frameLength = 1_000
const frame = /^ +at (?:.+ \()?(?:file:\/\/|node:|\/).*:\d+:\d+\)?$/
/** The texts of the Postgres driver for a connection that is lost, which have no code. */
const driverTexts: ReadonlySet<string> = new Set([
  "Connection terminated",
  "Connection terminated unexpectedly",
  "Connection terminated due to connection timeout",
  "timeout exceeded when trying to connect",
  "Client has encountered a connection error and is not queryable",
  "Cannot use a pool after calling end on the pool"
])
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
  // The bundle renames the driver's class.
  if (isSqlState(fieldOf(error, "code")) && "severity" in error) return "DatabaseError"
  return isWord(error.constructor?.name) ? error.constructor.name : "Error"
}

/** What a failed statement or connection failed with; the library's error around it says nothing more. */
const databaseErrorOf = (error: unknown): object | undefined => {
  if (!(error instanceof Error) || kindOf(error) !== "SqlError") return undefined
  return typeof error.cause === "object" && error.cause !== null ? error.cause : undefined
}

const isForOperators = (error: unknown): boolean =>
  typeof error === "object" && error !== null && hasOperatorText(error)

const innerOf = (error: unknown): unknown => {
  if (!(error instanceof Error)) return undefined
  if (error instanceof AggregateError) return error.cause ?? error.errors[0]
  return error.cause
}

const detailsOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return withheld
  if (hasOperatorText(error)) return error[operatorText]
  if (error instanceof Error && driverTexts.has(error.message)) return error.message
  const details = [...codeOf(error), ...postgresOf(error)]
  return details.length === 0 ? withheld : details.join(", ")
}

/** Codes of system errors and of Node, and SQLSTATE. */
const codeOf = (error: object): ReadonlyArray<string> => {
  const code = fieldOf(error, "code")
  const syscall = fieldOf(error, "syscall")
  if (isSqlState(code)) return [`${conditionOf(code) ?? "unknown condition"} (SQLSTATE ${code})`]
  if (!(error instanceof Error) || typeof code !== "string" || !/^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return []
  return [isWord(syscall) ? `${code} of ${syscall}` : code]
}

/** Names tables of the service's own schema only: tenants name those of other schemas. */
const postgresOf = (error: object): ReadonlyArray<string> => {
  if (!isSqlState(fieldOf(error, "code"))) return []
  const own = fieldOf(error, "schema") === "public" ? ["table", "column", "constraint"] : []
  return ["routine", ...own].flatMap((name) => {
    const value = fieldOf(error, name)
    return isWord(value) ? [`${name} ${value}`] : []
  })
}

const lineOf = (error: SafeError): string => {
  const line = `${error.name}: ${error.message}`
  return error.cause instanceof SafeError ? `${line} (${lineOf(error.cause)})` : line
}
