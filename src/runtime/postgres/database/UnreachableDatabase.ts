/** Explains to the operator why a connection to Postgres failed: which setting is wrong and what to do. */
import type { SqlError } from "@effect/sql"
import { Redacted } from "effect"
import { operatorText } from "../../../domain/OperatorText.js"
import { sqlStateOf } from "./DatabaseUnavailable.js"
import { reasonOf, OperatorError } from "../../process/OperatorError.js"

/** The server cannot be reached, or refuses the login. The message tells the operator what to do. */
export class UnreachableDatabase extends Error {
  readonly _tag = "Unreachable"
  /** `mayCome`: whether the server may answer in a while, with nothing changed. */
  constructor(
    message: string,
    readonly mayCome: boolean
  ) {
    super(message)
  }
  get [operatorText]() {
    return this.message
  }
}

/**
 * An `UnreachableDatabase` if the address or the login is wrong, else the cause itself. `setting`: where the login
 * comes from.
 */
export const explainUnreachable = (cause: unknown, login: Redacted.Redacted, setting: string): unknown => {
  const { host, hostname, port, username } = new URL(Redacted.value(login))
  const server = port === "" ? `${host}:5432` : host
  const reason = reasonOf(cause)
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  if (code === "28P01" || code === "28000") {
    return new UnreachableDatabase(
      `Postgres on ${server} refuses the login ${username} (${reason}). Put the right user and password into ${setting}.`,
      false
    )
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new UnreachableDatabase(
      `The host ${hostname} is unknown (${code}). Put the address of your Postgres into ${setting}.`,
      code === "EAI_AGAIN"
    )
  }
  if (/^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(code) || /timeout/.test(reason)) {
    return new UnreachableDatabase(
      `No Postgres answers on ${server} (${code === "" ? reason : code}). Start it, or put its address into ${setting}.`,
      true
    )
  }
  return cause
}

/** Refusals of a server that starts, stops, or has no connection left. */
const passingRefusals: ReadonlySet<string> = new Set(["57P03", "57P01", "53300"])

/** Why a connection failed that may succeed in a while; `undefined` if somebody has to change something. */
export const passingReason = (cause: unknown): string | undefined => {
  if (cause instanceof UnreachableDatabase) return cause.mayCome ? cause.message : undefined
  return passingRefusals.has(sqlStateOf(cause) ?? "") ? reasonOf(cause) : undefined
}

/** The error that the operator sees for a failed statement or connection. */
export const unreachableError = ({ cause, message }: SqlError.SqlError): OperatorError =>
  new OperatorError({ message: cause instanceof UnreachableDatabase ? cause.message : `${message}: ${String(cause)}` })
