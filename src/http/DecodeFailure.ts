/** Turns the issues of schema decoding into the failure that the surfaces answer, or into a defect of the service. */
import { operatorText } from "../domain/OperatorText.js"
import { detailsOf, type Issue, pathText } from "../domain/Issues.js"
import { InvalidRequest, ValidationFailed } from "../domain/Failure.js"

const unknownMember = "is not a member of this request"

/** A reply that does not fit its own schema. The message has paths only, never the customer's values. */
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

/** A reply of the service that does not encode: a bug, never the client's mistake. */
export const answerDefect = (issues: ReadonlyArray<Issue>): Error => new AnswerDefect(issues)

/** A query parameter that is sent twice decodes as a list, which no endpoint accepts. */
const describeRepeatedParameter = (issue: Issue): Issue =>
  issue.message.includes(", actual [") ? { ...issue, message: "must be sent only once" } : issue

/** Issues of a query answer 400, issues of a body 422. */
export const decodeFailure = (issues: ReadonlyArray<Issue>, method: string): InvalidRequest | ValidationFailed => {
  const inQuery = method === "GET" || method === "DELETE"
  const details = detailsOf(inQuery ? issues.map(describeRepeatedParameter) : issues, unknownMember)
  const [first] = details
  const message =
    first === undefined
      ? "the request cannot be read"
      : `${first.path === "" ? "the body" : first.path} ${first.message}`
  if (inQuery) return new InvalidRequest({ code: "INVALID_REQUEST", message, details })
  const unknown = details.length > 0 && details.every(({ code }) => code === "UNKNOWN_FIELD")
  return new ValidationFailed({ code: unknown ? "UNKNOWN_FIELD" : "VALIDATION_FAILED", message, details })
}
