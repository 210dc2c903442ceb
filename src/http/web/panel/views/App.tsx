/** The panel: what it shows of its session. */
import { useEffect, useRef } from "preact/hooks"
import { type Shared, useShared } from "../Store.js"
import { languages, TextsOfPanel, useTexts } from "../texts/Words.js"
import type { PanelSchemas } from "../session/Session.js"
import { Accounts } from "./Accounts.js"
import { AttemptList } from "./Attempts.js"
import { Connectors } from "./Connectors.js"
import { ConnectView } from "./ConnectView.js"
import { mayDo, type Panel, PanelOfViews, usePanel } from "./Panel.js"
import { Failure, Loading, ViewHeading } from "./Pieces.js"

/** What was done last, which screen readers say. */
const Notice = () => {
  const text = useShared(usePanel().notice)
  return (
    <p class={text === null ? "hidden" : "notice"} role="status">
      {text}
    </p>
  )
}

const Views = ({ session }: { readonly session: PanelSchemas["EmbeddedSession"] }) => {
  const texts = useTexts()
  const { notice, view } = usePanel()
  const shown = useShared(view)
  const isLater = useRef(false)
  useEffect(() => {
    // What was said of something belongs to what was shown then.
    if (shown.name !== "home") notice.set(null)
    isLater.current = true
  }, [notice, shown])
  if (shown.name === "connect")
    return (
      <ConnectView key={`${shown.connector} ${shown.account?.id}`} slug={shown.connector} account={shown.account} />
    )
  return (
    <>
      <ViewHeading isFocused={isLater.current}>{texts.title}</ViewHeading>
      <AttemptList />
      <Accounts session={session} />
      {mayDo(session, "connections", "create") && <Connectors sessionId={session.id} />}
    </>
  )
}

const Content = () => {
  const texts = useTexts()
  const { session } = usePanel()
  const state = useShared(session.state)
  switch (state.status) {
    case "loading":
      return <Loading />
    case "failed":
      return (
        <>
          <h1>{texts.notLoaded}</h1>
          <Failure error={state.error} again={() => void session.load()} />
        </>
      )
    case "over":
      return (
        <div role="alert">
          <h1>{texts.over}</h1>
          <p class="soft">{texts.overHint}</p>
        </div>
      )
    case "open":
      return <Views session={state.session} />
  }
}

/** `locale`: the language that is shown. */
export const App = ({ locale, panel }: { readonly panel: Panel; readonly locale: Shared<"en" | "de"> }) => {
  const language = useShared(locale)
  useEffect(() => {
    document.documentElement.lang = language
    document.title = languages[language].title
  }, [language])
  return (
    <PanelOfViews.Provider value={panel}>
      <TextsOfPanel.Provider value={languages[language]}>
        <main>
          <Notice />
          <Content />
        </main>
      </TextsOfPanel.Provider>
    </PanelOfViews.Provider>
  )
}
