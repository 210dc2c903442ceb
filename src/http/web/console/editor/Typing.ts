/** Typing over a selection, which the editor does itself: browsers would insert styled elements, which the page's rules forbid. */
import { EditorView } from "@codemirror/view"

export const typingOverSelections = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { main, ranges } = view.state.selection
    const text = event.data
    if (event.inputType !== "insertText" || text === null || text === "") return false
    if (main.empty || ranges.length > 1 || view.composing || view.state.readOnly) return false
    event.preventDefault()
    const insert = () =>
      view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true })
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, main.from, main.to, text, insert))) view.dispatch(insert())
    return true
  }
})
