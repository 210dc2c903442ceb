/** Log lines for people: the local time, the level, the event and its fields on one line, a cause below it. */
import { Cause, HashMap, Logger, type LogLevel } from "effect"

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
