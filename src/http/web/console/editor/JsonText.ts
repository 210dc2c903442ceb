/** JSON as it is typed: the mistakes of its syntax, and where the value of a path stands. */
import { jsonParseLinter } from "@codemirror/lang-json"
import { syntaxTree } from "@codemirror/language"
import type { Diagnostic } from "@codemirror/lint"
import type { EditorState, Text } from "@codemirror/state"
import type { EditorView } from "@codemirror/view"

/** A node of the syntax tree. */
export type JsonNode = ReturnType<typeof syntaxTree>["topNode"]

const findMistakes = jsonParseLinter()

/** At most one: where the text stops being JSON. An empty text has none. */
export const syntaxMistakes = (view: EditorView): ReadonlyArray<Diagnostic> =>
  view.state.doc.length === 0 ? [] : findMistakes(view)

/** The members of a path: `steps[2].config` is `steps`, `2`, `config`. */
export const membersOf = (path: string): ReadonlyArray<string | number> =>
  [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) => (index === undefined ? name! : Number(index)))

const isValue = ({ name }: JsonNode): boolean => !["{", "}", "[", "]", ",", ":", "PropertyName", "⚠"].includes(name)

const childrenOf = (node: JsonNode): ReadonlyArray<JsonNode> => {
  const found: Array<JsonNode> = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) found.push(child)
  return found
}

/** The text of a property's name, without quotes. */
export const nameOfProperty = (property: JsonNode, text: Text): string | undefined => {
  const name = property.getChild("PropertyName")
  return name === null ? undefined : text.sliceString(name.from, name.to).replace(/^"|"$/g, "")
}

export const valueOfProperty = (property: JsonNode): JsonNode | undefined =>
  childrenOf(property).find((child) => isValue(child))

/** The text of a string's node, without quotes. */
export const textOfNode = (node: JsonNode, text: Text): string =>
  text.sliceString(node.from, node.to).replace(/^"|"$/g, "")

/** The property of an object, by its name. */
export const propertyOf = (object: JsonNode, name: string, text: Text): JsonNode | undefined =>
  object.getChildren("Property").find((property) => nameOfProperty(property, text) === name)

/** Where the value of a path stands, or the nearest one around it that there is. */
export const placeOfPath = (state: EditorState, path: string): { readonly from: number; readonly to: number } => {
  const root = syntaxTree(state).topNode
  let node = childrenOf(root).find((child) => isValue(child))
  let shown: JsonNode | undefined
  for (const member of membersOf(path)) {
    if (node === undefined) break
    if (typeof member === "number") {
      const item: JsonNode | undefined = childrenOf(node).filter((child) => isValue(child))[member]
      if (node.name !== "Array" || item === undefined) break
      node = item
      shown = item
    } else {
      const property: JsonNode | undefined = node.name === "Object" ? propertyOf(node, member, state.doc) : undefined
      if (property === undefined) break
      node = valueOfProperty(property)
      shown = property
    }
  }
  const line = state.doc.lineAt(shown?.from ?? 0)
  // A long object is marked at its first line only.
  return shown === undefined ? { from: 0, to: line.to } : { from: shown.from, to: Math.min(shown.to, line.to) }
}
