/** Actions of a connector on its page. */

/** An action as far as the page shows it. */
export interface ShownAction {
  readonly name: string
  readonly version: number
  readonly title?: string
  readonly description?: string
  readonly readOnly?: boolean
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
}
