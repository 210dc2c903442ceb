/** The look of the editors: the console's tokens, which a shadow root inherits, in both themes. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language"
import type { Extension } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { tags } from "@lezer/highlight"

const frame = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--raised)", fontSize: "var(--text-s)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-wash)"
  },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--soft)", borderRight: "1px solid var(--edge)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)", color: "var(--ink)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--accent-wash)",
    outline: "1px solid var(--accent)"
  },
  ".cm-selectionMatch, .cm-searchMatch": { backgroundColor: "var(--warn-wash)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", color: "var(--soft)", borderColor: "var(--edge)" },
  ".cm-panels, .cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--edge)",
    fontFamily: "var(--font)"
  },
  ".cm-tooltip": { borderRadius: "var(--radius-s)", boxShadow: "var(--shadow)", maxWidth: "min(34rem, 90vw)" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "0.15rem 0.5rem" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-fill)", color: "#fff" },
  ".cm-completionInfo": { padding: "0.4rem 0.6rem", maxWidth: "20rem" },
  ".cm-textfield": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--edge-strong)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", color: "var(--ink)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--good-wash) !important" },
  ".cm-deletedChunk, .cm-deletedLine": { backgroundColor: "var(--bad-wash) !important" },
  "&.cm-merge-a .cm-changedLine": { backgroundColor: "var(--bad-wash) !important" },
  ".cm-changedText": { background: "none !important", textDecoration: "underline 2px", textUnderlineOffset: "3px" },
  ".cm-deletedChunk .cm-deletedText, .cm-deletedText": { background: "none", textDecoration: "line-through" },
  ".cm-changeGutter": { width: "4px" },
  ".cm-collapsedLines": { background: "var(--sunken)", color: "var(--soft)" }
})

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--warn)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--busy)" },
  { tag: [tags.comment], color: "var(--soft)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bad)" }
])

export const editorLook: Extension = [frame, syntaxHighlighting(colours)]
