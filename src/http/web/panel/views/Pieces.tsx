/** Small parts of the views. */
import type { ComponentChildren, RefObject } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import type { FormMistakes } from "../forms/Form.js"
import { asPanelError, type PanelError } from "../session/Errors.js"
import type { ListedRecords } from "../session/Pages.js"
import { errorText, useTexts } from "../texts/Words.js"

/** The heading of a view, which gets the focus where a person came there by a click. */
export const ViewHeading = ({ children, isFocused }: { readonly children: string; readonly isFocused: boolean }) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (isFocused) heading.current?.focus()
  }, [isFocused])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

/** What went wrong, with a button to try again. */
export const Failure = ({ again, error }: { readonly error: PanelError; readonly again: () => void }) => {
  const texts = useTexts()
  return (
    <div class="failure" role="alert">
      <p>{errorText(texts, error)}</p>
      <button type="button" class="quiet" onClick={again}>
        {texts.tryAgain}
      </button>
    </div>
  )
}

/** The end of a list: what went wrong, or a button for more. */
export const ListEnd = ({ again, error, hasMore, more }: Omit<ListedRecords<unknown>, "rows" | "isLoading">) => {
  const texts = useTexts()
  if (error !== null) return <Failure error={error} again={again} />
  return hasMore ? (
    <button type="button" class="quiet" onClick={more}>
      {texts.more}
    </button>
  ) : null
}

/** The mistakes of a form, whose first field with one gets the focus. */
export const useMistakes = () => {
  const [mistakes, setMistakes] = useState<FormMistakes>({})
  const form = useRef<HTMLFormElement>(null)
  const show = (found: FormMistakes) => {
    setMistakes(found)
    // After it is drawn.
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  return { form, mistakes, show }
}

/** A form whose entries the panel checks and sends itself. `form`: of `useMistakes`. */
export const EntryForm = ({
  children,
  form,
  isBusy,
  submit
}: {
  readonly form: RefObject<HTMLFormElement | null>
  readonly isBusy: boolean
  readonly submit: () => Promise<unknown>
  readonly children: ComponentChildren
}) => (
  <form
    ref={form}
    noValidate
    onSubmit={(event) => {
      event.preventDefault()
      if (!isBusy) void submit()
    }}
  >
    {children}
  </form>
)

/** What is wrong with all of a form, or with what a button did. */
export const Wrong = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="wrong" role="alert">
      {text}
    </p>
  )

/** A question before something is removed, with a button that does it. `remove` rejects with `PanelError`. */
export const Removal = ({
  done,
  question,
  remove,
  word
}: {
  readonly question: string
  /** On the button. */
  readonly word: string
  readonly remove: () => Promise<unknown>
  readonly done: (isRemoved: boolean) => void
}) => {
  const texts = useTexts()
  const [error, setError] = useState<PanelError | null>(null)
  const [isBusy, setBusy] = useState(false)
  const asked = useRef<HTMLParagraphElement>(null)
  useEffect(() => asked.current?.focus(), [])
  const start = async () => {
    setBusy(true)
    setError(null)
    try {
      await remove()
      return done(true)
    } catch (cause) {
      setError(asPanelError(cause))
    }
    setBusy(false)
  }
  return (
    <div class="inline" role="group">
      <p ref={asked} tabIndex={-1}>
        {question}
      </p>
      <Wrong text={error === null ? undefined : errorText(texts, error)} />
      <button type="button" class="danger" aria-disabled={isBusy} onClick={() => !isBusy && void start()}>
        {word}
      </button>
      <button type="button" class="quiet" onClick={() => done(false)}>
        {texts.cancel}
      </button>
    </div>
  )
}

export const Loading = () => <p class="soft">{useTexts().loading}</p>

const embedded = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml)[;,]/

/** The connector's icon, if it stands in its definition; nothing is loaded from elsewhere. Otherwise its first letter. */
export const Icon = ({ iconUrl, name }: { readonly name: string; readonly iconUrl: string | null }) => (
  <span class="icon" aria-hidden="true">
    {iconUrl !== null && embedded.test(iconUrl) ? <img src={iconUrl} alt="" /> : [...name.trim()][0]?.toUpperCase()}
  </span>
)

/** A part of a view with its heading. */
export const Section = ({ children, title }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
)
