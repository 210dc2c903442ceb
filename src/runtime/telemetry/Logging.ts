/** The loggers of the service. They log an error's message only if the service wrote it for the operator. */
import { HashMap, Layer, Logger, Cause, type LogLevel } from "effect"
import { describe, safeCause } from "./SafeError.js"

/** `isColoured`: with the colours of a terminal. */
export const prettyLogger = (isColoured: boolean): Logger.Logger<unknown, string> => {
  const paint = (code: string, text: string) => (isColoured && text !== "" ? `\u001B[${code}m${text}\u001B[0m` : text)
  return Logger.make(({ annotations, cause, date, logLevel, message }) => {
    const fields = [...HashMap.toEntries(annotations)].map(
      ([name, value]) => `${paint("2", `${name}=`)}${textOf(value)}`
    )
    const words = [message].flat().map(wordsOf).join(" ")
    const line = [timeOf(date), paint(colours[logLevel._tag] ?? "0", logLevel.label.padEnd(5)), words, ...fields].join(
      " "
    )
    return Cause.isEmpty(cause) ? line : `${line}\n${Cause.pretty(cause, { renderErrorCause: true })}`
  })
}

/** By level; others have the colour of the terminal. */
const colours: { readonly [level in LogLevel.LogLevel["_tag"]]?: string } = {
  Debug: "2",
  Trace: "2",
  Info: "32",
  Warning: "33",
  Error: "31",
  Fatal: "1;31"
}

const timeOf = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":")

/** A text as it is if it is one word, else as JSON: a line break or a control character stays on its line. */
const textOf = (value: unknown): string =>
  typeof value === "string" && /^[\x21\x23-\x7e]+$/.test(value) ? value : (JSON.stringify(value) ?? String(value))

const wordsOf = (value: unknown): string =>
  typeof value === "string" && /^[\x20-\x7e]+$/.test(value) ? value : textOf(value)

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
