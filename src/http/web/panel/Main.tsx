/** Starts the panel in the frame's page. */
import { render } from "preact"
import { makeActions } from "./actions/Actions.js"
import { makeAttempts } from "./connect/Attempts.js"
import { readFrame, takeToken } from "./frame/FrameData.js"
import { makeParent, type Parent, type ParentMessage } from "./frame/Parent.js"
import { showTheme } from "./frame/Theme.js"
import { makeSession } from "./session/Session.js"
import { makeShared } from "./Store.js"
import { languages } from "./texts/Words.js"
import { App } from "./views/App.js"
import { countUp, maySeeRuns, type Panel, type View } from "./views/Panel.js"
import "./style.css"

/** Tells the page around the panel how high it is, whenever that changes. */
const tellHeight = (root: HTMLElement, parent: Parent): void => {
  let before = 0
  new ResizeObserver(() => {
    const height = Math.ceil(root.getBoundingClientRect().bottom + window.scrollY)
    if (height === before) return
    before = height
    parent.post("svc:resize", { height })
  }).observe(root)
}

const start = (root: HTMLElement): void => {
  // First, so that nothing that this page loads or reports has it.
  const token = takeToken()
  const frame = readFrame()
  const theme = makeShared(frame.theme)
  const locale = makeShared(frame.locale)
  const view = makeShared<View>({ name: "home" })
  const notice = makeShared<string | null>(null)
  const [changes, setUps, runs] = [makeShared(0), makeShared(0), makeShared(0)]

  const darkness = matchMedia("(prefers-color-scheme: dark)")
  const showAgain = () => showTheme(theme.get(), darkness.matches)
  darkness.addEventListener("change", showAgain)
  theme.follow(showAgain)
  showAgain()

  const take = (message: ParentMessage): void => {
    switch (message.type) {
      case "svc:token":
        return session.take(message.token, message.origin)
      case "svc:theme":
        return theme.set(message.theme)
      case "svc:locale":
        return locale.set(message.locale)
      case "svc:open":
        return view.set({ name: "connect", connector: message.connector, account: null })
    }
  }
  const parent = makeParent(frame, take)
  const session = makeSession(frame, token, () => parent)
  const attempts = makeAttempts(
    session,
    ({ connector, name }, connectionId) => {
      parent.post("svc:connection-created", { connectionId, connector })
      notice.set(languages[locale.get()].connected(name))
      countUp(changes)
    },
    ({ connector }, connectionId, message) => parent.post("svc:connection-error", { connectionId, connector, message })
  )
  const actions = makeActions(session, parent, {
    changed: () => countUp(runs),
    isReadable: () => {
      const state = session.state.get()
      return state.status === "open" && maySeeRuns(state.session)
    }
  })
  const panel: Panel = { session, parent, attempts, actions, view, notice, changes, setUps, runs }
  render(<App panel={panel} locale={locale} />, root)
  tellHeight(root, parent)

  if (frame.expiresIn === null) parent.post("svc:session-expired", {})
  else void session.load()
  void session.whenOpen().then(() => parent.post("svc:ready", {}))
}

const root = document.getElementById("root")
if (root !== null) start(root)
