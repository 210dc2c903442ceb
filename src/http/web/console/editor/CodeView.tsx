/**
 * The editor itself, which is loaded when the first one is shown. It stands in a shadow root, in which its styles are adopted
 * style sheets: the page's rules allow no inserted ones. What was typed is never replaced but by a new `revision`.
 */
import { autocompletion } from "@codemirror/autocomplete"
import { indentWithTab } from "@codemirror/commands"
import { javascript, javascriptLanguage, localCompletionSource } from "@codemirror/lang-javascript"
import { json, jsonLanguage } from "@codemirror/lang-json"
import { type Diagnostic, forceLinting, forEachDiagnostic, linter, lintGutter } from "@codemirror/lint"
import { EditorState, StateEffect, StateField } from "@codemirror/state"
import { EditorView, keymap, tooltips } from "@codemirror/view"
import { basicSetup } from "codemirror"
import { useEffect, useRef, useState } from "react"
import { guestCompletion } from "./GuestCompletion.js"
import { jsonCompletion } from "./JsonCompletion.js"
import { placeOfPath, syntaxMistakes } from "./JsonText.js"
import type { EditorKnowledge, TextProblem } from "./Knowledge.js"
import { editorLook } from "./Look.js"
import { typingOverSelections } from "./Typing.js"

export interface CodeViewProps {
  /** What is edited, for screen readers. */
  readonly label: string
  readonly language: "javascript" | "json"
  /** The text at first, and again whenever `revision` changes; what is typed in between stays. */
  readonly value: string
  readonly revision?: number
  readonly onChange?: (text: string) => void
  /** Control S; absent: the browser's own. */
  readonly onSave?: () => void
  readonly isReadOnly?: boolean
  /** Mistakes that others have found, as the service. */
  readonly problems?: ReadonlyArray<TextProblem>
  readonly knowledge?: EditorKnowledge
  /** Shows a few lines only. */
  readonly isShort?: boolean
}

const setProblems = StateEffect.define<ReadonlyArray<TextProblem>>()

const placeOf = (state: EditorState, { column, line, path }: TextProblem, language: string) => {
  if (line !== undefined && line <= state.doc.lines) {
    const { from, to } = state.doc.line(Math.max(1, line))
    const at = Math.min(to, from + Math.max(0, (column ?? 1) - 1))
    return { from: at, to: Math.max(at, Math.min(to, at + 1)) }
  }
  if (path !== undefined && language === "json") return placeOfPath(state, path)
  return { from: 0, to: state.doc.line(1).to }
}

/** Problems of others, which move with the text around them. */
const foundProblems = (language: string) =>
  StateField.define<ReadonlyArray<Diagnostic>>({
    create: () => [],
    update: (before, { changes, effects, state }) => {
      const moved = before
        .map((one) => ({ ...one, from: changes.mapPos(one.from, 1), to: changes.mapPos(one.to, -1) }))
        // What stood there is gone.
        .filter(({ from, to }, at) => to > from || before[at]?.from === before[at]?.to)
        .map((one) => ({ ...one, to: Math.max(one.from, one.to) }))
      return effects.reduce<ReadonlyArray<Diagnostic>>(
        (found, effect) =>
          effect.is(setProblems)
            ? effect.value.map((problem) => ({
                ...placeOf(state, problem, language),
                severity: problem.severity ?? "error",
                message: problem.message
              }))
            : found,
        moved
      )
    }
  })

interface Shown {
  readonly message: string
  readonly severity: string
  readonly from: number
  readonly line: number
  readonly column: number
}

const shownIn = (state: EditorState): ReadonlyArray<Shown> => {
  const found: Array<Shown> = []
  forEachDiagnostic(state, ({ message, severity }, from) => {
    const line = state.doc.lineAt(from)
    found.push({ message, severity, from, line: line.number, column: from - line.from + 1 })
  })
  return found
}

