/** The error of a command that the operator must act on. */
import { operatorText } from "../../domain/OperatorText.js"
import { Data } from "effect"
import * as path from "node:path"
import { makeDirectories } from "./Directories.js"

/**
 * `message`: complete sentences for a terminal, what is wrong and what to do. Printed without a stack trace. `exitCode`: of the
 * command, 1 if it is absent.
 */
export class OperatorError extends Data.TaggedError("Refusal")<{
  readonly message: string
  readonly exitCode?: number
}> {
  get [operatorText]() {
    return this.message
  }
}

/** The exit code of a command that says by 1 what it found, where it could not begin. */
export const misuseCode = 2

/** The message of a thrown value. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Creates a directory and its parents. Throws an `OperatorError` that says what to do. */
export const makeDirectory = (directory: string): void => {
  try {
    makeDirectories(directory)
  } catch (cause) {
    throw new OperatorError({
      message: `${path.resolve(directory)} cannot be made: ${reasonOf(cause)}. Set SVC_DATA_DIR to a directory that svc may write.`
    })
  }
}
