/**
 * Marks an error whose text this service writes for its operator. Only such a text is logged: the message of any other
 * error may quote a tenant's value.
 */

export const operatorText: unique symbol = Symbol.for("svc/operatorText")

export interface HasOperatorText {
  /** What is wrong, where, and what to do. Quotes nothing that a client, a workflow or a provider sent. */
  readonly [operatorText]: string
}

export const hasOperatorText = (error: object): error is HasOperatorText =>
  operatorText in error && typeof error[operatorText] === "string"
