/** Renders text in which backticks enclose code. */
import { html, type Markup } from "../Markup.js"

/** `text` with the parts between backticks as `<code>`. */
export const inlineCode = (text: string): Markup =>
  html`${text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
