/** What the typed API found wrong with a request, as the failure that the surfaces answer. */
import { operatorText } from "../domain/OperatorText.js"
import { detailsOf, type Issue, pathText } from "../domain/Issues.js"
import { InvalidRequest, ValidationFailed } from "../domain/Failure.js"

const unknownMember = "is not a member of this request"

/** An answer of the service that its schema refuses. Names the places, not the customer's values in them. */
class AnswerDefect extends Error {
  constructor(issues: ReadonlyArray<Issue>) {
    super(
      `an answer does not fit its schema: ${issues.map(({ _tag, path }) => `${pathText(path)} ${_tag}`).join(", ")}`
    )
  }
  get [operatorText]() {
    return this.message
  }
}

export const answerDefect = (issues: ReadonlyArray<Issue>): Error => new AnswerDefect(issues)

/** A parameter that stands there twice is a list, which no endpoint takes. */
const once = (issue: Issue): Issue =>
  issue.message.includes(", actual [") ? { ...issue, message: "must be there only once" } : issue

/** What is wrong with a query makes the request unreadable; what is wrong with a body makes it invalid. */
export const decodeFailure = (issues: ReadonlyArray<Issue>, method: string): InvalidRequest | ValidationFailed => {
  const inQuery = method === "GET" || method === "DELETE"
  const details = detailsOf(inQuery ? issues.map(once) : issues, unknownMember)
  const [first] = details
  const message =
    first === undefined
      ? "the request cannot be read"
      : `${first.path === "" ? "the body" : first.path} ${first.message}`
  if (inQuery) return new InvalidRequest({ code: "INVALID_REQUEST", message, details })
  const unknown = details.length > 0 && details.every(({ code }) => code === "UNKNOWN_FIELD")
  return new ValidationFailed({ code: unknown ? "UNKNOWN_FIELD" : "VALIDATION_FAILED", message, details })
}
