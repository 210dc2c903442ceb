/** The panel's page, which companies show in a frame of their product. Contract: embed. */
import type { Locale } from "../organisation/Widget.js"
import type { WidgetTheme } from "../organisation/WidgetTheme.js"

/** The path of the page; its query has the token. */
export const embedFramePath = "/api/v1/embed/iframe"

/** What the page tells the panel of its session, as JSON in the content of its `<meta name="svc-panel">`. */
export interface EmbedFrame {
  readonly sessionId: string
  /** Those that may frame the page and exchange messages with it, as browsers write them; at least one. */
  readonly origins: ReadonlyArray<string>
  readonly locale: Locale
  readonly theme: WidgetTheme
  /**
   * Seconds for which the token of the page's address is still valid; 0: it has expired, and can be refreshed; `null`: the
   * session is over, or the token can no longer be refreshed.
   */
  readonly expiresIn: number | null
}
