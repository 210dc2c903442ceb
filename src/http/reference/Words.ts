/** Text in which backticks enclose code. */
import { html, type Markup } from "../Markup.js"

export const words = (text: string): Markup =>
  html`${text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
