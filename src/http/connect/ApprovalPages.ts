/**
 * The page of an approval's one-time link. Opening it decides nothing, since mail scanners and browsers open links by
 * themselves: only its form does.
 */
import { Effect } from "effect"
import { LinkedApprovals } from "../../actors/management/run/LinkedApprovals.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { readFormFields } from "../../domain/FormFields.js"
import { findUnstorable } from "../../domain/Json.js"
import { approvalLimits } from "../../domain/Limits.js"
import type { Approval } from "../../domain/run/Approval.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { pageReply } from "./PageReply.js"

const prefix = "/approve/"
const linkPattern = /^\/approve\/([A-Za-z0-9_-]{43})$/
/** Fields of a posted form. */
const formFields = 10

interface PostedForm {
  readonly decision: "approve" | "reject"
  readonly comment: string | null
}

/** The posted decision, or what is wrong with the form. */
export const readDecision = (body: Uint8Array): PostedForm | string => {
  const form = new Map<string, string>()
  const problem = readFormFields(body, formFields, (name, value) => void form.set(name, value))
  const decision = form.get("decision")
  if (problem !== undefined || (decision !== "approve" && decision !== "reject")) return "Please choose one of the two."
  const comment = (form.get("comment") ?? "").trim()
  if (comment.length > approvalLimits.commentLength)
    return `The comment has more than ${approvalLimits.commentLength} characters.`
  if (findUnstorable(comment) !== undefined) return "The comment contains characters that cannot be stored."
  return { decision, comment: comment === "" ? null : comment }
}

const outcomes: { readonly [status in Exclude<Approval["status"], "open">]: string } = {
  approved: "It is approved.",
  rejected: "It is rejected.",
  expired: "Its time is over.",
  closed: "The workflow does not wait for it any more."
}

const question = ({ expiresAt, message, name, workflowName }: Approval, problem: string | undefined): Markup =>
  html`${problem === undefined ? html`` : html`<p class="error" role="alert">${problem}</p>`}
    <p>The workflow ${workflowName} asks (${name}):</p>
    <blockquote>${message}</blockquote>
    <form method="post">
      <label for="comment">Comment <span>(optional)</span></label>
      <textarea id="comment" name="comment" rows="3" maxlength="${String(approvalLimits.commentLength)}"></textarea>
      <button name="decision" value="approve">Approve</button>
      <button name="decision" value="reject">Reject</button>
    </form>
    <p><small>It can be decided until ${expiresAt}. The first decision counts.</small></p>`

export const make = Effect.gen(function* () {
  const approvals = yield* LinkedApprovals
  const digests = yield* Digests
  const identifiers = yield* Identifiers

  const page = (status: number, title: string, body: Markup): RawReply =>
    pageReply({ status, title, nonce: identifiers.token(22), body })
  const message = (status: number, title: string, text: string) => page(status, title, html`<p>${text}</p>`)
  const ended = () => message(410, "This link has ended", "A newer mail may have another one.")

  const shown = (approval: Approval, problem?: string): RawReply =>
    approval.status === "open"
      ? page(problem === undefined ? 200 : 422, "An approval", question(approval, problem))
      : message(410, "Decided", outcomes[approval.status])

  const reply = Effect.fnUntraced(function* (request: RawRequest) {
    const { body, headers, method, remoteAddress, target } = request
    const token = linkPattern.exec(pathOf(target))?.[1]
    if (token === undefined) return ended()
    const hash = digests.sha256Hex(token)
    if (method === "GET" || method === "HEAD") return shown(yield* approvals.find(hash))
    if (method !== "POST") {
      const refused = message(405, "Not here", "This page takes GET and POST.")
      return { ...refused, headers: { ...refused.headers, allow: "GET, POST" } }
    }
    const form = readDecision(body)
    if (typeof form === "string") return shown(yield* approvals.find(hash), form)
    const userAgent = headers["user-agent"]?.slice(0, 500) ?? null
    const decided = yield* approvals.decide(hash, { ...form, ip: remoteAddress, userAgent })
    return message(200, "Thank you", outcomes[decided.status === "rejected" ? "rejected" : "approved"])
  })

  const failed =
    (request: RawRequest) =>
    (failure: { readonly _tag: string }): RawReply => {
      if (failure._tag === "NotFound") return ended()
      if (failure._tag === "InvalidState")
        return message(
          409,
          "Decided already",
          "Somebody else was faster, or its time is over. Your answer does not count."
        )
      return message(
        503,
        "Not now",
        request.method === "POST" ? "Nothing was decided. Please try again." : "Please try again in a moment."
      )
    }

  /** `undefined` for other paths. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined =>
    pathOf(request.target).startsWith(prefix)
      ? Effect.catchAll(reply(request), (failure) => Effect.succeed(failed(request)(failure)))
      : undefined
})
