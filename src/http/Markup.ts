/** HTML templates in which every inserted text is escaped. */

/** HTML that is inserted into a template unescaped. */
export interface Markup {
  readonly html: string
}

const entities: { readonly [letter: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (letter) => entities[letter] ?? "")

type Part = string | number | Markup | ReadonlyArray<Markup>

const isList = (part: Part): part is ReadonlyArray<Markup> => Array.isArray(part)

const renderPart = (part: Part): string =>
  isList(part) ? part.map(({ html }) => html).join("") : typeof part === "object" ? part.html : escapeHtml(String(part))

/** Template tag: escapes strings and numbers, inserts `Markup` unchanged. */
export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Markup => ({
  html: strings.map((text, at) => `${text}${at < parts.length ? renderPart(parts[at] ?? "") : ""}`).join("")
})
