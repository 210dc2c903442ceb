/** The loggers of the service. They log an error's message only if the service wrote it for the operator. */
import { HashMap, Layer, Logger } from "effect"
import { prettyLogger } from "./PrettyLogger.js"
import { describe, safeCause } from "./SafeError.js"

/** Wraps a logger: replaces errors in the cause, the message and the annotations by safe ones. */
export const withSafeErrors = <Output>(logger: Logger.Logger<unknown, Output>): Logger.Logger<unknown, Output> =>
  Logger.mapInputOptions(logger, (options: Logger.Logger.Options<unknown>): Logger.Logger.Options<unknown> => ({
    ...options,
    cause: safeCause(options.cause),
    message: messageOf(options.message),
    annotations: HashMap.map(options.annotations, (value) => safeValue(value))
  }))

/** Writes log lines to the console and to their span. */
export const layer = (format: "json" | "pretty"): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(Logger.defaultLogger, format === "pretty" ? pretty : json),
    Logger.replace(Logger.tracerLogger, withSafeErrors(Logger.tracerLogger))
  )

/** The message with its errors made safe. */
const messageOf = (message: unknown): unknown =>
  Array.isArray(message) ? message.map((part) => safeValue(part)) : safeValue(message)

// --- Private ---

const json = Logger.withConsoleLog(withSafeErrors(Logger.jsonLogger))
const pretty = Logger.withConsoleLog(withSafeErrors(prettyLogger(process.stdout.isTTY)))

const mostDepth = 4

const safeValue = (value: unknown, depth = 0): unknown => {
  if (typeof value === "function" || typeof value === "symbol") return typeof value
  if (typeof value !== "object" || value === null) return value
  if (value instanceof Error || "_tag" in value) return describe(value)
  if (depth === mostDepth) return "…"
  if (Array.isArray(value)) return value.map((item) => safeValue(item, depth + 1))
  if (!isPlain(value)) return describe(value)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, safeValue(member, depth + 1)]))
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
