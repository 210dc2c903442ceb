/** The panel: what it shows of its session. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { type Shared, useShared } from "../Store.js"
import { languages, TextsOfPanel, useTexts } from "../texts/Words.js"
import { Accounts } from "./Accounts.js"
import { Actions, ActionView } from "./Actions.js"
import { AttemptList } from "./Attempts.js"
import { Connectors } from "./Connectors.js"
import { ConnectView } from "./ConnectView.js"
import { Integrations } from "./Integrations.js"
import {
  mayConnect,
  mayDo,
  maySeeRuns,
  maySetUp,
  mayStart,
  type Panel,
  PanelOfViews,
  type ShownSession,
  usePanel,
  type View
} from "./Panel.js"
import { Failure, Loading, ViewHeading } from "./Pieces.js"
import { Runs } from "./Runs.js"
import { SetUpView } from "./SetUpView.js"

/** What was done last, which screen readers say. */
const Notice = () => {
  const text = useShared(usePanel().notice)
  return (
    <p class={text === null ? "hidden" : "notice"} role="status">
      {text}
    </p>
  )
}

/** The parts of the first view that the session may use. */
const Home = ({ isFocused, session }: { readonly session: ShownSession; readonly isFocused: boolean }) => {
  const texts = useTexts()
  const { actions, integrations } = session.features
  return (
    <>
      <ViewHeading isFocused={isFocused}>{texts.title}</ViewHeading>
      <AttemptList />
      {mayDo(session, "connections", "read") && <Accounts session={session} />}
      {integrations.length > 0 && maySetUp(session) && <Integrations session={session} />}
      {actions.length > 0 && mayStart(session) && <Actions session={session} />}
      {mayConnect(session) && <Connectors sessionId={session.id} />}
      {maySeeRuns(session) && <Runs session={session} />}
    </>
  )
}

/** Whether what is shown belongs to what was said last: of something else it is forgotten. */
const keepsNotice = (view: View): boolean => view.name === "home" || (view.name === "setUp" && view.draft !== null)

const Views = ({ session }: { readonly session: ShownSession }) => {
  const { notice, view } = usePanel()
  const shown = useShared(view)
  const isLater = useRef(false)
  useEffect(() => {
    if (!keepsNotice(shown)) notice.set(null)
    isLater.current = true
  }, [notice, shown])
  if (shown.name === "connect") {
    const { account, after = { name: "home" }, connector } = shown
    return <ConnectView key={`${connector} ${account?.id}`} slug={connector} account={account} after={after} />
  }
  // Another session may have taken the place of the one that offered it.
  const { actions, integrations } = session.features
  const integration = shown.name === "setUp" ? integrations.find(({ slug }) => slug === shown.integration) : undefined
  if (shown.name === "setUp" && integration !== undefined && maySetUp(session))
    return <SetUpView key={integration.slug} session={session} integration={integration} draft={shown.draft} />
  const action = shown.name === "action" ? actions.find(({ id }) => id === shown.action) : undefined
  if (action !== undefined && mayStart(session)) return <ActionView key={action.id} action={action} />
  const isElsewhere = shown.name === "home" && shown.action !== undefined
  return <Home session={session} isFocused={isLater.current && !isElsewhere} />
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
  // With the texts, not after them: screen readers choose their voice by it.
  useLayoutEffect(() => {
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
