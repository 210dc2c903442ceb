/**
 * Marks errors whose text the service writes for its operator. Only such texts are logged, since the message of another
 * error may quote a tenant's value.
 */

/** The property of the text. */
export const operatorText: unique symbol = Symbol.for("svc/operatorText")

/** An error with a text for the operator. */
export interface HasOperatorText {
  /** What is wrong, where, and what to do. Quotes no data of a client, a workflow or a provider. */
  readonly [operatorText]: string
}

/** Whether the error carries a text that may be logged. */
export const hasOperatorText = (error: object): error is HasOperatorText =>
  operatorText in error && typeof error[operatorText] === "string"
