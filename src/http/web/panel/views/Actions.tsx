/** The actions that the session offers: started at once, or after a question and a form; and what became of each. */
import { useEffect, useRef, useState } from "preact/hooks"
import { type ActionState, isBusy } from "../actions/Actions.js"
import { initialValues } from "../forms/Form.js"
import { fieldsOfForm, formBody, formMistakes, hasFields, refusedValues, schemaForm } from "../forms/SchemaForm.js"
import type { PanelError } from "../session/Errors.js"
import { useShared } from "../Store.js"
import { errorText, useTexts } from "../texts/Words.js"
import type { Texts } from "../texts/en.js"
import { SchemaFields } from "./FormFields.js"
import { type ShownSession, usePanel } from "./Panel.js"
import { EntryForm, Section, ViewHeading, Wrong, useMistakes } from "./Pieces.js"

type OfferedAction = ShownSession["features"]["actions"][number]

const useAction = (id: string): ActionState | undefined => useShared(usePanel().actions.all).get(id)

/** Why an action was not started. */
const refusalText = (texts: Texts, error: PanelError): string => {
  if (error.code === "INVALID_STATE") return texts.error.paused
  if (error.code === "IDEMPOTENCY_IN_PROGRESS") return texts.error.unavailable
  return error.status === 422 ? texts.wrong.form : errorText(texts, error)
}

/** What became of an action, in words. */
const stateText = (texts: Texts, state: ActionState): string => {
  switch (state.status) {
    case "starting":
    case "running":
      return texts.isRunning
    case "started":
      return texts.isStarted
    case "ended":
      return state.message === null || state.message === "" ? texts.ends[state.end] : state.message
    case "refused":
      return refusalText(texts, state.error)
  }
}

const looks = (state: ActionState): string => {
  if (state.status === "refused") return "state bad"
  if (state.status === "ended") return state.end === "completed" ? "state good" : "state bad"
  return isBusy(state) ? "state busy" : "state"
}

/** What became of an action. It is there before it has anything to say: only so screen readers say it. */
const Outcome = ({ state }: { readonly state: ActionState | undefined }) => {
  const texts = useTexts()
  return <div role="status">{state !== undefined && <span class={looks(state)}>{stateText(texts, state)}</span>}</div>
}

const formOf = ({ inputSchema }: OfferedAction) => schemaForm(inputSchema, {}, "input")

const ActionRow = ({ action }: { readonly action: OfferedAction }) => {
  const texts = useTexts()
  const { actions, view } = usePanel()
  const { confirm, id, title } = action
  const state = useAction(id)
  const busy = isBusy(state)
  const row = useRef<HTMLLIElement>(null)
  const shown = view.get()
  const isLookedAt = shown.name === "home" && shown.action === id
  useEffect(() => {
    if (isLookedAt) row.current?.focus()
  }, [isLookedAt])
  const press = () => {
    if (busy) return
    const form = formOf(action)
    if (confirm === null && !hasFields(form)) return void actions.start(action, formBody(form, {}))
    actions.forget(id)
    view.set({ name: "action", action: id })
  }
  return (
    <li class="row plain" ref={row} tabIndex={-1}>
      <div class="about">
        <strong>{title}</strong>
        <Outcome state={state} />
      </div>
      <div class="actions">
        <button type="button" class="quiet" aria-label={`${texts.run}: ${title}`} aria-disabled={busy} onClick={press}>
          {texts.run}
        </button>
      </div>
    </li>
  )
}

export const Actions = ({ session }: { readonly session: ShownSession }) => (
  <Section title={useTexts().actions}>
    <ul class="rows">
      {session.features.actions.map((one) => (
        <ActionRow key={one.id} action={one} />
      ))}
    </ul>
  </Section>
)

/** The question and the form of an action. It stays until there is an answer, so that a refusal stands at its field. */
export const ActionView = ({ action }: { readonly action: OfferedAction }) => {
  const texts = useTexts()
  const { actions, view } = usePanel()
  const { confirm, id, title } = action
  const [input] = useState(() => formOf(action))
  const [values, setValues] = useState(() => initialValues(fieldsOfForm(input)))
  const { form, mistakes, show } = useMistakes()
  const state = useAction(id)
  const busy = isBusy(state)
  const isShown = useRef(true)
  useEffect(() => () => void (isShown.current = false), [])

  const start = async () => {
    const wrong = formMistakes(texts, input, values)
    show(wrong)
    if (Object.keys(wrong).length > 0) return
    const next = await actions.start(action, formBody(input, values))
    if (!isShown.current) return
    if (next.status !== "refused") return view.set({ name: "home", action: id })
    const { error } = next
    show(error.status === 422 ? refusedValues(texts, input, error.details) : { form: refusalText(texts, error) })
  }

  return (
    <>
      <ViewHeading isFocused>{title}</ViewHeading>
      <EntryForm form={form} isBusy={busy} submit={start}>
        {confirm !== null && <p>{confirm}</p>}
        <Wrong text={mistakes["form"]} />
        <SchemaFields form={input} values={values} mistakes={mistakes} change={setValues} />
        <div class="actions">
          <button type="submit" aria-disabled={busy}>
            {texts.run}
          </button>
          <button type="button" class="quiet" onClick={() => view.set({ name: "home", action: id })}>
            {busy ? texts.back : texts.cancel}
          </button>
          <div role="status">{busy && <span class="state busy">{texts.isRunning}</span>}</div>
        </div>
      </EntryForm>
    </>
  )
}