export const CodeView = ({
  isReadOnly = false,
  isShort = false,
  knowledge = {},
  label,
  language,
  onChange,
  onSave,
  problems = [],
  revision = 0,
  value
}: CodeViewProps) => {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  const latest = useRef({ onChange, onSave, knowledge })
  latest.current = { onChange, onSave, knowledge }
  const [shown, setShown] = useState<ReadonlyArray<Shown>>([])

  useEffect(() => {
    const element = host.current
    if (element === null) return undefined
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" })
    const hint = document.createElement("span")
    hint.id = "hint"
    hint.hidden = true
    hint.textContent = "Tab indents; press Escape and then Tab to leave. Control Space completes."
    const parent = document.createElement("div")
    root.replaceChildren(hint, parent)
    const field = foundProblems(language)
    const mistakes = linter(
      (shownView) => [...(language === "json" ? syntaxMistakes(shownView) : []), ...shownView.state.field(field)],
      {
        delay: 400,
        needsRefresh: ({ transactions }) =>
          transactions.some(({ effects }) => effects.some((effect) => effect.is(setProblems)))
      }
    )
    const save = () => {
      latest.current.onSave?.()
      return latest.current.onSave !== undefined
    }
    const known = () => latest.current.knowledge
    const complete =
      language === "json"
        ? jsonLanguage.data.of({ autocomplete: jsonCompletion(known) })
        : [
            javascriptLanguage.data.of({ autocomplete: guestCompletion(known) }),
            javascriptLanguage.data.of({ autocomplete: localCompletionSource })
          ]
    const opened = new EditorView({
      root,
      parent,
      state: EditorState.create({
        doc: value,
        extensions: [
          keymap.of([indentWithTab, { key: "Mod-s", run: save }]),
          typingOverSelections,
          basicSetup,
          autocompletion({ icons: false }),
          tooltips({ position: "fixed" }),
          language === "json" ? json() : javascript(),
          complete,
          field,
          mistakes,
          lintGutter(),
          editorLook,
          EditorView.theme({
            ".cm-scroller": { maxHeight: isShort ? "16rem" : "65vh", minHeight: isShort ? "6rem" : "18rem" }
          }),
          EditorView.lineWrapping,
          EditorState.readOnly.of(isReadOnly),
          EditorView.contentAttributes.of({
            tabindex: "0",
            "aria-label": label,
            "aria-describedby": "hint",
            "aria-readonly": String(isReadOnly)
          }),
          EditorView.updateListener.of(({ docChanged, state, transactions }) => {
            // A text that the page itself has put in is known to it.
            if (docChanged && !transactions.some((one) => one.isUserEvent("replace.page")))
              latest.current.onChange?.(state.doc.toString())
            setShown((before) => {
              const after = shownIn(state)
              return JSON.stringify(before) === JSON.stringify(after) ? before : after
            })
          })
        ]
      })
    })
    view.current = opened
    return () => {
      view.current = undefined
      opened.destroy()
    }
    // The text and the problems reach the view by the effects below.
  }, [isReadOnly, isShort, label, language])

  const isOpened = useRef(false)
  useEffect(() => {
    const { current } = view
    if (current === undefined || !isOpened.current) {
      isOpened.current = true
      return
    }
    if (current.state.doc.toString() === value) return
    current.dispatch({
      changes: { from: 0, to: current.state.doc.length, insert: value },
      userEvent: "replace.page"
    })
    // Only a new revision replaces what was typed.
  }, [revision])

  useEffect(() => {
    const { current } = view
    if (current === undefined) return
    current.dispatch({ effects: setProblems.of(problems) })
    forceLinting(current)
  }, [problems])

  const show = (at: number) => {
    const { current } = view
    if (current === undefined) return
    current.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) })
    current.focus()
  }
  return (
    <div className="stack tight">
      <div ref={host} className="editor" />
      <p className="soft small">
        {isReadOnly ? "Read-only. " : "Tab indents; Escape, then Tab leaves the editor. Ctrl Space completes. "}
        Ctrl F searches.
      </p>
      <div role="status">
        {shown.length > 0 && (
          <ul className="problems" aria-label={`Problems of ${label}`}>
            {shown.slice(0, 50).map(({ column, from, line, message, severity }, at) => (
              <li key={at} className={severity === "error" ? "wrong" : "warned"}>
                <button type="button" className="button plain small" onClick={() => show(from)}>
                  Line {line}, column {column}
                </button>{" "}
                {severity === "error" ? "" : `${severity}: `}
                {message}
              </li>
            ))}
            {shown.length > 50 && <li className="soft">and {shown.length - 50} more</li>}
          </ul>
        )}
      </div>
    </div>
  )
}
