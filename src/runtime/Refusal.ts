/** What ends a command before its work: the operator must do something, and the message says what. */
import { operatorText } from "../domain/OperatorText.js"
import { Data } from "effect"

/** `message` is complete sentences for a terminal: what is wrong, and what to do. Printed without a stack trace. */
export class Refusal extends Data.TaggedError("Refusal")<{ readonly message: string }> {
  get [operatorText]() {
    return this.message
  }
}

/** The message of anything thrown. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
