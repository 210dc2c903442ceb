/** Explains to the operator why a connection to Postgres failed: which setting is wrong and what to do. */
import type { SqlError } from "@effect/sql"
import { Redacted } from "effect"
import { operatorText } from "../../../domain/OperatorText.js"
import { reasonOf, OperatorError } from "../../process/OperatorError.js"

/** The server cannot be reached, or refuses the login. The message tells the operator what to do. */
export class UnreachableDatabase extends Error {
  readonly _tag = "Unreachable"
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
      `Postgres on ${server} refuses the login ${username} (${reason}). Put the right user and password into ${setting}.`
    )
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new UnreachableDatabase(
      `The host ${hostname} is unknown (${code}). Put the address of your Postgres into ${setting}.`
    )
  }
  if (/^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(code) || /timeout/.test(reason)) {
    return new UnreachableDatabase(
      `No Postgres answers on ${server} (${code === "" ? reason : code}). Start it, or put its address into ${setting}.`
    )
  }
  return cause
}

/** The error that the operator sees for a failed statement or connection. */
export const unreachableError = ({ cause, message }: SqlError.SqlError): OperatorError =>
  new OperatorError({ message: cause instanceof UnreachableDatabase ? cause.message : `${message}: ${String(cause)}` })
