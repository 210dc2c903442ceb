/** HTML as values: whatever is not markup already is escaped. */

/** HTML that is meant as such; everything else is escaped. */
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

const escaped = (text: string) => text.replace(/[&<>"']/g, (letter) => entities[letter] ?? "")

type Part = string | number | Markup | ReadonlyArray<Markup>

const isList = (part: Part): part is ReadonlyArray<Markup> => Array.isArray(part)

const written = (part: Part): string =>
  isList(part) ? part.map(({ html }) => html).join("") : typeof part === "object" ? part.html : escaped(String(part))

export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Markup => ({
  html: strings.map((text, at) => `${text}${at < parts.length ? written(parts[at] ?? "") : ""}`).join("")
})
