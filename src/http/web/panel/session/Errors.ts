/** Why the API did not do what the panel asked. */
import type { components } from "panel-api"

type ErrorBody = components["schemas"]["Invalid"]

/** The API refused a request; or was not reached, or the session had ended: then `status` is 0. */
export class PanelError extends Error {
  override readonly name = "PanelError"
  readonly status: number
  readonly code: string
  readonly details: ErrorBody["details"]
  /** Seconds to wait before the next request, if the API says so. */
  readonly retryAfter: number | null

  constructor(status: number, code: string, more: Partial<ErrorBody> = {}, retryAfter: number | null = null) {
    super(more.message ?? code)
    this.status = status
    this.code = code
    this.details = more.details ?? []
    this.retryAfter = retryAfter
  }
}

/** The code of a request that was not sent, since the session had ended. */
export const sessionEnded = "SESSION_ENDED"

/** The error of an answer that is a refusal. `body`: as it was read. */
export const errorOf = (response: Response, body: unknown): PanelError => {
  const read = typeof body === "object" && body !== null ? (body as Partial<ErrorBody>) : {}
  const after = Number(response.headers.get("retry-after") ?? Number.NaN)
  return new PanelError(response.status, read.code ?? "UNREADABLE_ANSWER", read, Number.isFinite(after) ? after : null)
}

/** What was thrown, as an error of the panel. */
export const asPanelError = (cause: unknown): PanelError =>
  cause instanceof PanelError ? cause : new PanelError(0, "NOT_REACHED")
