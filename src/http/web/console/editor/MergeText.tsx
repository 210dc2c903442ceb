/** Two texts beside each other with their differences; one of them may be edited. Loaded when the first one is shown. */
import { javascript } from "@codemirror/lang-javascript"
import { json } from "@codemirror/lang-json"
import { MergeView, unifiedMergeView } from "@codemirror/merge"
import { EditorState } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { basicSetup } from "codemirror"
import { useEffect, useRef } from "react"
import { editorLook } from "./Look.js"
import { typingOverSelections } from "./Typing.js"

export interface MergeTextProps {
  readonly language: "javascript" | "json"
  readonly before: string
  readonly after: string
  /** What the texts are, for screen readers. */
  readonly beforeLabel: string
  readonly afterLabel: string
  /** Makes the second text editable, with buttons that take over a part of the first one. */
  readonly onChange?: (text: string) => void
}

/** Pixels below which one text is shown, with what the other one has in between. */
const narrow = 560

export const MergeText = ({ after, afterLabel, before, beforeLabel, language, onChange }: MergeTextProps) => {
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef(onChange)
  latest.current = onChange
  const isEditable = onChange !== undefined
  useEffect(() => {
    const element = host.current
    if (element === null) return undefined
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" })
    const parent = document.createElement("div")
    root.replaceChildren(parent)
    const common = (label: string, isReadOnly: boolean) => [
      basicSetup,
      language === "json" ? json() : javascript(),
      editorLook,
      typingOverSelections,
      EditorView.lineWrapping,
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-readonly": String(isReadOnly) })
    ]
    const listen = EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) latest.current?.(state.doc.toString())
    })
    const collapseUnchanged = { margin: 3, minSize: 6 }
    const ofAfter = [...common(afterLabel, !isEditable), listen]
    if (element.clientWidth < narrow) {
      const single = new EditorView({
        root,
        parent,
        state: EditorState.create({
          doc: after,
          extensions: [
            ...ofAfter,
            unifiedMergeView({ original: before, mergeControls: isEditable, gutter: true, collapseUnchanged })
          ]
        })
      })
      return () => single.destroy()
    }
    const merge = new MergeView({
      root,
      parent,
      a: { doc: before, extensions: common(beforeLabel, true) },
      b: { doc: after, extensions: ofAfter },
      ...(isEditable ? { revertControls: "a-to-b" as const } : {}),
      collapseUnchanged,
      gutter: true
    })
    merge.dom.style.maxHeight = "60vh"
    merge.dom.style.overflow = "auto"
    return () => merge.destroy()
    // `after` is the text at first: later it is what was typed.
  }, [before, beforeLabel, afterLabel, isEditable, language])
  return (
    <div className="stack tight">
      <div className="row apart soft" aria-hidden>
        <span>{beforeLabel}</span>
        <span>{afterLabel}</span>
      </div>
      <div ref={host} className="editor" />
    </div>
  )
}
