/** What the typed API found wrong with a request, as the failure that the surfaces answer. */
import type { HttpApiError } from "@effect/platform"
import { type Detail, InvalidRequest, ValidationFailed } from "../domain/Failure.js"

type Issue = HttpApiError.HttpApiDecodeError["issues"][number]

const pathText = (path: Issue["path"]): string =>
  path.reduce<string>((text, part) => {
    const name = String(part)
    return /^\d+$/.test(name) ? `${text}[${name}]` : text === "" ? name : `${text}.${name}`
  }, "")

const codes: { readonly [tag: string]: string } = {
  Unexpected: "UNKNOWN_FIELD",
  Missing: "REQUIRED",
  Forbidden: "NOT_ALLOWED"
}

const detail = (issue: Issue): Detail => ({
  path: pathText(issue.path),
  code: codes[issue._tag] ?? "INVALID_VALUE",
  message:
    issue._tag === "Unexpected"
      ? "is not a member of this request"
      : issue._tag === "Missing"
        ? "is required"
        : issue.message
})

/** An answer of ours that its schema refuses. It is logged: the places are named, not the customer's values in them. */
export const answerDefect = ({ issues }: HttpApiError.HttpApiDecodeError): Error =>
  new Error(
    `an answer does not fit its schema: ${issues.map(({ _tag, path }) => `${pathText(path)} ${_tag}`).join(", ")}`
  )

/** What is wrong with a query makes the request unreadable; what is wrong with a body makes it invalid. */
export const decodeFailure = (
  error: HttpApiError.HttpApiDecodeError,
  method: string
): InvalidRequest | ValidationFailed => {
  const details = error.issues.map(detail)
  const [first] = details
  const message = first === undefined ? error.message : `${first.path} ${first.message}`.trim()
  if (method === "GET" || method === "DELETE") return new InvalidRequest({ code: "INVALID_REQUEST", message, details })
  const unknown = details.length > 0 && details.every(({ code }) => code === "UNKNOWN_FIELD")
  return new ValidationFailed({ code: unknown ? "UNKNOWN_FIELD" : "VALIDATION_FAILED", message, details })
}
